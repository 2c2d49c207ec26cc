import '../start/require-node.ts';

// A static import would be loaded before the check above runs.
void import('./program.ts');
