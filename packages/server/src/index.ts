export { type RunningService, startService } from './service.ts';
export { type Config, InvalidSettings, readConfig, settings } from './settings/config.ts';
