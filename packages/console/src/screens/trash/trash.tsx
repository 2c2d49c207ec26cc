import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Trash() {
  return <Page title={text.nav.trash}>{null}</Page>;
}
