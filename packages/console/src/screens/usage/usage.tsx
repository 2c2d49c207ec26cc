import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Usage() {
  return <Page title={text.nav.usage}>{null}</Page>;
}
