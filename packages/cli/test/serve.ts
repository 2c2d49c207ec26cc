import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { TestService } from '../../server/test/service.ts';
import { runCommand } from '../dist/run.js';

export interface Served {
  /** Runs the command with a key. */
  cadiz(apiKey: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Answers the requests instead of the service for which it returns an answer. */
  intercept: (request: Request) => Response | undefined;
  close(): void;
}

/** Serves a service that runs in memory, for the built command in the same process. */
export async function serve({ fetch }: TestService): Promise<Served> {
  const server = createServer(async (incoming, response) => {
    const { method = 'GET', url, headers } = incoming;
    const { authorization = '', 'content-type': type = '' } = headers;
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const request = new Request(`http://localhost${url}`, {
      method,
      headers: { authorization, ...(type && { 'content-type': type }) },
      ...(hasBody && { body: Buffer.concat(await incoming.toArray()) }),
    });
    const answer = served.intercept(request) ?? (await fetch(request));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const served: Served = {
    cadiz: (apiKey, args) => run(args, { CADIZ_API_KEY: apiKey, CADIZ_URL: `http://127.0.0.1:${port}` }),
    intercept: () => undefined,
    close: () => server.close().closeAllConnections(),
  };
  return served;
}

async function run(args: string[], env: NodeJS.ProcessEnv) {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const code = await runCommand(args, {
    stdin: Readable.from([]),
    stdout: writeTo(stdout),
    stderr: writeTo(stderr),
    // Nothing is stored there.
    env: { ...env, XDG_CONFIG_HOME: '/nowhere', XDG_STATE_HOME: '/nowhere' },
    cwd: '/',
    onInterrupt: () => undefined,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

function writeTo(pieces: string[]): Writable {
  return new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece.toString());
      done();
    },
  });
}
