// The five states of a connection, each with what belongs to it.
//
//   awaiting-connect --CONNECT--> awaiting-verdict --allowed--> open --...--> closing --stream ended--> closed
//          \____________________________\____ refused ____________________/^

import type { ConnectPacket, Packet, ReasonCode, Topic } from '../../protocol/index.ts'
import type { Connection } from '../connection.ts'
import type { QuestionId } from '../inputs.ts'
import type { Session } from '../sessions/session.ts'

export interface AwaitingVerdict {
  readonly state: 'awaiting-verdict'
  readonly connect: ConnectPacket
  /** The client id in force: the client's own, or the one assigned to it. */
  readonly clientId: string
  readonly question: QuestionId
  /** What came behind the CONNECT, in order; at most `settings.maxParkedPackets`. */
  readonly parked: Packet[]
}

export interface Open {
  readonly state: 'open'
  readonly session: Session
  /** The topic that each alias of the client stands for; index 0 is never used. */
  incomingAliases: (Topic | undefined)[] | undefined
  /** A PUBLISH that waits for the disk to serve again (3.1 and 3.1.1 clients only: they cannot be told). */
  parked: Packet[]
}

export type ConnectionState =
  | { readonly state: 'awaiting-connect' }
  | AwaitingVerdict
  | Open
  | { readonly state: 'closing'; readonly reason: ReasonCode }
  | { readonly state: 'closed' }

/** The one place that knows that `connection.now` is always one of the union: only this folder writes it. */
export function stateOf(connection: Connection): ConnectionState {
  return connection.now as ConnectionState
}

export function moveTo(connection: Connection, next: ConnectionState): void {
  connection.now = next
}
