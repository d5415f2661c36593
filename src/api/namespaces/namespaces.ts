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

export function createNamespaceHandlers(node: NamespaceDependencies): Handlers<Known> {
  return {
    get_namespaces: () => ({ code: 0, data: listNamespaces(node).map(toNamespaceView) }),
    get_namespace: ({ params: { namespace: name }, namespace: own = name }) => {
      const found = name === own ? listNamespaces(node).find((one) => one.name === name) : undefined
      return found === undefined ? refuseUnknownNamespace(name) : { code: 0, ...toNamespaceView(found) }
    },
    add_namespace: async ({ body: { namespace: name }, caller }) => {
      const made = await createNamespace(node, name, caller)
      if (made === 'exists') return refuseFor('BAD_REQUEST', `the namespace ${name} already exists`)
      return made === 'too-many' ? refuseTooMany() : toResponse(made)
    },
    change_namespace: async ({ params: { namespace: name }, body, caller }) => {
      const changed = await changeLimits(node, name, parseLimits(body), caller)
      if (changed === 'missing') return refuseUnknownNamespace(name)
      return changed === 'too-many' ? refuseTooMany() : toResponse(changed)
    },
    remove_namespace: async ({ params: { namespace: name }, caller }) => {
      const outcome = await removeNamespace(node, name, caller)
      if (outcome === 'missing') return refuseUnknownNamespace(name)
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

function toResponse(made: Namespace | { readonly notStored: string }): ReplyOf<Known['add_namespace']> | ApiError {
  return 'notStored' in made ? refuseFor('INTERNAL_ERROR', made.notStored) : { code: 0, ...toNamespaceView(made) }
}

function refuseUnknownNamespace(name: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no namespace ${JSON.stringify(name)}`)
}

function refuseTooMany(): ApiError {
  return refuseFor('BAD_REQUEST', 'the maximum number of namespaces exists; delete one first')
}

function parseLimits({
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

function toNamespaceView({ name, createdAtMs, clients, retainedMessages, limits }: Namespace): Written {
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
