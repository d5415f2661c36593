// A socket of which the broker may not have answered anything yet: see `tcp/connection-share.ts`.

import type { Socket } from 'node:net'

/** Counts the connection for its address until it ends. */
export interface UnansweredConnection {
  /** A proxy has told the address of the client. */
  move(address: string): void
  /** The client was answered, or the connection has closed. */
  end(): void
}

export interface SharedSocket extends Socket {
  share?: UnansweredConnection | undefined
}

const authType = 15

/** Returns whether these bytes answer a client. An AUTH packet asks it for more. */
export function isAnswer(bytes: Uint8Array): boolean {
  return (bytes[0] ?? 0) >> 4 !== authType
}
