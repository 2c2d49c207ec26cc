import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function People() {
  return <Page title={text.nav.people}>{null}</Page>;
}
