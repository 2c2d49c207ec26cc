import dgram from 'node:dgram';
import type { AddressInfo } from 'node:net';

/** A DNS server on loopback. */
export interface DnsServer {
  /** As `host:port`. */
  address: string;
  /** How often each name was asked for its IPv4 addresses. */
  asked: Map<string, number>;
  close(): Promise<void>;
}

/**
 * Starts a DNS server that knows the IPv4 addresses of names.
 * @param answer the addresses of a name that is asked for the n-th time, from 1
 */
export async function startDnsServer(answer: (name: string, time: number) => string[]): Promise<DnsServer> {
  const asked = new Map<string, number>();
  const socket = dgram.createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query, 12);
    const isForV4 = query.readUInt16BE(end) === 1;
    const time = (asked.get(name) ?? 0) + (isForV4 ? 1 : 0);
    asked.set(name, time);
    const found = isForV4 ? answer(name, time) : [];
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(found.length, 6);
    header.writeUInt32BE(0, 8);
    // Each answer points to the name of the question, and lasts for no time.
    const records = found.map((ip) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)]),
    );
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...records]), port, address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve);
  });
  const { port } = socket.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        socket.close(() => resolve());
      }),
  };
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
