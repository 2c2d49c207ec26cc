import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Files() {
  return <Page title={text.nav.files}>{null}</Page>;
}
