// CRC-32C, the checksum of LevelDB's blocks. `zlib.crc32` of Node uses another polynomial. Each step processes four bytes, with
// four tables.

const polynomial = 0x82f6_3b78

const tables = makeTables()

/** Returns the CRC-32C of a part of a buffer; `end` is exclusive. */
export function computeCrc32c(bytes: Uint8Array, start: number, end: number): number {
  const { one, two, three, four } = tables
  let crc = 0xffff_ffff
  let at = start
  for (const stop = end - 3; at < stop; at += 4) {
    crc ^= byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24)
    crc =
      word(four, crc & 0xff) ^ word(three, (crc >>> 8) & 0xff) ^ word(two, (crc >>> 16) & 0xff) ^ word(one, crc >>> 24)
  }
  for (; at < end; at++) crc = word(one, (crc ^ byte(bytes, at)) & 0xff) ^ (crc >>> 8)
  return ~crc >>> 0
}

/**
 * Returns the masked CRC-32C, which LevelDB stores: rotated by 15 bits, plus a constant. LevelDB masks it because a CRC
 * over data that contains CRCs detects fewer errors.
 */
export function computeMaskedCrc32c(bytes: Uint8Array, start: number, end: number): number {
  return maskCrc(computeCrc32c(bytes, start, end))
}

/**
 * Returns the first position, from `start` on, that is followed by the masked checksum of all bytes from `start` to it.
 * Undefined if there is none.
 */
export function findCheckedEnd(bytes: Buffer, start: number): number | undefined {
  let crc = 0xffff_ffff
  for (let at = start; at + 4 < bytes.length; at++) {
    crc = word(tables.one, (crc ^ byte(bytes, at)) & 0xff) ^ (crc >>> 8)
    if (maskCrc(~crc >>> 0) === bytes.readUInt32LE(at + 1)) return at + 1
  }
  return undefined
}

function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}

function word(table: Int32Array, index: number): number {
  return table[index] ?? 0
}

function makeTables(): { one: Int32Array; two: Int32Array; three: Int32Array; four: Int32Array } {
  const one = new Int32Array(256)
  for (let index = 0; index < 256; index++) {
    let crc = index
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ polynomial
    one[index] = crc
  }
  const createNextTable = (table: Int32Array): Int32Array => table.map((crc) => word(one, crc & 0xff) ^ (crc >>> 8))
  const two = createNextTable(one)
  const three = createNextTable(two)
  return { one, two, three, four: createNextTable(three) }
}
