// The access module without a shard: requests as the core sends them, and a clock that moves only when the test moves it.

import { defaultFailedLoginConfig } from '../../src/config/index.ts'
import {
  AccessControl,
  defaultAccessSettings,
  hashPassword,
  type AccessSettings,
  type ListenerAuthentication,
} from '../../src/access/index.ts'
import { Connection, type ConnectionOrigin, type AuthenticationResult, type CoreRequest } from '../../src/core/index.ts'
import type { CredentialRecord } from '../../src/records/index.ts'
import type { Log } from '../../src/telemetry/index.ts'

export type AuthenticateRequest = Extract<CoreRequest, { kind: 'authenticate' }>

export interface RequestOptions extends Partial<Omit<AuthenticateRequest, 'kind' | 'requestId' | 'password'>> {
  readonly password?: string | Buffer | undefined
  readonly isLoopback?: boolean
  readonly origin?: Partial<ConnectionOrigin>
  /** Settings of the listener. */
  readonly authentication?: ListenerAuthentication
}

export class AccessStage {
  readonly access: AccessControl
  readonly settings: AccessSettings
  readonly lines: { level: string; event: string; fields: unknown }[] = []
  nowMs = 1_800_000_000_000
  #lastRequestId = 0

  constructor(settings: Partial<AccessSettings> = {}) {
    this.settings = settingsWith(settings)
    this.access = new AccessControl(this.settings, {
      log: this.#log(),
      nowMs: () => this.nowMs,
      onPermissionsChanged: () => undefined,
    })
  }

  /** A client connects: from a remote address, unless `isLoopback` is set. */
  authenticate(options: RequestOptions = {}): AuthenticationResult | Promise<AuthenticationResult> {
    const result = this.access.authenticate(this.request(options))
    return result instanceof Promise ? result.then((late) => this.#noteCause(late)) : this.#noteCause(result)
  }

  /** Adds the log line, and returns the result for the client. */
  #noteCause(result: AuthenticationResult): AuthenticationResult {
    if (result.allowed !== false) return result
    const { cause, ...refusal } = result
    this.lines.push({ level: 'warn', event: 'client refused', fields: { why: cause } })
    return refusal
  }

  /** Returns the result of an authenticator that decides at once. Throws if the result is late. */
  decision(options: RequestOptions = {}): AuthenticationResult {
    const decision = this.authenticate(options)
    if (decision instanceof Promise) throw new Error('the result is a promise')
    return decision
  }

  request({ password, isLoopback = false, origin, authentication, ...rest }: RequestOptions = {}): AuthenticateRequest {
    return {
      kind: 'authenticate',
      requestId: ++this.#lastRequestId,
      connection: connectionFrom(isLoopback, origin, authentication),
      clientId: 'client',
      username: undefined,
      password: typeof password === 'string' ? Buffer.from(password) : password,
      version: 5,
      authenticationMethod: undefined,
      authenticationData: undefined,
      ...rest,
    }
  }

  /** Returns all log lines as text. */
  get logText(): string {
    return this.lines.map((line) => JSON.stringify(line)).join('\n')
  }

  #log(): Log {
    const line =
      (level: string) =>
      (event: string, fields?: unknown): void => {
        this.lines.push({ level, event, fields })
      }
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }
}

export function settingsWith(settings: Partial<AccessSettings>): AccessSettings {
  // In tests, any number of wrong passwords is allowed, except in those about the limit.
  return { ...defaultAccessSettings, failedLogins: { ...defaultFailedLoginConfig, isEnabled: false }, ...settings }
}

export function connectionFrom(
  isLoopback: boolean,
  origin?: Partial<ConnectionOrigin>,
  authentication?: ListenerAuthentication,
): Connection {
  const known = origin && {
    port: 50_000,
    clientId: undefined,
    username: undefined,
    certificate: undefined,
    pskIdentity: undefined,
    ...origin,
  }
  return new Connection({}, { name: 'default', isLoopback, authentication }, '192.0.2.7', known)
}

/** Returns the reason code of a refusal, `accepted`, or `not-yet` if the authentication needs another message. */
export function outcomeOf(decision: AuthenticationResult): number | 'accepted' | 'not-yet' {
  if (decision.allowed === 'not-yet') return 'not-yet'
  return decision.allowed ? 'accepted' : decision.reason
}

export function credential(
  by: 'username' | 'clientid',
  id: string,
  password: string,
  more: Partial<CredentialRecord> = {},
): CredentialRecord {
  return { kind: 'credential', by, id, isSuperuser: false, createdAtMs: 0, ...hashPassword(password), ...more }
}
