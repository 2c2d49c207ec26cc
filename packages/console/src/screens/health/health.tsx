import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

export function Health() {
  return <Page title={text.nav.health}>{null}</Page>;
}
