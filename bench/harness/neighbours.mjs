// @ts-check
// node neighbours.mjs <port> <authorization> <count> <path …>: a load in a process of its own, so that what it receives does not
// delay the clock of whoever measures. So many clients send the requests in turn, without pause, and read the whole answers.
// Answers each message with how many answers there were since the last one, by status.
import http from 'node:http';

const [port, authorization = '', count, ...paths] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });
/** @type {Record<string, number>} */
let answers = {};

process.on('message', () => {
  process.send?.(answers);
  answers = {};
});
process.on('disconnect', () => process.exit());

for (let n = 0; n < Number(count); n += 1) void run(n);

/** @param {number} first */
async function run(first) {
  for (let n = first; ; n += 1) {
    const status = await get(paths[n % paths.length] ?? '').catch((error) => error.code ?? error.message);
    answers[status] = (answers[status] ?? 0) + 1;
  }
}

/** @param {string} path @returns {Promise<number | undefined>} */
function get(path) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent, headers: { authorization } }, (response) => {
      response.on('end', () => resolve(response.statusCode));
      response.on('error', reject);
      response.resume();
    });
    request.on('error', reject);
  });
}
