// The will of a client, from its CONNECT until it is published or deleted.
//
//   small:  record under the client ID         message in memory
//   large:  record under a reserved name       message in memory until the record is durable, then on disk only
//
// The reserved name keeps a large will apart from its session: the record stays while its message is read, although the session
// may end and another may begin.

import type { Message } from '../../messages/message.ts'

export class SessionWill {
  /** The name of its record: the client ID or a reserved name. */
  readonly name: string
  readonly delaySeconds: number
  /** The time of the CONNECT packet. */
  readonly createdAtMs: number
  /** When it is published; Infinity: not while its client is connected. */
  dueAtMs: number
  /** Undefined: on disk only. */
  message: Message | undefined
  /** Memory of the will in the memory account. */
  heldBytes: number

  constructor(from: { name: string; delaySeconds: number; createdAtMs: number; message: Message | undefined }) {
    this.name = from.name
    this.delaySeconds = from.delaySeconds
    this.createdAtMs = from.createdAtMs
    this.dueAtMs = Infinity
    this.message = from.message
    this.heldBytes = 0
  }
}
