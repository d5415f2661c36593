// Requests of the core whose responses are expected.

import type { Connection } from '../model/connection.ts'
import type { PublishHookResult } from '../model/publish-hook.ts'
import type { RequestId } from '../model/inputs.ts'
import type { StoredRetained } from '../messages/retained-message.ts'
import type { HookEntry, HookQueue } from './hooks/hook-queue.ts'
import type { Session } from './sessions/session.ts'
import type { EndedSessionQueue } from './sessions/shared-redelivery-state.ts'
import type { DueWill } from './will-state.ts'

/** A request whose response is expected. */
export type PendingRequest =
  | { readonly for: 'connect' | 'reauthentication' | 'permission'; readonly connection: Connection }
  | { readonly for: 'queue'; readonly session: Session; readonly upTo: number }
  | { readonly for: 'oldest'; readonly session: Session }
  | { readonly for: 'ended-session-queue'; readonly queue: EndedSessionQueue }
  | { readonly for: 'will'; readonly will: DueWill }
  | { readonly for: 'retained'; readonly retained: StoredRetained }
  | { readonly for: 'command-hooks'; readonly onResult: (result: PublishHookResult) => void }
  | { readonly for: 'publish-hooks'; readonly queue: HookQueue; readonly entry: HookEntry }

export class PendingRequests {
  readonly #byId = new Map<RequestId, PendingRequest>()
  #lastId: RequestId = 0

  add(request: PendingRequest): RequestId {
    const id = ++this.#lastId
    this.#byId.set(id, request)
    return id
  }

  /** Returns the request that this is the response to; undefined if it was cancelled. */
  take(id: RequestId): PendingRequest | undefined {
    const request = this.#byId.get(id)
    this.#byId.delete(id)
    return request
  }

  /** The response is not needed any more. */
  cancel(id: RequestId): void {
    this.#byId.delete(id)
  }
}
