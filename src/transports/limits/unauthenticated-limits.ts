// Bytes that are collected before they are decoded (WebSocket messages, packets of several QUIC streams) have a lower
// limit for unauthenticated clients, so that thousands of them use little memory.

/** For one connection, until CONNACK. A CONNECT has at most about 400 KB. */
export const maxUnauthenticatedBytes = 1_048_576

const connackType = 2

/** Returns whether the bytes to a client start with CONNACK, which accepts or refuses it. */
export function beginsWithConnack(bytes: Uint8Array): boolean {
  return (bytes[0] ?? 0) >> 4 === connackType
}
