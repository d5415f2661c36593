// Namespaces: operations of the node, and handlers.

import type { namespaceEndpoints } from './endpoints.ts'
import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import { type Handlers, type ApiError, refuseFor, type ShardUnavailable } from '../../management/index.ts'
import type { Requester } from '../control/control.ts'
import type { NotStored } from '../credentials/credentials.ts'

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

type Known = typeof namespaceEndpoints
type Written = ReplyOf<Known['get_namespaces']>['data'][number]

export function namespaceHandlers(namespaces: NamespaceOperations): Handlers<Known> {
  return {
    get_namespaces: () => ({ code: 0, data: namespaces.list().map(namespaceView) }),
    get_namespace: ({ params: { namespace: name }, namespace: own = name }) => {
      const found = name === own ? namespaces.list().find((one) => one.name === name) : undefined
      return found === undefined ? noSuchNamespace(name) : { code: 0, ...namespaceView(found) }
    },
    add_namespace: async ({ body: { namespace: name }, caller }) => {
      const made = await namespaces.create(name, caller)
      if (made === 'exists') return refuseFor('BAD_REQUEST', `the namespace ${name} already exists`)
      return made === 'too-many' ? tooMany() : responseWith(made)
    },
    change_namespace: async ({ params: { namespace: name }, body, caller }) => {
      const changed = await namespaces.changeLimits(name, limitsIn(body), caller)
      if (changed === 'missing') return noSuchNamespace(name)
      return changed === 'too-many' ? tooMany() : responseWith(changed)
    },
    remove_namespace: async ({ params: { namespace: name }, caller }) => {
      const outcome = await namespaces.remove(name, caller)
      if (outcome === 'missing') return noSuchNamespace(name)
      if (outcome === 'in-use') {
        const words =
          'a listener or an account belongs to it, or it has rules, connectors, actions or sources: change those first'
        return refuseFor('CONFLICT', `the namespace ${name} is in use: ${words}`)
      }
      if ('notStored' in outcome) return refuseFor('INTERNAL_ERROR', outcome.notStored)
      if ('unavailableShard' in outcome) {
        const words = `shard ${outcome.unavailableShard} is restarting: the namespace is removed in part; repeat the request`
        return refuseFor('INTERNAL_ERROR', words)
      }
      return { code: 0, sessions: outcome.sessions, retained_messages: outcome.retainedMessages }
    },
  }
}

function responseWith(made: Namespace | { readonly notStored: string }): ReplyOf<Known['add_namespace']> | ApiError {
  return 'notStored' in made ? refuseFor('INTERNAL_ERROR', made.notStored) : { code: 0, ...namespaceView(made) }
}

function noSuchNamespace(name: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no namespace ${JSON.stringify(name)}`)
}

function tooMany(): ApiError {
  return refuseFor('BAD_REQUEST', 'the maximum number of namespaces exists; delete one first')
}

function limitsIn({
  max_clients: clients,
  max_retained_messages: retainedMessages,
  messages_rate: messagesPerSecond,
}: RequestOf<Known['change_namespace']>['body']): Partial<NamespaceLimits> {
  return {
    ...(clients === undefined ? {} : { clients: clients ?? undefined }),
    ...(retainedMessages === undefined ? {} : { retainedMessages: retainedMessages ?? undefined }),
    ...(messagesPerSecond === undefined ? {} : { messagesPerSecond: messagesPerSecond ?? undefined }),
  }
}

function namespaceView({ name, createdAtMs, clients, retainedMessages, limits }: Namespace): Written {
  return {
    namespace: name,
    created_at: createdAtMs === undefined ? null : new Date(createdAtMs).toISOString(),
    clients,
    retained_messages: retainedMessages,
    limits: {
      max_clients: limits.clients ?? null,
      max_retained_messages: limits.retainedMessages ?? null,
      messages_rate: limits.messagesPerSecond ?? null,
    },
  }
}
