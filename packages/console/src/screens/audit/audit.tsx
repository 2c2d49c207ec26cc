import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Audit() {
  return <Page title={text.nav.audit}>{null}</Page>;
}
