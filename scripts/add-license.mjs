// @ts-check
// `npm pack` and `npm publish` of a package: puts the licence into it, which is kept once, at the root.
import { copyFileSync } from 'node:fs';

copyFileSync(new URL('../LICENSE', import.meta.url), 'LICENSE');
