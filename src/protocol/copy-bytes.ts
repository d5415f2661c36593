// Bytes that stay: what a topic, a will or a retained message keeps for as long as it is there.

/**
 * Returns a copy of `bytes[start, end)` in memory of its own. `Buffer.from` and `Buffer.allocUnsafe` take small buffers from a
 * shared block of 64 KiB, which ten bytes of a retained message would keep in memory.
 */
export function copyBytes(bytes: Buffer, start = 0, end: number = bytes.length): Buffer {
  const own = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(own, 0, start, end)
  return own
}
