import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Keys() {
  return <Page title={text.nav.keys}>{null}</Page>;
}
