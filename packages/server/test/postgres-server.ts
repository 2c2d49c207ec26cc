import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../../scripts/ci/postgres.sh', import.meta.url));

/** A PostgreSQL of a test's own, to be stopped, starved, frozen or configured differently. */
export interface PostgresServer {
  folder: string;
  /**
   * `start` and `url` return the address; `halt` and `resume` simulate a crash and the restart after it; `stop` removes
   * the server.
   */
  run(command: 'start' | 'url' | 'halt' | 'resume' | 'stop'): Promise<string>;
}

export function createPostgresServer(maxConnections: number): PostgresServer {
  const folder = join(tmpdir(), `cadiz-test-postgres-${randomBytes(6).toString('hex')}`);
  const env = { ...process.env, PG_DIR: folder, PG_MAX_CONNECTIONS: String(maxConnections) };
  return {
    folder,
    run: async (command) => (await promisify(execFile)('bash', [script, command], { env })).stdout.trim(),
  };
}
