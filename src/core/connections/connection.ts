// One client's connection, in one of five states, each with what belongs to it. The driver makes it when a stream
// opens and finds its own end of the stream in `outlet`; only handlers in this folder change `now`.

import type { ConnectPacket, Packet, ProtocolVersion, ReasonCode } from '../../protocol/index.ts'
import type { QuestionId } from '../inputs.ts'
import type { Session } from '../sessions/session.ts'

/** What a connection inherits from the listener that it came through. */
export interface ListenerTraits {
  readonly name: string
  readonly isLoopback: boolean
}

export type ConnectionState =
  | { readonly state: 'awaiting-connect' }
  | { readonly state: 'awaiting-verdict'; readonly connect: ConnectPacket; readonly question: QuestionId; readonly parked: Packet[] }
  | { readonly state: 'open'; readonly session: Session }
  | { readonly state: 'closing'; readonly reason: ReasonCode }
  | { readonly state: 'closed' }

export class Connection {
  /** The driver's end: whatever it needs to find the stream again. The core never looks inside. */
  readonly outlet: object
  readonly listener: ListenerTraits
  readonly peerAddress: string
  now: ConnectionState
  version: ProtocolVersion
  keepAliveMs: number
  lastPacketAtMs: number
  /** Bytes that were handed to the driver and have not been reported as sent: an estimate between two reports. */
  unsentBytes: number

  constructor(outlet: object, listener: ListenerTraits, peerAddress: string) {
    this.outlet = outlet
    this.listener = listener
    this.peerAddress = peerAddress
    this.now = { state: 'awaiting-connect' }
    this.version = 4
    this.keepAliveMs = 0
    this.lastPacketAtMs = 0
    this.unsentBytes = 0
  }
}
