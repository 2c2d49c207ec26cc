export { type RunningService, startService } from './service.ts';
export { type Config, InvalidSettings, readConfig } from './settings/config.ts';
export { settings } from './settings/table.ts';
