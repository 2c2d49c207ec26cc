export * from './accounts.ts';
export * from './api-keys.ts';
export * from './audit.ts';
export * from './batches.ts';
export * from './bulk.ts';
export * from './downloads.ts';
export * from './errors.ts';
export * from './events.ts';
export { nameProblem } from './fields.ts';
export * from './images.ts';
export * from './links.ts';
export * from './members.ts';
export {
  findMetadataFilters,
  isMetadataFilter,
  type MetadataEntries,
  type MetadataValue,
  metadataProblem,
} from './metadata.ts';
export * from './oidc.ts';
export * from './openapi.ts';
export * from './operation.ts';
export * from './passkeys.ts';
export * from './projects.ts';
export * from './quarantines.ts';
export * from './routes.ts';
export * from './second-factor.ts';
export * from './storage.ts';
export * from './store-events.ts';
export * from './system.ts';
export * from './tickets.ts';
export * from './trash.ts';
export * from './uploads.ts';
export * from './webhooks.ts';
