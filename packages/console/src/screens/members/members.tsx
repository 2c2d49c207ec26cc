import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Members() {
  return <Page title={text.nav.members}>{null}</Page>;
}
