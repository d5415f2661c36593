import type { Requester } from './control.ts'
import type { NotStored } from './credentials.ts'
import type { ShardUnavailable } from './lists.ts'

/** What a namespace may have; undefined: what `namespaces` of the configuration says for all. */
export interface NamespaceLimits {
  readonly clients: number | 'infinity' | undefined
  readonly retainedMessages: number | 'infinity' | undefined
  readonly messagesPerSecond: number | 'infinity' | undefined
}

export interface Namespace {
  readonly name: string
  /** undefined: a listener or an account names it, and nobody made it. */
  readonly createdAtMs: number | undefined
  readonly limits: NamespaceLimits
  /** Connected now. */
  readonly clients: number
  readonly retainedMessages: number
}

/** What went with a namespace. */
export interface RemovedNamespace {
  readonly sessions: number
  readonly retainedMessages: number
}

/** What the management asks about namespaces themselves. */
export interface NamespaceOperations {
  /** By name. */
  list(): readonly Namespace[]
  create(name: string, by: Requester): Promise<Namespace | 'exists' | 'too-many' | NotStored>
  /** What is left out of `limits` stays. */
  changeLimits(
    name: string,
    limits: Partial<NamespaceLimits>,
    by: Requester,
  ): Promise<Namespace | 'missing' | 'too-many' | NotStored>
  /**
   * With its credentials, rules, bans, clients, sessions and retained messages. `in-use`: accounts are kept to it, or a
   * listener names it. Where a shard does not answer some of it may be left.
   */
  remove(name: string, by: Requester): Promise<RemovedNamespace | 'missing' | 'in-use' | NotStored | ShardUnavailable>
}
