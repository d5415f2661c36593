// Passes the core's access requests to the module `access`. Responses that are available at once belong to the same
// turn; others are separate inputs.

import type { AccessControl, AuthenticateRequest, ConnectRequest, AuthorizationRequest } from '../../access/index.ts'
import { type AuthenticationResult, type Input, plainIdentity } from '../../core/index.ts'

export interface AccessRequestsCallbacks {
  /** Passes a response to the core within the current turn. */
  answer(input: Input): void
  /** Passes a response to the core in a turn of its own. */
  answerLater(input: Input): void
  fail(error: unknown): void
}

export class AccessRequests {
  readonly #access: AccessControl
  readonly #callbacks: AccessRequestsCallbacks

  constructor(access: AccessControl, callbacks: AccessRequestsCallbacks) {
    this.#access = access
    this.#callbacks = callbacks
  }

  take(asked: ConnectRequest | AuthenticateRequest | AuthorizationRequest): void {
    const { requestId } = asked
    if (asked.kind === 'authorize') {
      this.#bringBack(this.#access.prepare(asked), () => ({ kind: 'permission-ready', requestId }))
      return
    }
    if (asked.kind === 'authenticate' && asked.connection.listener.isBridge === true) {
      // A bridge of this broker has no listener and needs no authentication.
      const who = plainIdentity(asked.clientId, undefined, asked.connection.peerAddress)
      const identity = { ...who, authenticatedBy: 'bridge' }
      return this.#callbacks.answer({ kind: 'authentication-result', requestId, decision: { allowed: true, identity } })
    }
    this.#bringBack(this.#access.authenticate(asked), (decision: AuthenticationResult) => ({
      kind: 'authentication-result',
      requestId,
      decision,
    }))
  }

  #bringBack<T>(answer: T | Promise<T>, asInput: (answer: T) => Input): void {
    if (!(answer instanceof Promise)) return this.#callbacks.answer(asInput(answer))
    answer.then(
      (found) => this.#callbacks.answerLater(asInput(found)),
      (error: unknown) => this.#callbacks.fail(error),
    )
  }
}
