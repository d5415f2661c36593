// The connection of the membership to the database: one at a time, one transaction at a time, on one server.
//
//   idle ──► connecting ──► open ──► (transaction ──► confirmed)*
//    ▲           │            │
//    └───────────┴────────────┘  unknown outcome, lower timeline, other database

import type { Instant } from './lease.ts'
import type { MembershipAction } from './membership-actions.ts'
import type { DatabaseServer } from './node-heartbeat.ts'

export interface SentTransaction {
  readonly sentAt: Instant
  readonly actions: readonly MembershipAction[]
}

type SessionState =
  | { readonly kind: 'idle'; readonly retryMs: number }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open'; readonly server: DatabaseServer }

const reconnectMs = 500

export class DatabaseSession {
  #state: SessionState = { kind: 'idle', retryMs: Number.NEGATIVE_INFINITY }
  #attempt = 0
  /** No transaction of this connection was confirmed yet. */
  #isFresh = true
  #sent: SentTransaction | undefined
  #systemIdentifier: string | undefined
  #highestTimeline = 0
  #problem: string | undefined

  /** Number of the connection. */
  get attempt(): number {
    return this.#attempt
  }

  get isFresh(): boolean {
    return this.#isFresh
  }

  get sent(): SentTransaction | undefined {
    return this.#sent
  }

  get server(): DatabaseServer | undefined {
    return this.#state.kind === 'open' ? this.#state.server : undefined
  }

  /** Why there is no usable connection; undefined: the last transaction was confirmed. */
  get problem(): string | undefined {
    return this.#problem
  }

  get canSend(): boolean {
    return this.#state.kind === 'open' && this.#sent === undefined
  }

  isRetryDue(nowMs: number): boolean {
    return this.#state.kind === 'idle' && nowMs >= this.#state.retryMs
  }

  connect(): number {
    this.#state = { kind: 'connecting' }
    this.#isFresh = true
    return ++this.#attempt
  }

  /** Returns whether the server can be used. */
  open(server: DatabaseServer, nowMs: number): boolean {
    this.#systemIdentifier ??= server.systemIdentifier
    const problem = this.#findProblem(server)
    if (problem !== undefined) {
      this.close(problem, nowMs)
      return false
    }
    this.#highestTimeline = server.timeline
    this.#state = { kind: 'open', server }
    return true
  }

  /** The outcome of a transaction that was sent is unknown. */
  close(problem: string, nowMs: number): void {
    this.#problem = problem
    this.#sent = undefined
    this.#state = { kind: 'idle', retryMs: nowMs + reconnectMs }
  }

  send(sent: SentTransaction): void {
    this.#sent = sent
  }

  /** Returns the transaction that was confirmed. */
  confirm(): SentTransaction | undefined {
    const sent = this.#sent
    this.#sent = undefined
    this.#isFresh = false
    this.#problem = undefined
    return sent
  }

  /** Another node uses `server`. Returns whether the own one must not be used any more. */
  compare(server: DatabaseServer): boolean {
    if (this.#systemIdentifier !== undefined && server.systemIdentifier !== this.#systemIdentifier) return false
    this.#highestTimeline = Math.max(this.#highestTimeline, server.timeline)
    return this.#state.kind === 'open' && this.#state.server.timeline < this.#highestTimeline
  }

  #findProblem({ systemIdentifier, timeline }: DatabaseServer): string | undefined {
    if (systemIdentifier !== this.#systemIdentifier) {
      return `the server belongs to another database system (${systemIdentifier}, not ${this.#systemIdentifier}); check cluster.stores`
    }
    return timeline < this.#highestTimeline
      ? `the server has timeline ${timeline}; another server was promoted with timeline ${this.#highestTimeline}: stop the old server`
      : undefined
  }
}
