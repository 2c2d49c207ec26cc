import { DurableFs } from './durable-fs.ts';
import { serveEmbedded } from './serve-embedded.ts';

await serveEmbedded((folder) => new DurableFs(folder));
