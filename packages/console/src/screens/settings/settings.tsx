import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Settings() {
  return <Page title={text.nav.settings}>{null}</Page>;
}
