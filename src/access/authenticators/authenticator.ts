// The interface of authenticators. The chain calls the configured ones in order.

import type { Connection } from '../../core/index.ts'
import type { ReasonCode } from '../../protocol/index.ts'

/** Properties of a CONNECT. */
export interface Attempt {
  readonly connection: Connection
  /** Undefined: it has none. */
  readonly namespace?: string | undefined
  /** As the client sends it. */
  readonly clientId: string
  /** From the certificate, if the listener is configured so, or from CONNECT. */
  readonly username: string | undefined
  readonly password: Buffer | undefined
  readonly nowMs: number
  /** AUTH of a connected client: a refusal ends the connection. */
  readonly isReauthentication?: boolean | undefined
}

/** The client is authenticated. */
export interface Success {
  readonly result: 'success'
  /** The user name from now on. */
  readonly username: string | undefined
  readonly isSuperuser: boolean
  /** It proved its client ID, not a user name. */
  readonly isByClientId?: boolean | undefined
  /** When the credentials expire; undefined: never. */
  readonly expiresAtMs?: number | undefined
  /** For authorization: the rules of a token. */
  readonly grants?: object | undefined
}

/** The credentials are wrong: no further authenticator is called. */
export interface Rejection {
  readonly result: 'reject'
  readonly reason: ReasonCode
  /** For administrators, without secrets. */
  readonly why: string
}

/** The service does not answer. */
export interface Failure {
  readonly result: 'failed'
  readonly why: string
}

/** The client is unknown here: the next authenticator is called. */
export interface Unknown {
  readonly result: 'ignore'
}

export type Outcome = Success | Rejection | Failure | Unknown

export const ignored: Unknown = { result: 'ignore' }

export interface Authenticator {
  /** Returns at once if possible: a promise costs time for every connecting client. */
  authenticate(attempt: Attempt): Outcome | Promise<Outcome>
}
