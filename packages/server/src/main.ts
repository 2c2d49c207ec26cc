import './start/require-node.ts';

// Not a static import: that would be loaded before the check above runs.
void import('./start/serve.ts');
