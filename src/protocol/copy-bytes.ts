// Bytes that stay: what a topic, a will or a retained message keeps for as long as it is there.

/**
 * A copy of `bytes[start, end)` in memory of its own. `Buffer.from` and `Buffer.allocUnsafe` take small ones from a slab of
 * 64 KiB that Node hands out to everybody: ten bytes that are kept for years would keep all of it.
 */
export function copyBytes(bytes: Buffer, start = 0, end: number = bytes.length): Buffer {
  const own = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(own, 0, start, end)
  return own
}
