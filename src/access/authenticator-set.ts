// The authenticators of a shard: their chains, their stored records, and the service that some of them share with authorization.

import { isDeepStrictEqual } from 'node:util'
import type { JwtConfig } from '../config/index.ts'
import { toNamespacedName } from '../core/index.ts'
import { assert } from '../protocol/index.ts'
import type { AccessRecord, AccessRecordKey } from '../records/index.ts'
import type { AccessSettings } from './access-settings.ts'
import type { Attempt, Authenticator, AuthenticatorName } from './authenticators/authenticator.ts'
import { PasswordAuthenticator } from './authenticators/password-authenticator.ts'
import { CertificateAuthenticator, PskAuthenticator } from './authenticators/transport-authenticators.ts'
import { CredentialTable } from './credentials/credential-table.ts'
import { GatewayUsers } from './credentials/gateway-user-table.ts'
import { HttpAuthorizer } from './http/http-authorizer.ts'
import { parseTokenGrants } from './rules/token-grants.ts'
import { ScramAuthenticator } from './scram/scram-authenticator.ts'
import { TokenAuthenticator } from './tokens/token-authenticator.ts'
import { readTokenKeys } from './tokens/token-keys.ts'
import { AuthenticationChain, type ChainLink } from './chain/authentication-chain.ts'
import { type ListenerAuthentication, ListenerChains } from './chain/listener-chains.ts'

/** Changes of stored records. */
export interface RecordChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

export class AuthenticatorSet {
  readonly scram = new ScramAuthenticator()
  /** Undefined: no service is configured. */
  http: HttpAuthorizer | undefined
  readonly #credentials = new CredentialTable()
  readonly #gatewayUsers = new GatewayUsers()
  readonly #listenerChains = new ListenerChains(this.#gatewayUsers)
  readonly #preSharedKeys = new Map<string, Uint8Array>()
  #chain: AuthenticationChain

  constructor(settings: AccessSettings) {
    this.#chain = this.#buildChain(settings)
  }

  changeSettings(settings: AccessSettings): void {
    const before = this.http
    this.#chain = this.#buildChain(settings)
    // Clients whose request to the old service is pending are refused; they may retry.
    if (before !== this.http) before?.close()
  }

  /** Returns the chain of the listener, of its gateway, or of the broker. */
  selectChain({ connection: { listener } }: Attempt): AuthenticationChain {
    const own = listener.authentication as ListenerAuthentication | undefined
    return own === undefined ? this.#chain : this.#listenerChains.ensureChain(own)
  }

  applyRecords(change: RecordChange): void {
    for (const key of change.delete) {
      if (key.kind === 'credential') this.#credentials.delete(key)
      else if (key.kind === 'gateway-user') this.#gatewayUsers.delete(key)
      else if (key.kind === 'scram') this.scram.delete(key)
      else if (key.kind === 'psk') this.#preSharedKeys.delete(toNamespacedName(key.namespace, key.identity))
    }
    for (const record of change.put) {
      if (record.kind === 'credential') this.#credentials.put(record)
      else if (record.kind === 'gateway-user') this.#gatewayUsers.put(record)
      else if (record.kind === 'scram') this.scram.put(record)
      else if (record.kind === 'psk')
        this.#preSharedKeys.set(toNamespacedName(record.namespace, record.identity), record.key)
    }
  }

  /** Returns the stored key of an identity for a handshake: of the namespace, or otherwise one without a namespace. */
  findPreSharedKey(identity: string, namespace: string | undefined): Uint8Array | undefined {
    // An identity must not contain a namespace.
    if (identity.includes('\0')) return undefined
    return this.#preSharedKeys.get(toNamespacedName(namespace, identity)) ?? this.#preSharedKeys.get(identity)
  }

  close(): void {
    this.http?.close()
    this.#listenerChains.close()
  }

  #buildChain(settings: AccessSettings): AuthenticationChain {
    this.#credentials.setConfigured(settings.credentials)
    this.scram.changeSettings(settings.chain.includes('scram') ? settings.scram : undefined)
    this.http = updateHttpAuthorizer(settings.http, this.http)
    const links: ChainLink[] = []
    for (const name of settings.chain) {
      const authenticator = this.#createAuthenticator(name, settings)
      if (authenticator !== undefined) links.push({ name, authenticator })
    }
    return new AuthenticationChain(links, { refusesOnError: settings.profile === 'hardened' })
  }

  #createAuthenticator(name: AuthenticatorName, settings: AccessSettings): Authenticator | undefined {
    switch (name) {
      case 'certificate':
        return new CertificateAuthenticator(settings.certificateName)
      case 'psk':
        return new PskAuthenticator()
      case 'password':
        return new PasswordAuthenticator(this.#credentials, settings.hashParameters.algorithm, (username, namespace) =>
          this.scram.isUser(username, namespace),
        )
      case 'jwt':
        return settings.token === undefined ? undefined : createTokenAuthenticator(settings.token)
      case 'http':
        return this.http
      case 'scram':
        return this.scram // It authenticates clients that request it: see `AccessControl`.
      default:
        return name satisfies never
    }
  }
}

/** An unchanged authorizer is kept, with its connections and its cache. */
function updateHttpAuthorizer(
  settings: AccessSettings['http'],
  before: HttpAuthorizer | undefined,
): HttpAuthorizer | undefined {
  if (settings === undefined) return undefined
  return before !== undefined && isDeepStrictEqual(before.settings, settings) ? before : new HttpAuthorizer(settings)
}

/** Keys were validated with the settings, so a problem now is an internal error. */
function createTokenAuthenticator(settings: JwtConfig): TokenAuthenticator {
  const read = readTokenKeys(settings.key)
  assert('keys' in read, 'the keys for tokens were checked before')
  return new TokenAuthenticator(settings, read.keys, parseTokenGrants)
}
