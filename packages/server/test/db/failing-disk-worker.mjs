// @ts-check
// The embedded database on a disk that fails once there is a file `fail` beside its folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DurableFs } from '../../dist/db/durable-fs.js';
import { serveEmbedded } from '../../dist/db/serve-embedded.js';

await serveEmbedded((folder) => {
  const fs = new DurableFs(folder);
  const init = fs.init.bind(fs);
  fs.init = async (...args) => {
    const { emscriptenOpts } = await init(...args);
    const breakFsync = (/** @type {any} */ module) => {
      const { fsync } = module.NODEFS.stream_ops;
      module.NODEFS.stream_ops.fsync = (/** @type {unknown} */ stream) => {
        if (existsSync(join(folder, '../fail'))) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
        fsync(stream);
      };
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...[emscriptenOpts.preRun ?? []].flat(), breakFsync] } };
  };
  return fs;
});
