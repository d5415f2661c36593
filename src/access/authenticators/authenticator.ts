// The interface of authenticators. The chain calls the configured ones in order.

import type { Connection } from '../../core/index.ts'
import type { ReasonCode } from '../../protocol/index.ts'

/** Authenticators in their default order. */
export const authenticatorNames = ['certificate', 'psk', 'password', 'scram', 'jwt', 'http'] as const
export type AuthenticatorName = (typeof authenticatorNames)[number]

/** One authentication attempt: a CONNECT, or AUTH of a connected client. */
export interface Attempt {
  readonly connection: Connection
  /** Undefined: the client has no namespace. */
  readonly namespace?: string | undefined
  /** The client ID that the client sent. */
  readonly clientId: string
  /** User name from the certificate, if the listener takes it from there, or from CONNECT. */
  readonly username: string | undefined
  readonly password: Buffer | undefined
  readonly nowMs: number
  /** AUTH of a connected client: a refusal ends the connection. */
  readonly isReauthentication?: boolean | undefined
}

/** The client is authenticated. */
export interface Accepted {
  readonly result: 'accepted'
  /** The user name of the client from now on. */
  readonly username: string | undefined
  readonly isSuperuser: boolean
  /** The client proved its client ID, not a user name. */
  readonly provesClientId?: boolean | undefined
  /** When the credentials expire; undefined: never. */
  readonly expiresAtMs?: number | undefined
  /** The access rules of a token, for authorization. */
  readonly grants?: object | undefined
  /** Of the client, for plugins. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** The credentials are wrong: no further authenticator is called. */
export interface Refused {
  readonly result: 'refused'
  readonly reason: ReasonCode
  /** For administrators, without secrets. */
  readonly why: string
}

/** The authenticator could not decide, for example because its service does not respond. */
export interface Failed {
  readonly result: 'failed'
  readonly why: string
}

/** The authenticator does not know the client: the next one is called. */
export interface UnknownClient {
  readonly result: 'unknown-client'
}

export type AuthenticatorResult = Accepted | Refused | Failed | UnknownClient

export const unknownClient: UnknownClient = { result: 'unknown-client' }

export interface Authenticator {
  /** Returns at once if possible: a promise costs time for every connecting client. */
  authenticate(attempt: Attempt): AuthenticatorResult | Promise<AuthenticatorResult>
}
