// Why the broker refuses a packet of an accepted client. Each refusal has a counter by cause, and events for log and timeline.

import type { ReasonCode } from '../../protocol/index.ts'

export const refusalCauses = [
  /** Access rules. */
  'not-authorized',
  /** Topics and filters that are not valid, too long, or reserved. */
  'invalid-topic',
  /** A limit of the client, of its namespace, or of the node. */
  'limit-reached',
  /** A queue of a receiver, or of a peer, is full. */
  'receiver-full',
  'storage-failing',
  'rate-limited',
  /** The settings disable the feature. */
  'not-supported',
  'invalid-payload',
  /** A packet identifier that is not in use. */
  'unknown-packet-id',
  /** A plugin refused it, or failed. */
  'plugin',
] as const

export type RefusalCause = (typeof refusalCauses)[number]

/** A packet type; `WILL` for a will that is not published, `DELAYED` for a message that is not published when it is due. */
export type RefusedPacket = 'PUBLISH' | 'SUBSCRIBE' | 'PUBREC' | 'PUBREL' | 'WILL' | 'DELAYED'

export interface Refused {
  readonly reason: ReasonCode
  readonly cause: RefusalCause
  /** For the client, the log and the timeline. */
  readonly text: string
}
