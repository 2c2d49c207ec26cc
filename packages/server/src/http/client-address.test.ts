import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { toAddressBlock, toWideBlock } from '../rate-limits/address-block.ts';
import { readConfig } from '../settings/config.ts';
import { clientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import { fromFetch } from './fetch.ts';

const log = pino({ enabled: false });

function from(remote: string | undefined, forwarded: string | undefined, proxies?: string): string {
  const config = readConfig({ TRUSTED_PROXIES: proxies });
  return clientAddress({ config, log }, ask(remote, forwarded));
}

function ask(remote: string | undefined, forwarded: string | undefined): Exchange {
  const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded };
  return fromFetch(new Request('http://localhost/', { headers }), remote);
}

describe('who a client is (checklist 14)', () => {
  test.each([
    ['the connection', '203.0.113.7', undefined, undefined, '203.0.113.7'],
    ['the connection, whatever it forwards', '203.0.113.7', '198.51.100.1', undefined, '203.0.113.7'],
    ['the connection, when the proxy is another', '203.0.113.7', '198.51.100.1', '10.0.0.0/8', '203.0.113.7'],
    ['what a trusted proxy forwards', '10.1.2.3', '198.51.100.1', '10.0.0.0/8', '198.51.100.1'],
    ['the last that is no proxy', '10.1.2.3', '1.1.1.1, 198.51.100.1, 10.9.9.9', '10.0.0.0/8', '198.51.100.1'],
    ['not what a client wrote before its proxy', '10.1.2.3', '1.1.1.1,198.51.100.1', '10.0.0.0/8', '198.51.100.1'],
    ['the proxy that forwards nothing', '10.1.2.3', undefined, '10.0.0.0/8', '10.1.2.3'],
    ['the proxy that forwards what is no address', '10.1.2.3', 'unknown', '10.0.0.0/8', '10.1.2.3'],
    ['the first of nothing but proxies', '10.1.2.3', '10.7.7.7, 10.8.8.8', '10.0.0.0/8', '10.7.7.7'],
    ['IPv4 written as IPv6', '::ffff:203.0.113.7', undefined, undefined, '203.0.113.7'],
    [
      'IPv4 written as IPv6, behind a proxy so written',
      '::ffff:10.1.2.3',
      '::ffff:198.51.100.1',
      '10.1.2.3',
      '198.51.100.1',
    ],
    ['IPv6, with its zone left out', 'fe80::1%eth0', undefined, undefined, 'fe80::1'],
    ['IPv6 in brackets with a port', '::1', '[2001:DB8::1]:443', '127.0.0.1, ::1', '2001:db8::1'],
    ['IPv4 with a port', '::1', '198.51.100.1:4711', '::1', '198.51.100.1'],
    ['nobody knows', undefined, '198.51.100.1', '0.0.0.0/0', 'unknown'],
  ])('%s', (_what, remote, forwarded, proxies, expected) => {
    expect(from(remote, forwarded, proxies)).toBe(expected);
  });

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('%s counts as %s', (address, block) => {
    expect(toAddressBlock(address)).toBe(block);
  });

  test.each([
    ['2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['0:0:0:0::/64', '0:0:0::/48'],
    ['203.0.113.7', undefined],
    ['unknown', undefined],
    ['0193a1c0-0000-7000-8000-000000000000', undefined],
  ])('%s lies in %s', (block, wide) => {
    expect(toWideBlock(block)).toBe(wide);
  });

  test('who forwards without being trusted is warned of once, and no stranger fills the log so', () => {
    const lines: string[] = [];
    const deps = {
      config: readConfig({ TRUSTED_PROXIES: '10.0.0.0/8' }),
      log: pino({}, { write: (line) => void lines.push(line) }),
    };
    for (const [remote, forwarded] of [
      ['10.1.2.3', '198.51.100.1'],
      ['192.0.2.1', undefined],
      [undefined, '198.51.100.1'],
    ] as const)
      clientAddress(deps, ask(remote, forwarded));
    expect(lines).toEqual([]);
    for (const _time of [1, 2]) clientAddress(deps, ask('192.0.2.1', '198.51.100.1'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, peer: '192.0.2.1', msg: expect.stringContaining('TRUSTED_PROXIES') },
    ]);
    for (let peer = 0; peer < 100; peer += 1) clientAddress(deps, ask(`192.0.2.${peer}`, '198.51.100.1'));
    expect(lines).toHaveLength(10);
  });

  test.each(['10.0.0.0/33', 'localhost', '10.0.0.0/8,', '::/129', '10.0.0.0/8 10.1.0.0/16'])(
    'TRUSTED_PROXIES=%s is no start',
    (proxies) => {
      expect(() => readConfig({ TRUSTED_PROXIES: proxies })).toThrow(
        'TRUSTED_PROXIES must be IP addresses and networks',
      );
    },
  );
});
