// Copies bytes that are stored for a long time, for topics, wills and retained messages.

/**
 * Returns a copy of `bytes[start, end)` in memory of its own. `Buffer.from` and `Buffer.allocUnsafe` take small buffers from a
 * shared block of 64 KiB, which ten bytes of a retained message would keep in memory.
 */
export function copyBytes(bytes: Buffer, start = 0, end: number = bytes.length): Buffer {
  const own = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(own, 0, start, end)
  return own
}
