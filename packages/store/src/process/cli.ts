#!/usr/bin/env node
import './require-node.ts';

// Not a static import: that would be loaded before the check above runs.
void import('./run-cli.ts').then(({ runCli }) => runCli());
