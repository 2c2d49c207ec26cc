import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Account() {
  return <Page title={text.nav.account}>{null}</Page>;
}
