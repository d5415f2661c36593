// SCRAM users, and exchanges in progress: one per connection, deleted with it.

import { type Connection, toNamespacedName } from '../../core/index.ts'
import { reasonCodes } from '../../protocol/index.ts'
import type { AccessRecordKey, ScramRecord } from '../../records/index.ts'
import {
  unknownClient,
  type Attempt,
  type Authenticator,
  type AuthenticatorResult,
} from '../authenticators/authenticator.ts'
import { ScramExchange, type ScramStep } from './scram-exchange.ts'
import { scramAlgorithms, toScramName, type ScramAlgorithm } from './scram-record.ts'

type ScramKey = Extract<AccessRecordKey, { kind: 'scram' }>

export interface ScramSettings {
  /** Users of the configuration. A stored one of the same name replaces one. */
  readonly users: readonly ScramRecord[]
  /** For the salts of unknown users: the same on every shard and after restarts. */
  readonly secret: Uint8Array
  readonly iterations: number
}

export class ScramAuthenticator implements Authenticator {
  #settings: ScramSettings | undefined
  /** By namespaced name. */
  readonly #stored = new Map<string, ScramRecord>()
  #configured: ReadonlyMap<string, ScramRecord> = new Map()
  readonly #exchanges = new WeakMap<Connection, ScramExchange>()
  /** Authenticated user names, which a re-authentication must not change. */
  readonly #authenticated = new WeakMap<Connection, string>()

  /** Undefined: not offered. Exchanges in progress continue if their user still exists. */
  changeSettings(settings: ScramSettings | undefined): void {
    this.#settings = settings
    this.#configured = new Map(settings?.users.map((user) => [user.username, user]))
  }

  put(record: ScramRecord): void {
    this.#stored.set(toNamespacedName(record.namespace, record.username), record)
  }

  delete({ namespace, username }: ScramKey): void {
    this.#stored.delete(toNamespacedName(namespace, username))
  }

  /** Returns whether the method is supported and has any users. */
  isOffered(method: string): method is ScramAlgorithm {
    if (this.#settings === undefined || this.#stored.size + this.#configured.size === 0) return false
    return scramAlgorithms.some((algorithm) => algorithm === method)
  }

  /** Returns whether this name belongs to a SCRAM user: other clients must not use it. */
  isUser(username: string, namespace: string | undefined): boolean {
    return this.#settings !== undefined && this.#findUser(toScramName(username), namespace) !== undefined
  }

  /**
   * A client without an exchange: it cannot have the name of a SCRAM user, because rules for that name concern that user. Authenticators
   * that come later in the chain, such as a service, do not decide about the name.
   */
  authenticate({ username, namespace }: Attempt): AuthenticatorResult {
    if (username === undefined || !this.isUser(username, namespace)) return unknownClient
    return {
      result: 'refused',
      reason: reasonCodes.badUserNameOrPassword,
      why: 'the user name belongs to a SCRAM user, and the client does not use SCRAM',
    }
  }

  /** Starts an exchange at CONNECT, or at a re-authentication. */
  startExchange(
    connection: Connection,
    algorithm: ScramAlgorithm,
    { data, namespace }: { readonly data: Uint8Array | undefined; readonly namespace: string | undefined },
  ): ScramStep {
    const settings = this.#settings
    if (settings === undefined) return { step: 'failed', why: 'it is not offered any more' }
    const exchange = new ScramExchange(algorithm, {
      find: (username) => this.#find(username, algorithm, namespace),
      secret: settings.secret,
      iterations: settings.iterations,
    })
    this.#exchanges.set(connection, exchange)
    return this.#recordEnd(connection, exchange.handleMessage(data))
  }

  isInProgress(connection: Connection): boolean {
    return this.#exchanges.has(connection)
  }

  continueExchange(connection: Connection, method: string, data: Uint8Array | undefined): ScramStep {
    const exchange = this.#exchanges.get(connection)
    if (exchange === undefined || exchange.algorithm !== method) {
      return { step: 'failed', why: 'this conversation was never begun' }
    }
    return this.#recordEnd(connection, exchange.handleMessage(data))
  }

  forget(connection: Connection): void {
    this.#exchanges.delete(connection)
    this.#authenticated.delete(connection)
  }

  #find(username: string, algorithm: ScramAlgorithm, namespace: string | undefined): ScramRecord | undefined {
    if (this.#settings === undefined) return undefined
    const user = this.#findUser(username, namespace)
    return user?.algorithm === algorithm ? user : undefined
  }

  #findUser(username: string, namespace: string | undefined): ScramRecord | undefined {
    const own = namespace === undefined ? undefined : this.#stored.get(toNamespacedName(namespace, username))
    return own ?? this.#stored.get(username) ?? this.#configured.get(username)
  }

  #recordEnd(connection: Connection, step: ScramStep): ScramStep {
    if (step.step === 'goes-on') return step
    this.#exchanges.delete(connection)
    if (step.step === 'failed') return step
    const { username } = step.record
    const before = this.#authenticated.get(connection)
    if (before !== undefined && before !== username) return { step: 'failed', why: 'it is another user than before' }
    this.#authenticated.set(connection, username)
    return step
  }
}
