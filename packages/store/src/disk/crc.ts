import { crc32 } from 'node:zlib';

/** A running CRC: `update` takes bytes, `digest` returns the big-endian checksum and may be called once. */
export interface Crc {
  update(chunk: Buffer): void;
  digest(): Buffer;
}

export type CrcAlgorithm = 'CRC32' | 'CRC32C' | 'CRC64NVME';

/** Width in bits and reversed polynomial: all three process reversed bits, start with ones and end inverted. */
const shapes: Readonly<Record<CrcAlgorithm, { width: number; polynomial: bigint }>> = {
  CRC32: { width: 32, polynomial: 0xedb88320n },
  CRC32C: { width: 32, polynomial: 0x82f63b78n },
  CRC64NVME: { width: 64, polynomial: 0x9a6c9329ac4bc9b5n },
};
const slices = 8;

/** CRC-32 is that of zlib; the others are computed here, eight bytes at a time. */
export function openCrc(algorithm: CrcAlgorithm): Crc {
  if (algorithm === 'CRC32') return openCrc32();
  return algorithm === 'CRC32C' ? openCrc32c() : openCrc64Nvme();
}

function openCrc32(): Crc {
  let crc = 0;
  return {
    update: (chunk) => {
      crc = crc32(chunk, crc);
    },
    digest: () => toBytes(BigInt(crc), 32),
  };
}

interface Tables {
  low: Int32Array;
  high: Int32Array;
}

const tables = new Map<CrcAlgorithm, Tables>();

/** How each byte changes a CRC when 0 to 7 bytes follow it ("slicing by 8", Kounavis and Berry, 2005). */
function tablesOf(algorithm: CrcAlgorithm): Tables {
  const known = tables.get(algorithm);
  if (known) return known;
  const { polynomial } = shapes[algorithm];
  const made = { low: new Int32Array(slices * 256), high: new Int32Array(slices * 256) };
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = BigInt(byte);
    for (let slice = 0; slice < slices; slice += 1) {
      for (let bit = 0; bit < 8; bit += 1) crc = crc & 1n ? (crc >> 1n) ^ polynomial : crc >> 1n;
      made.low[slice * 256 + byte] = Number(BigInt.asIntN(32, crc));
      made.high[slice * 256 + byte] = Number(BigInt.asIntN(32, crc >> 32n));
    }
  }
  tables.set(algorithm, made);
  return made;
}

function openCrc32c(): Crc {
  const table = tablesOf('CRC32C').low;
  const at = (slice: number, byte: number) => table[(slice << 8) | (byte & 0xff)] ?? 0;
  let crc = -1;

  function update(chunk: Buffer): void {
    let sum = crc;
    let index = 0;
    for (const end = chunk.length - 7; index < end; index += 8) {
      const low = sum ^ word(chunk, index);
      const high = word(chunk, index + 4);
      sum =
        at(7, low) ^
        at(6, low >>> 8) ^
        at(5, low >>> 16) ^
        at(4, low >>> 24) ^
        at(3, high) ^
        at(2, high >>> 8) ^
        at(1, high >>> 16) ^
        at(0, high >>> 24);
    }
    for (; index < chunk.length; index += 1) sum = at(0, sum ^ (chunk[index] ?? 0)) ^ (sum >>> 8);
    crc = sum;
  }

  return { update, digest: () => toBytes(BigInt((crc ^ -1) >>> 0), 32) };
}

/** The 64 bits are kept as two halves: BigInt would be a hundred times slower. */
function openCrc64Nvme(): Crc {
  const { low: lows, high: highs } = tablesOf('CRC64NVME');
  let crcLow = -1;
  let crcHigh = -1;

  function update(chunk: Buffer): void {
    let low = crcLow;
    let high = crcHigh;
    let index = 0;
    for (const end = chunk.length - 7; index < end; index += 8) {
      const a = low ^ word(chunk, index);
      const b = high ^ word(chunk, index + 4);
      const a7 = 0x700 | (a & 0xff);
      const a6 = 0x600 | ((a >>> 8) & 0xff);
      const a5 = 0x500 | ((a >>> 16) & 0xff);
      const a4 = 0x400 | (a >>> 24);
      const b3 = 0x300 | (b & 0xff);
      const b2 = 0x200 | ((b >>> 8) & 0xff);
      const b1 = 0x100 | ((b >>> 16) & 0xff);
      const b0 = b >>> 24;
      low = pick(lows, a7, a6, a5, a4) ^ pick(lows, b3, b2, b1, b0);
      high = pick(highs, a7, a6, a5, a4) ^ pick(highs, b3, b2, b1, b0);
    }
    for (; index < chunk.length; index += 1) {
      const byte = (low ^ (chunk[index] ?? 0)) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ (lows[byte] ?? 0);
      high = (high >>> 8) ^ (highs[byte] ?? 0);
    }
    crcLow = low;
    crcHigh = high;
  }

  function digest(): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(crcHigh ^ -1, 0);
    bytes.writeInt32BE(crcLow ^ -1, 4);
    return bytes;
  }

  return { update, digest };
}

function pick(table: Int32Array, a: number, b: number, c: number, d: number): number {
  return (table[a] ?? 0) ^ (table[b] ?? 0) ^ (table[c] ?? 0) ^ (table[d] ?? 0);
}

function word(chunk: Buffer, at: number): number {
  return (chunk[at] ?? 0) | ((chunk[at + 1] ?? 0) << 8) | ((chunk[at + 2] ?? 0) << 16) | ((chunk[at + 3] ?? 0) << 24);
}

/**
 * The checksum of bytes that come in pieces, computed from the checksums and lengths of the pieces without reading them
 * again: appending zeros to a piece multiplies its CRC by a power of x (zlib's crc32_combine).
 */
export function combineCrcs(algorithm: CrcAlgorithm, pieces: readonly { digest: Buffer; size: number }[]): Buffer {
  const { width } = shapes[algorithm];
  // The parts of an upload usually have the same size.
  const shifts = new Map<number, bigint>();
  let whole = 0n;
  for (const { digest, size } of pieces) {
    const shift = shifts.get(size) ?? powerOfX(algorithm, size);
    shifts.set(size, shift);
    whole = multiply(algorithm, shift, whole) ^ BigInt(`0x${digest.toString('hex')}`);
  }
  return toBytes(whole, width);
}

/** x to the power of 8 × `bytes`, modulo the polynomial. */
function powerOfX(algorithm: CrcAlgorithm, bytes: number): bigint {
  const { width } = shapes[algorithm];
  let power = 1n << BigInt(width - 1);
  const squares = squaresOf(algorithm);
  let rest = BigInt(bytes);
  for (const square of squares) {
    if (rest === 0n) break;
    if (rest & 1n) power = multiply(algorithm, square, power);
    rest >>= 1n;
  }
  return power;
}

const squares = new Map<CrcAlgorithm, bigint[]>();

/** x^8, x^16, x^32 …, enough for any size that is a safe integer. */
function squaresOf(algorithm: CrcAlgorithm): bigint[] {
  const known = squares.get(algorithm);
  if (known) return known;
  const made = [1n << BigInt(shapes[algorithm].width - 9)];
  for (let last = made[0] ?? 0n; made.length < 53; made.push(last)) last = multiply(algorithm, last, last);
  squares.set(algorithm, made);
  return made;
}

/** The product of two polynomials over GF(2), whose highest bit is the coefficient of x^0. */
function multiply(algorithm: CrcAlgorithm, a: bigint, b: bigint): bigint {
  const { width, polynomial } = shapes[algorithm];
  let product = 0n;
  let shifted = b;
  for (let bit = 1n << BigInt(width - 1); bit > 0n; bit >>= 1n) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n;
  }
  return product;
}

function toBytes(crc: bigint, width: number): Buffer {
  return Buffer.from(crc.toString(16).padStart(width / 4, '0'), 'hex');
}
