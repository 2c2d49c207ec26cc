import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Tickets() {
  return <Page title={text.nav.tickets}>{null}</Page>;
}
