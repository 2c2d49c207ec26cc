import { endOnSignal } from './early-signals.ts';

// The program takes a while to load. Until then, a signal would end the process without a word, or not at all where it is the first
// process of a container.
endOnSignal();
await import('./program.ts');
