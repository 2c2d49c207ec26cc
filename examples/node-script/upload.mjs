// CADIZ_URL=… CADIZ_API_KEY=… node examples/node-script/upload.mjs FILE… [--to FOLDER]
// Uploads files of any size from disk, several at a time, and goes on where an earlier run stopped.
import { parseArgs } from 'node:util';
import { createClient, openFile, resumeFile } from '@cadiz/client/node';

const { CADIZ_URL: baseUrl = 'http://localhost:4000', CADIZ_API_KEY: apiKey } = process.env;
const { positionals, values } = parseArgs({ allowPositionals: true, options: { to: { type: 'string', default: '' } } });

const cadiz = createClient({ baseUrl, apiKey, resume: resumeFile('.cadiz-uploads.json') });
const files = await Promise.all(positionals.map((path) => openFile(path)));
const queue = cadiz.uploads.create(files, { folder: values.to, checksum: true });
const { uploads } = await queue.done();

for (const { name, file, error } of uploads) console.log(error ? `${name}: ${error.message}` : `${name}: ${file?.id}`);
if (uploads.some(({ state }) => state !== 'done')) process.exitCode = 1;
