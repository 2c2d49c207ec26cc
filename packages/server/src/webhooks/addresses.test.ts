import { BlockList } from 'node:net';
import { describe, expect, test } from 'vitest';
import { isPublic, mayReach } from './addresses.ts';

describe('addresses of the public internet', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.1',
    '198.17.255.255',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '2a00:1450:4001::1',
  ])('%s', (address) => expect(isPublic(address)).toBe(true));
});

describe('addresses that are not of the public internet', () => {
  test.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.255.255.255'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.0.1'],
    ['shared by carriers', '100.64.0.1'],
    ['shared by carriers, metadata', '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['link-local, metadata', '169.254.169.254'],
    ['metadata', '168.63.129.16'],
    ['IETF, metadata', '192.0.0.192'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['relays of 6to4', '192.88.99.1'],
    ['benchmarks', '198.18.0.1'],
    ['benchmarks', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['class E', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-compatible, public', '::8.8.8.8'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped', '::ffff:a9fe:a9fe'],
    ['IPv4-translated', '::ffff:0:127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64 of a network', '64:ff9b:1::7f00:1'],
    ['discard-only', '100::1'],
    ['Teredo', '2001:0:7f00:1::'],
    ['ORCHID', '2001:20::1'],
    ['benchmarks', '2001:2::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['6to4 of loopback', '2002:7f00:1::'],
    ['6to4 of a private network', '2002:c0a8:1::'],
    ['SRv6', '5f00::1'],
    ['unique local', 'fc00::1'],
    ['unique local, metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%lo'],
    ['a zone hides nothing', '2606:4700::1111%lo'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['no address', ''],
    ['no address', 'localhost'],
    ['no address', '127.1'],
  ])('%s: %s', (_, address) => expect(isPublic(address)).toBe(false));
});

test('http is only for networks that are allowed, which may be reached over https as well', () => {
  const allowed = new BlockList();
  allowed.addSubnet('10.0.0.0', 8, 'ipv4');
  const reach = (address: string) => [true, false].map((isSecure) => mayReach(address, { isSecure, allowed }));
  expect(reach('10.1.2.3')).toEqual([true, true]);
  expect(reach('::ffff:10.1.2.3')).toEqual([true, true]);
  expect(reach('8.8.8.8')).toEqual([true, false]);
  expect(reach('192.168.0.1')).toEqual([false, false]);
  expect(mayReach('8.8.8.8', { isSecure: true, allowed: undefined })).toBe(true);
  expect(mayReach('8.8.8.8', { isSecure: false, allowed: undefined })).toBe(false);
});
