// Passes the core's access requests to the module `access`. Responses that are available at once belong to the same
// turn; others are separate inputs.

import type { AccessControl, AuthenticateRequest, ConnectRequest, AuthorizationRequest } from '../../access/index.ts'
import { type AuthenticationResult, type Input, createIdentity } from '../../core/index.ts'

export interface AccessRequestsCallbacks {
  /** Passes a response to the core within the current turn. */
  respond(input: Input): void
  /** Passes a response to the core in a turn of its own. */
  respondLater(input: Input): void
  fail(error: unknown): void
}

export class AccessRequests {
  readonly #access: AccessControl
  readonly #callbacks: AccessRequestsCallbacks

  constructor(access: AccessControl, callbacks: AccessRequestsCallbacks) {
    this.#access = access
    this.#callbacks = callbacks
  }

  handle(request: ConnectRequest | AuthenticateRequest | AuthorizationRequest): void {
    const { requestId } = request
    if (request.kind === 'authorize') {
      this.#passResponse(this.#access.prepare(request), () => ({ kind: 'permission-ready', requestId }))
      return
    }
    if (request.kind === 'authenticate' && request.connection.listener.isInternal === true) {
      // A bridge of this broker has no listener and needs no authentication.
      const who = createIdentity(request.clientId, undefined, request.connection.peerAddress)
      const identity = { ...who, authenticatedBy: 'bridge' }
      return this.#callbacks.respond({
        kind: 'authentication-result',
        requestId,
        decision: { allowed: true, identity },
      })
    }
    this.#passResponse(this.#access.authenticate(request), (decision: AuthenticationResult) => ({
      kind: 'authentication-result',
      requestId,
      decision,
    }))
  }

  #passResponse<T>(response: T | Promise<T>, asInput: (response: T) => Input): void {
    if (!(response instanceof Promise)) return this.#callbacks.respond(asInput(response))
    response.then(
      (found) => this.#callbacks.respondLater(asInput(found)),
      (error: unknown) => this.#callbacks.fail(error),
    )
  }
}
