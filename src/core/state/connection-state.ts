// The states of a connection, each with its data.
//
//   awaiting-connect --CONNECT--> awaiting-verdict --allowed--> open --...--> closing --stream ended--> closed
//                              AUTH ^      v not yet
//                                awaiting-auth
//          \____________________________\____ refused ____________________/^

import type {
  ConnectPacket,
  Packet,
  ReasonCode,
  SubscribePacket,
  Topic,
  TopicFilter,
  UnsubscribePacket,
} from '../../protocol/index.ts'
import type { Identity } from '../messages/identity.ts'
import type { Connection } from '../model/connection.ts'
import type { RequestId } from '../model/inputs.ts'
import type { HookQueue } from './hooks/hook-queue.ts'
import type { Session } from './sessions/session.ts'

export interface AwaitingAuthentication {
  readonly state: 'awaiting-authentication'
  readonly connect: ConnectPacket
  /** The client ID in use, as the name of the session: the client's own, or an assigned one. */
  readonly clientId: string
  /** The user name in use: that of CONNECT or of the certificate. */
  readonly username: string | undefined
  readonly requestId: RequestId
  /** Enhanced authentication: number of AUTH packets that the client sent. */
  readonly steps: number
  /**
   * Authenticated, but waiting for the authorization of its will or for its older connection: see `takeover-wait.ts`.
   */
  readonly granted: GrantedAccess | undefined
  /** End of the wait for its older connection; undefined if it never waited. */
  readonly waitsUntilMs: number | undefined
  /** While it waited, stored state of the client may have changed: CONNACK confirms that. */
  readonly mustConfirm?: boolean
  /** Packets after CONNECT, in order; at most `settings.maxParkedPackets`. */
  readonly parked: Packet[]
}

/** Result of a successful authentication. */
export interface GrantedAccess {
  readonly identity: Identity
  readonly authenticationData: Buffer | undefined
}

/** The client must send AUTH next. */
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
  /** Topic of each alias of the client; index 0 is never used. */
  incomingAliases: (Topic | undefined)[] | undefined
  /**
   * A waiting packet and all later ones, in order. A PUBLISH waits for the store (3.1 and 3.1.1 clients only: they
   * cannot be told), or a packet waits for its authorization.
   */
  parked: Packet[] | undefined
  waiting: AuthorizationWait | undefined
  /** Publications that wait for hooks of plugins; the packets after them are in `parked`. */
  hooking: HookQueue | undefined
  /** A SUBSCRIBE or UNSUBSCRIBE with many filters, of which a part was handled. */
  filterParts: FilterParts | undefined
  /** The method in CONNECT; undefined: there was none, and AUTH is not allowed [MQTT5-4.12.0-7]. */
  readonly authenticationMethod: string | undefined
  /** The re-authentication in progress. */
  reauthentication: Reauthentication | undefined
  /** CONNECT requested a session expiry, whatever was granted: DISCONNECT may request another [MQTT5-3.14.2-2]. */
  readonly hasSessionExpiry: boolean
}

/** See `packets/filter-parts.ts`. */
export interface FilterParts {
  readonly whole: SubscribePacket | UnsubscribePacket
  /** End of the part that is being handled. */
  end: number
  /** Results of the parts before. */
  readonly reasonCodes: number[]
  readonly granted: TopicFilter[]
}

/** A packet that waits for authorization, and all requests for it: see `authorization-wait.ts`. */
export interface AuthorizationWait {
  readonly packet: Packet
  readonly requestIds: Set<RequestId>
  readonly requestedTopics: Set<string>
}

/** `requestId`: the request without a response; undefined: the client must send AUTH next. */
export interface Reauthentication {
  readonly requestId: RequestId | undefined
  readonly steps: number
}

export type ConnectionState =
  | { readonly state: 'awaiting-connect' }
  | AwaitingAuthentication
  | AwaitingAuth
  | Open
  | { readonly state: 'closing'; readonly reason: ReasonCode }
  | { readonly state: 'closed' }

/**
 * Only this function knows that `connection.now` is always a member of the union, because only this folder writes it.
 */
export function getState(connection: Connection): ConnectionState {
  return connection.now as ConnectionState
}

export function moveTo(connection: Connection, next: ConnectionState): void {
  connection.now = next
}
