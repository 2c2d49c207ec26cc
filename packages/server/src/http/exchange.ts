import type { Context } from 'hono';
import type { Deps } from '../deps.ts';

/**
 * Answers one operation: reads who is asking and what was sent, calls the feature, and gives back its answer, which
 * becomes JSON with 200. A Response stands for itself.
 */
export type Handler = (deps: Deps, c: Context) => Promise<object | Response> | object | Response;
