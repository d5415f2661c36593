// One way of showing who one is. The chain asks those that are configured, one after the other.

import type { Connection } from '../../core/index.ts'
import type { ReasonCode } from '../../protocol/index.ts'

/** What a client has shown at CONNECT. */
export interface Attempt {
  readonly connection: Connection
  /** Undefined: it belongs to none. */
  readonly namespace?: string | undefined
  /** As the client calls itself. */
  readonly clientId: string
  /** Of the certificate, where the listener says that it counts, or of CONNECT. */
  readonly username: string | undefined
  readonly password: Buffer | undefined
  readonly nowMs: number
  /** AUTH of a client that is connected: its refusal ends the connection, and refuses no CONNECT. */
  readonly isReauthentication?: boolean | undefined
}

/** Somebody is who they say. */
export interface Success {
  readonly result: 'success'
  /** Whom the client may call itself from now on. */
  readonly username: string | undefined
  readonly isSuperuser: boolean
  /** It proved its client ID, and no user name. */
  readonly isByClientId?: boolean | undefined
  /** When what was shown ceases to hold; undefined: never. */
  readonly expiresAtMs?: number | undefined
  /** For those who decide what the client may do: the rules of a token. */
  readonly grants?: object | undefined
}

/** It is not true: nobody else is asked. */
export interface Rejection {
  readonly result: 'reject'
  readonly reason: ReasonCode
  /** For the operator, and without secrets. */
  readonly why: string
}

/** Whoever should know does not answer. */
export interface Failure {
  readonly result: 'failed'
  readonly why: string
}

/** Nothing is known here of this client: the next one is asked. */
export interface Unknown {
  readonly result: 'ignore'
}

export type Outcome = Success | Rejection | Failure | Unknown

export const ignored: Unknown = { result: 'ignore' }

export interface Authenticator {
  /** At once wherever that is possible: a promise costs every client that connects. */
  authenticate(attempt: Attempt): Outcome | Promise<Outcome>
}
