import type { Requester } from './control.ts'
import type { NotStored } from './credentials.ts'
import type { ShardUnavailable } from '../lists/list-slice.ts'

/** Limits of a namespace; undefined: those of `namespaces` in the configuration. */
export interface NamespaceLimits {
  readonly clients: number | 'infinity' | undefined
  readonly retainedMessages: number | 'infinity' | undefined
  readonly messagesPerSecond: number | 'infinity' | undefined
}

export interface Namespace {
  readonly name: string
  /** undefined: a listener or an account names it, and it was not created by the API. */
  readonly createdAtMs: number | undefined
  readonly limits: NamespaceLimits
  /** Connected clients. */
  readonly clients: number
  readonly retainedMessages: number
}

/** Counts of what was deleted with a namespace. */
export interface RemovedNamespace {
  readonly sessions: number
  readonly retainedMessages: number
}

/** Namespaces, for the API. */
export interface NamespaceOperations {
  /** By name. */
  list(): readonly Namespace[]
  create(name: string, by: Requester): Promise<Namespace | 'exists' | 'too-many' | NotStored>
  /** Absent `limits` are unchanged. */
  changeLimits(
    name: string,
    limits: Partial<NamespaceLimits>,
    by: Requester,
  ): Promise<Namespace | 'missing' | 'too-many' | NotStored>
  /**
   * With its credentials, rules, bans, clients, sessions and retained messages. `in-use`: an account or a listener uses
   * it. If a shard does not respond, something may remain.
   */
  remove(name: string, by: Requester): Promise<RemovedNamespace | 'missing' | 'in-use' | NotStored | ShardUnavailable>
}
