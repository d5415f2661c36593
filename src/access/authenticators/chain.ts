// The authenticators in order. The first that knows the client decides.
//
//   success -> accept        reject -> refuse        ignore -> next        failed -> hardened: refuse; legacy: next

import { assert } from '../../protocol/index.ts'
import type { AuthenticatorName } from '../access-settings.ts'
import {
  unknownClient,
  type Attempt,
  type Authenticator,
  type Failure,
  type Unknown,
  type Outcome,
  type Rejection,
  type Success,
} from './authenticator.ts'

export interface ChainLink {
  readonly name: AuthenticatorName
  readonly authenticator: Authenticator
}

/** With the name of the authenticator. */
export type Decision = (Success | Rejection | Failure) & { readonly by: AuthenticatorName }

export class AuthenticationChain {
  readonly #links: readonly ChainLink[]
  readonly #failingDenies: boolean

  constructor(links: readonly ChainLink[], options: { readonly failingDenies: boolean }) {
    this.#links = links
    this.#failingDenies = options.failingDenies
  }

  /** `ignore`: no authenticator knows the client. Returns at once unless a service must be asked. */
  run(attempt: Attempt): Decision | Unknown | Promise<Decision | Unknown> {
    for (let index = 0; index < this.#links.length; index++) {
      const outcome = this.#links[index].authenticator.authenticate(attempt)
      if (outcome instanceof Promise) return this.#runFrom(attempt, index, outcome)
      if (this.#isFinal(outcome)) return decisionOf(outcome, this.#links[index])
    }
    return unknownClient
  }

  async #runFrom(attempt: Attempt, from: number, first: Promise<Outcome>): Promise<Decision | Unknown> {
    let outcome = await first
    for (let index = from; ; outcome = await this.#links[index].authenticator.authenticate(attempt)) {
      if (this.#isFinal(outcome)) return decisionOf(outcome, this.#links[index])
      if (++index === this.#links.length) return unknownClient
    }
  }

  #isFinal({ result }: Outcome): boolean {
    return result === 'success' || result === 'reject' || (result === 'failed' && this.#failingDenies)
  }
}

function decisionOf(outcome: Outcome, { name }: ChainLink): Decision {
  assert(outcome.result !== 'ignore', 'who ignores decides nothing')
  return { ...outcome, by: name }
}
