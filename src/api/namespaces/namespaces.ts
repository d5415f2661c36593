// Namespaces.

import type { namespaceEndpoints } from './endpoints.ts'
import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuseFor } from '../../management/index.ts'
import {
  changeLimits,
  createNamespace,
  listNamespaces,
  type Namespace,
  type NamespaceDependencies,
  type NamespaceLimits,
  removeNamespace,
} from './namespace-records.ts'

type Known = typeof namespaceEndpoints
type Written = ReplyOf<Known['get_namespaces']>['data'][number]

export function namespaceHandlers(node: NamespaceDependencies): Handlers<Known> {
  return {
    get_namespaces: () => ({ code: 0, data: listNamespaces(node).map(namespaceView) }),
    get_namespace: ({ params: { namespace: name }, namespace: own = name }) => {
      const found = name === own ? listNamespaces(node).find((one) => one.name === name) : undefined
      return found === undefined ? noSuchNamespace(name) : { code: 0, ...namespaceView(found) }
    },
    add_namespace: async ({ body: { namespace: name }, caller }) => {
      const made = await createNamespace(node, name, caller)
      if (made === 'exists') return refuseFor('BAD_REQUEST', `the namespace ${name} already exists`)
      return made === 'too-many' ? tooMany() : responseWith(made)
    },
    change_namespace: async ({ params: { namespace: name }, body, caller }) => {
      const changed = await changeLimits(node, name, limitsIn(body), caller)
      if (changed === 'missing') return noSuchNamespace(name)
      return changed === 'too-many' ? tooMany() : responseWith(changed)
    },
    remove_namespace: async ({ params: { namespace: name }, caller }) => {
      const outcome = await removeNamespace(node, name, caller)
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
