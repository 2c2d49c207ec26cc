// @ts-check
import http from 'node:http';

const agent = new http.Agent({ keepAlive: true });

/**
 * Sends a request over connections that are kept.
 * @param {string} method
 * @param {string} url
 * @param {http.OutgoingHttpHeaders} headers
 * @param {string | Buffer} [body]
 * @returns {Promise<string>} the body of a 200; anything else is an error
 */
export function send(method, url, headers, body) {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { agent, method, headers: { ...headers, ...length } }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
