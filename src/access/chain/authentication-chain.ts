// The authenticators in order. The first that knows the client decides.
//
//   accepted, refused -> final        unknown-client -> next authenticator        failed -> hardened: final; legacy: next

import { assert } from '../../protocol/index.ts'
import {
  unknownClient,
  type Attempt,
  type Authenticator,
  type AuthenticatorName,
  type Failed,
  type UnknownClient,
  type AuthenticatorResult,
  type Refused,
  type Accepted,
} from '../authenticators/authenticator.ts'

export interface ChainLink {
  readonly name: AuthenticatorName
  readonly authenticator: Authenticator
}

/** A final result, with the name of the authenticator. */
export type ChainResult = (Accepted | Refused | Failed) & { readonly by: AuthenticatorName }

export class AuthenticationChain {
  readonly #links: readonly ChainLink[]
  /** `hardened`: an authenticator that fails refuses the client. `legacy`: the next one is called. */
  readonly #refusesOnError: boolean

  constructor(links: readonly ChainLink[], options: { readonly refusesOnError: boolean }) {
    this.#links = links
    this.#refusesOnError = options.refusesOnError
  }

  /** `unknown-client`: no authenticator knows the client. Returns at once unless a service must decide. */
  run(attempt: Attempt): ChainResult | UnknownClient | Promise<ChainResult | UnknownClient> {
    for (let index = 0; index < this.#links.length; index++) {
      const result = this.#links[index].authenticator.authenticate(attempt)
      if (result instanceof Promise) return this.#runFrom(attempt, index, result)
      if (this.#isFinal(result)) return withName(result, this.#links[index])
    }
    return unknownClient
  }

  async #runFrom(
    attempt: Attempt,
    from: number,
    first: Promise<AuthenticatorResult>,
  ): Promise<ChainResult | UnknownClient> {
    let result = await first
    for (let index = from; ; result = await this.#links[index].authenticator.authenticate(attempt)) {
      if (this.#isFinal(result)) return withName(result, this.#links[index])
      if (++index === this.#links.length) return unknownClient
    }
  }

  #isFinal({ result }: AuthenticatorResult): boolean {
    return result === 'accepted' || result === 'refused' || (result === 'failed' && this.#refusesOnError)
  }
}

function withName(result: AuthenticatorResult, { name }: ChainLink): ChainResult {
  assert(result.result !== 'unknown-client', 'an authenticator that does not know the client cannot decide')
  return { ...result, by: name }
}
