// The six states of a connection, each with what belongs to it.
//
//   awaiting-connect --CONNECT--> awaiting-verdict --allowed--> open --...--> closing --stream ended--> closed
//                              AUTH ^      v not yet
//                                awaiting-auth
//          \____________________________\____ refused ____________________/^

import type { ConnectPacket, Packet, ReasonCode, Topic } from '../../protocol/index.ts'
import type { Identity } from '../model/identity.ts'
import type { Connection } from '../model/connection.ts'
import type { RequestId } from '../model/inputs.ts'
import type { Session } from './sessions/session.ts'

export interface AwaitingAuthentication {
  readonly state: 'awaiting-verdict'
  readonly connect: ConnectPacket
  /** The client id in force, as the name of the session: the client's own, or the one assigned to it. */
  readonly clientId: string
  /** In force: CONNECT's, or that of the client's certificate. */
  readonly username: string | undefined
  readonly question: RequestId
  /** Enhanced authentication: AUTH packets that the client has sent. */
  readonly steps: number
  /** Let in, but for its will (nobody knows yet whether that is allowed), or for its older connection: see `takeover-wait.ts`. */
  readonly granted: GrantedAccess | undefined
  /** So long it waits for its older connection to be heard to its end; undefined: it never had to. */
  readonly waitsUntilMs: number | undefined
  /** What came behind the CONNECT, in order; at most `settings.maxParkedPackets`. */
  readonly parked: Packet[]
}

/** The verdict of who lets clients in. */
export interface GrantedAccess {
  readonly identity: Identity
  readonly authenticationData: Buffer | undefined
}

/** It is the client's turn to send AUTH. */
export interface AwaitingAuth {
  readonly state: 'awaiting-auth'
  readonly connect: ConnectPacket
  readonly clientId: string
  readonly username: string | undefined
  readonly steps: number
}

export interface Open {
  readonly state: 'open'
  readonly session: Session
  /** The topic that each alias of the client stands for; index 0 is never used. */
  incomingAliases: (Topic | undefined)[] | undefined
  /**
   * What waits, and behind it what came later, in order: a PUBLISH for the disk to serve again (3.1 and 3.1.1 clients only:
   * they cannot be told), or a packet for somebody to say that it is allowed.
   */
  parked: Packet[]
  waiting: AuthorizationWait | undefined
  /** The method that CONNECT named; undefined: there was none, and no AUTH may come [MQTT5-4.12.0-7]. */
  readonly authenticationMethod: string | undefined
  /** The re-authentication that is under way. */
  reauthentication: Reauthentication | undefined
  /** CONNECT asked for a session expiry, whatever was given: DISCONNECT may ask for another [MQTT5-3.14.2-2]. */
  readonly asksForExpiry: boolean
}

/** What a packet waits for, and what has been asked about it in all: see `authorization-wait.ts`. */
export interface AuthorizationWait {
  readonly packet: Packet
  readonly questions: Set<RequestId>
  readonly requested: Set<string>
}

/** `question`: ours to answer; undefined: it is the client's turn. */
export interface Reauthentication {
  readonly question: RequestId | undefined
  readonly steps: number
}

export type ConnectionState =
  | { readonly state: 'awaiting-connect' }
  | AwaitingAuthentication
  | AwaitingAuth
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
