export { type Config, InvalidSettings, readConfig, settings } from './config.ts';
export { type RunningService, startService } from './service.ts';
