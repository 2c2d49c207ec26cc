import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CrcAlgorithm, combineCrcs, openCrc } from './crc.ts';

function crcOf(algorithm: CrcAlgorithm, ...chunks: Buffer[]): Buffer {
  const crc = openCrc(algorithm);
  for (const chunk of chunks) crc.update(chunk);
  return crc.digest();
}

// The check values of the "Catalogue of parametrised CRC algorithms".
test.each([
  ['CRC32', 'cbf43926', '00000000'],
  ['CRC32C', 'e3069283', '00000000'],
  ['CRC64NVME', 'ae8b14860a799888', '0000000000000000'],
] as const)('%s of 123456789 is %s', (algorithm, check, ofNothing) => {
  expect(crcOf(algorithm, Buffer.from('123456789')).toString('hex')).toBe(check);
  expect(crcOf(algorithm).toString('hex')).toBe(ofNothing);
});

const algorithms = ['CRC32', 'CRC32C', 'CRC64NVME'] as const;
const chunk = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes));

test.each(algorithms)('%s is the same for all chunk sizes, and bit by bit', (algorithm) => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 5 }), (chunks) => {
      const whole = Buffer.concat(chunks);
      expect(crcOf(algorithm, ...chunks)).toEqual(crcOf(algorithm, whole));
      expect(crcOf(algorithm, whole)).toEqual(bitByBit(algorithm, whole));
    }),
  );
});

test.each(algorithms)('%s of pieces equals that of the whole', (algorithm) => {
  fc.assert(
    fc.property(fc.array(chunk, { minLength: 1, maxLength: 6 }), (chunks) => {
      const pieces = chunks.map((bytes) => ({ digest: crcOf(algorithm, bytes), size: bytes.length }));
      expect(combineCrcs(algorithm, pieces)).toEqual(crcOf(algorithm, Buffer.concat(chunks)));
    }),
  );
});

test.each(algorithms)('%s of large pieces equals that of the whole', (algorithm) => {
  const sizes = [5 * 1024 ** 2, 5 * 1024 ** 2, 12_345];
  const parts = sizes.map((size, at) => Buffer.alloc(size, `part ${at}`));
  const pieces = parts.map((bytes) => ({ digest: crcOf(algorithm, bytes), size: bytes.length }));
  expect(combineCrcs(algorithm, pieces)).toEqual(crcOf(algorithm, ...parts));
});

function bitByBit(algorithm: CrcAlgorithm, bytes: Buffer): Buffer {
  const polynomial = { CRC32: 0xedb88320n, CRC32C: 0x82f63b78n, CRC64NVME: 0x9a6c9329ac4bc9b5n }[algorithm];
  const width = algorithm === 'CRC64NVME' ? 64 : 32;
  const ones = (1n << BigInt(width)) - 1n;
  let crc = ones;
  for (const byte of bytes) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1n ? (crc >> 1n) ^ polynomial : crc >> 1n;
  }
  return Buffer.from((crc ^ ones).toString(16).padStart(width / 4, '0'), 'hex');
}
