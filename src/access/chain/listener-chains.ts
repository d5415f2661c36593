// Gateways and listeners with an authentication of their own. One authenticator decides about their clients. It has a type of the
// broker's chain, and its own settings:
//
//   listener ──authentication──> chain `coap:udp:default` ──> password | http | jwt
//
// It refuses unknown clients: anonymous clients can use only listeners without an authentication of their own.

import { isDeepStrictEqual } from 'node:util'
import type { JwtConfig, HttpAuthConfig } from '../../config/index.ts'
import { assert } from '../../protocol/index.ts'
import type { CredentialKind } from '../credentials/credential-table.ts'
import type { GatewayUsers } from '../credentials/gateway-user-table.ts'
import type { HashParameters } from '../credentials/password-hash.ts'
import { HttpAuthorizer } from '../http/http-authorizer.ts'
import { parseTokenGrants } from '../rules/token-grants.ts'
import { TokenAuthenticator } from '../tokens/token-authenticator.ts'
import { readTokenKeys } from '../tokens/token-keys.ts'
import { AuthenticationChain, type ChainLink } from './authentication-chain.ts'
import { type CredentialSource, PasswordAuthenticator } from '../authenticators/password-authenticator.ts'

/** Plain data. `chain`: the gateway or listener of the chain and of its users, `coap` or `coap:udp:default`. */
export type ListenerAuthentication = { readonly chain: string } & (
  | { readonly kind: 'users'; readonly by: CredentialKind; readonly hashParameters: HashParameters }
  | { readonly kind: 'http'; readonly http: HttpAuthConfig }
  | { readonly kind: 'jwt'; readonly token: JwtConfig }
)

interface ListenerChain {
  readonly settings: ListenerAuthentication
  readonly chain: AuthenticationChain
  readonly http: HttpAuthorizer | undefined
}

export class ListenerChains {
  readonly #users: GatewayUsers
  readonly #chains = new Map<string, ListenerChain>()

  constructor(users: GatewayUsers) {
    this.#users = users
  }

  /** `settings` come from the listener of a client. The chain stays as long as they do. */
  ensureChain(settings: ListenerAuthentication): AuthenticationChain {
    const known = this.#chains.get(settings.chain)
    if (known?.settings === settings) return known.chain
    if (known !== undefined && isDeepStrictEqual(known.settings, settings)) return known.chain
    known?.http?.close()
    const made = this.#make(settings)
    this.#chains.set(settings.chain, made)
    return made.chain
  }

  close(): void {
    for (const { http } of this.#chains.values()) http?.close()
    this.#chains.clear()
  }

  #make(settings: ListenerAuthentication): ListenerChain {
    const http = settings.kind === 'http' ? new HttpAuthorizer(settings.http) : undefined
    const link = this.#createLink(settings, http)
    return { settings, http, chain: new AuthenticationChain([link], { refusesOnError: true }) }
  }

  #createLink(settings: ListenerAuthentication, http: HttpAuthorizer | undefined): ChainLink {
    if (http !== undefined) return { name: 'http', authenticator: http }
    if (settings.kind === 'jwt') {
      const read = readTokenKeys(settings.token.key)
      assert('keys' in read, 'the keys for tokens were checked before')
      return { name: 'jwt', authenticator: new TokenAuthenticator(settings.token, read.keys, parseTokenGrants) }
    }
    assert(settings.kind === 'users', 'there is no other kind of authentication')
    const source = createCredentialSource(this.#users, settings)
    return { name: 'password', authenticator: new PasswordAuthenticator(source, settings.hashParameters.algorithm) }
  }
}

function createCredentialSource(
  users: GatewayUsers,
  { chain, by }: Extract<ListenerAuthentication, { kind: 'users' }>,
): CredentialSource {
  return {
    isEmpty: (kind) => kind !== by || users.findUsers(chain).size === 0,
    find: (kind, id) => (kind === by ? users.findUsers(chain).get(id) : undefined),
  }
}
