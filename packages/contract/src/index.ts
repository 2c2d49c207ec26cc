export * from './accounts.ts';
export * from './api-keys.ts';
export * from './errors.ts';
export { nameProblem } from './fields.ts';
export * from './openapi.ts';
export * from './operation.ts';
export * from './projects.ts';
export * from './routes.ts';
export * from './storage.ts';
