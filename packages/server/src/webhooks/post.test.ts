import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DnsServer, startDnsServer } from '../../test/dns-server.ts';
import { createHostLookup } from './host-lookup.ts';
import { type PostOptions, post } from './post.ts';
import type { HostLookup } from './target.ts';

const headers = { 'Content-Type': 'application/json' };
const nowhere: HostLookup = async () => [];
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
const inside: PostOptions = { lookup: async () => ['127.0.0.1'], allowed: loopback };

/** Counts whatever reaches it, on IPv4 and IPv6. */
let listener: net.Server;
let port: number;
let connections = 0;
let dns: DnsServer;
/** What the DNS server says: of the first time a name is asked for, and from then on. */
const zone: Record<string, [first: string[], later: string[]]> = {};

beforeAll(async () => {
  listener = net.createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => {
    listener.listen({ host: '::', port: 0 }, resolve);
  });
  port = (listener.address() as AddressInfo).port;
  dns = await startDnsServer((name, time) => zone[name]?.[time === 1 ? 0 : 1] ?? []);
});
afterAll(async () => {
  listener.close();
  await dns.close();
});
beforeEach(() => {
  connections = 0;
});

const send = (url: string, options: Partial<PostOptions> = {}) =>
  post(url, headers, '{}', { lookup: nowhere, allowed: undefined, ...options });

/** Hosts that lead to the listener, or to somewhere else that is nobody's business. */
const hostile = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '168.63.129.16',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:0:127.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::7f00:1]',
  '[100::1]',
  '[2001:0:7f00:1::]',
  '[2001:db8::1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
];

describe('nothing is sent to an address that is not public (checklist 53)', () => {
  test.each(hostile)('%s', async (host) => {
    for (const scheme of ['https', 'http']) {
      const { status, error } = await send(`${scheme}://${host}:${port}/`);
      expect({ status, hasError: error !== undefined }).toEqual({ status: undefined, hasError: true });
      expect(error).toMatch(/not a public one|must be a URL|does not resolve/);
    }
    expect(connections).toBe(0);
  });

  test('the test can fail: the listener counts what is sent to it', async () => {
    await send(`http://127.0.0.1:${port}/`, inside);
    expect(connections).toBe(1);
  });

  test.each([
    ['localhost', ['127.0.0.1']],
    ['localhost.', ['127.0.0.1']],
    ['one of two is inside', ['93.184.215.14', '127.0.0.1']],
    ['the other of two', ['127.0.0.1', '93.184.215.14']],
    ['IPv6 among IPv4', ['93.184.215.14', '::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['what is no address', ['127.1']],
  ])('by a name: %s', async (name, addresses) => {
    const host = name.startsWith('localhost') ? name : 'receiver.example.com';
    const { error } = await send(`https://${host}:${port}/`, { lookup: async () => addresses });
    expect(error).toMatch(/not a public one/);
    expect(connections).toBe(0);
  });

  test('by a name whose DNS answers with a public address first, and then with a private one', async () => {
    zone['rebinding.test'] = [['93.184.215.14'], ['127.0.0.1']];
    const lookup = createHostLookup({ servers: [dns.address], isInside: false });
    expect(await lookup('rebinding.test')).toEqual(['93.184.215.14']);
    const { error } = await send(`https://rebinding.test:${port}/`, { lookup });
    expect(error).toMatch(/not a public one/);
    expect(connections).toBe(0);
    // An attempt asks once: there is nothing between the check and the connection.
    expect(dns.asked.get('rebinding.test')).toBe(2);
    zone['inside.test'] = [['127.0.0.1'], ['127.0.0.2']];
    await send(`http://inside.test:${port}/`, { lookup, allowed: loopback });
    expect(dns.asked.get('inside.test')).toBe(1);
    expect(connections).toBe(1);
  });

  test('with user names, other schemes, or to the ports of other services', async () => {
    for (const url of [
      'https://a:b@example.com/',
      'https://a@example.com/',
      'ftp://example.com/',
      'file:///etc/passwd',
    ]) {
      expect((await send(url, inside)).error).toMatch(/^It must/);
    }
    for (const bad of [22, 25, 6667]) {
      expect((await send(`http://127.0.0.1:${bad}/`, inside)).error).toBe(`Nothing is delivered to port ${bad}.`);
    }
  });
});

/** A server whose answer is up to the test. */
async function serve(
  answer: http.RequestListener,
  use: (url: string) => Promise<void>,
  server: http.Server = http.createServer(),
  scheme = 'http',
): Promise<void> {
  server.on('request', answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  try {
    await use(`${scheme}://receiver.example.com:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('an answer', () => {
  test('is read to 16 KiB, and the beginning is kept', async () => {
    await serve(
      (_, response) => {
        response.writeHead(200);
        const more = setInterval(() => response.write('x'.repeat(4096)), 1);
        response.on('close', () => clearInterval(more));
      },
      async (url) => {
        expect(await send(url, inside)).toMatchObject({ status: 200, answer: 'x'.repeat(1024), error: undefined });
      },
    );
  });

  test.each([
    ['never begins', (_: http.IncomingMessage, __: http.ServerResponse) => undefined],
    [
      'drips',
      (_: http.IncomingMessage, response: http.ServerResponse) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(drip));
      },
    ],
  ])('that %s fails at the deadline', async (_, answer) => {
    await serve(answer, async (url) => {
      const { status, error } = await send(url, { ...inside, timeoutMilliseconds: 300 });
      expect({ status, error }).toEqual({ status: undefined, error: 'There was no complete answer in time.' });
    });
  });

  test('with endless headers, or none that is HTTP, fails', async () => {
    const { status, error } = await sendToRaw(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`);
    expect({ status, error }).toEqual({ status: undefined, error: 'The connection failed: HPE_HEADER_OVERFLOW.' });
  });

  test('that switches protocols is an answer, and the connection ends', async () => {
    const posted = await sendToRaw('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    expect(posted).toMatchObject({ status: 101, answer: '', error: undefined });
  });

  test('that ends with its connection is read to its end', async () => {
    const posted = await sendToRaw(`HTTP/1.0 200 OK\r\n\r\n${'x'.repeat(2000)}`, true);
    expect(posted).toMatchObject({ status: 200, answer: 'x'.repeat(1024), error: undefined });
  });

  /** Sends to a server that writes this as soon as it is asked, and waits until it has no connection. */
  async function sendToRaw(answer: string, isOver = false) {
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => (isOver ? socket.end(answer) : socket.write(answer)));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const posted = await send(`http://a.example.com:${(server.address() as AddressInfo).port}/`, inside);
    await new Promise((resolve) => server.close(resolve));
    return posted;
  }

  test('that redirects is an answer', async () => {
    let asked = 0;
    await serve(
      (_, response) => {
        asked++;
        response.writeHead(307, { Location: `http://169.254.169.254:${port}/` }).end();
      },
      async (url) => {
        expect(await send(url, inside)).toMatchObject({ status: 307, error: undefined });
        expect(asked).toBe(1);
      },
    );
  });
});

describe('over https', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-webhooks-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  beforeAll(() => {
    const subject = ['-subj', '/CN=receiver.example.com', '-addext', 'subjectAltName=DNS:receiver.example.com'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-days', '2', ...made, ...subject], { stdio: 'ignore' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const withCertificate = (use: (url: string, ca: string) => Promise<void>) => {
    const ca = readFileSync(cert, 'utf8');
    const server = https.createServer({ key: readFileSync(key), cert: ca });
    return serve(
      (_, response) => {
        response.end('Thanks');
      },
      (url) => use(url, ca),
      server as unknown as http.Server,
      'https',
    );
  };

  test('the certificate must be trusted, and for the host', async () => {
    await withCertificate(async (url, ca) => {
      expect((await send(url, inside)).error).toMatch(/^The connection failed: (DEPTH_ZERO_)?SELF_SIGNED_CERT/);
      expect(await send(url, { ...inside, ca })).toMatchObject({ status: 200, answer: 'Thanks' });
      const other = url.replace('receiver.', 'other.');
      expect((await send(other, { ...inside, ca })).error).toBe('The connection failed: ERR_TLS_CERT_ALTNAME_INVALID.');
    });
  });
});
