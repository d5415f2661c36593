// Bytes that are collected before they are decoded (messages of WebSocket, packets of several QUIC streams) have a lower
// limit for unauthenticated clients, so that thousands of them cost little memory.

/** Of one connection, until CONNACK. A CONNECT has at most some 400 KB. */
export const maxUnauthenticatedBytes = 1_048_576

const connackType = 2

/** Whether what is written to a client says that it is let in, or that it is not and the end is near. */
export function beginsWithConnack(bytes: Uint8Array): boolean {
  return (bytes[0] ?? 0) >> 4 === connackType
}
