// Listeners: operations of the node, and handlers.

import type { listenerEndpoints } from './endpoints.ts'
import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import { type Handlers, type ApiError, refuse, refuseFor } from '../../management/index.ts'

export interface ListenerDescription {
  readonly kind: 'tcp' | 'ssl' | 'ws' | 'wss' | 'quic'
  readonly name: string
  readonly host: string
  readonly port: number
  /** Below the API, where it has no address of its own. */
  readonly path: string | undefined
  /** Threads that accept connections. */
  readonly acceptors: number
  readonly maxConnections: number
  readonly connections: number
  /** True if the listener accepts connections, because it was not stopped. */
  readonly isRunning: boolean
  /** Connections refused since it was opened. */
  readonly refused: number
}

/** Listeners of the node, for the API. */
export interface ListenerOperations {
  readonly nodeName: string
  list(): readonly ListenerDescription[]
  /** False: there is none of that kind and name. A problem: it could not be opened again. */
  restart(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  /** Closed until it is started or restarted. */
  stop(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  start(kind: string, name: string): Promise<boolean | { readonly problem: string }>
}

type ListenerRecord = ReplyOf<(typeof listenerEndpoints)['list_node_listeners']>['data'][number]

export function listenerHandlers(listeners: ListenerOperations): Handlers<typeof listenerEndpoints> {
  const { nodeName } = listeners
  return {
    list_listeners: () => ({ code: 0, data: [{ node: nodeName, listeners: listeners.list().map(recordOf) }] }),
    list_node_listeners: ({ params }) =>
      params.node === nodeName ? { code: 0, data: listeners.list().map(recordOf) } : noSuchNode(params.node),
    restart_listener: ({ params }) => restart(listeners, params.identifier),
    restart_node_listener: ({ params }) =>
      params.node === nodeName ? restart(listeners, params.identifier) : noSuchNode(params.node),
    control_listener: ({ params }) => control(listeners, params),
  }
}

type Controlled = RequestOf<(typeof listenerEndpoints)['control_listener']>['params']

async function control(
  listeners: ListenerOperations,
  { identifier, action }: Controlled,
): Promise<{ code: 0 } | ApiError> {
  const { kind, name } = partsOf(identifier)
  const outcome = await listeners[action](kind, name)
  if (outcome === true) return { code: 0 }
  if (outcome === false) return refuseFor('NOT_FOUND', `no listener ${JSON.stringify(identifier)}`)
  return refuseFor('CONFLICT', outcome.problem)
}

function partsOf(identifier: string): { readonly kind: string; readonly name: string } {
  const [, kind = '', name = ''] = /^mqtt:([^:]+):([^:]+)$/.exec(identifier) ?? []
  return { kind, name }
}

async function restart(listeners: ListenerOperations, identifier: string): Promise<{ code: 0 } | ApiError> {
  const { kind, name } = partsOf(identifier)
  const outcome = await listeners.restart(kind, name)
  if (outcome === true) return { code: 0 }
  if (outcome !== false) return refuse('unknownError', outcome.problem)
  const known = listeners.list().map(identifierOf).join(', ')
  return refuse('invalidParameter', `there is no listener ${JSON.stringify(identifier)}; there are: ${known}`, 404)
}

function noSuchNode(node: string): ApiError {
  return refuse('invalidParameter', `there is no node ${JSON.stringify(node)}`, 404)
}

function recordOf(listener: ListenerDescription): ListenerRecord {
  const { kind, host, port, path, refused } = listener
  return {
    protocol: `mqtt:${kind}`,
    listen_on: path ?? `${host.includes(':') ? `[${host}]` : host}:${port}`,
    identifier: identifierOf(listener),
    acceptors: listener.acceptors,
    max_conns: listener.maxConnections,
    current_conns: listener.connections,
    running: listener.isRunning,
    shutdown_count: refused === 0 ? {} : { refused },
  }
}

function identifierOf({ kind, name }: ListenerDescription): string {
  return `mqtt:${kind}:${name}`
}
