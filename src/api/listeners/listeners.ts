// Listeners.

import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import { type Handlers, type ApiError, mqttUpgradePath, refuse, refuseFor } from '../../management/index.ts'
import type { ListenerManager } from '../../node/index.ts'
import { isSocketPath } from '../../transports/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { listenerEndpoints } from './endpoints.ts'

type Known = typeof listenerEndpoints
type Row = ReplyOf<Known['list_node_listeners']>['data'][number]
type ListenerState = ReturnType<ListenerManager['listStates']>[number]
type Dependencies = Pick<ApiContext, 'nodeName' | 'listeners' | 'maxFileConnections' | 'configuration'>

export function createListenerHandlers(node: Dependencies): Handlers<Known> {
  const { nodeName, listeners } = node
  const list = (): Row[] => listeners.listStates().map((state) => toRow(state, computeMaxConnections(state, node)))
  return {
    list_listeners: () => ({ code: 0, data: [{ node: nodeName, listeners: list() }] }),
    list_node_listeners: ({ params }) =>
      params.node === nodeName ? { code: 0, data: list() } : refuseUnknownNode(params.node),
    restart_listener: ({ params }) => restart(listeners, params.identifier),
    restart_node_listener: ({ params }) =>
      params.node === nodeName ? restart(listeners, params.identifier) : refuseUnknownNode(params.node),
    control_listener: ({ params }) => controlListener(listeners, params),
  }
}

/** A stopped listener is closed until it is started or restarted. */
async function controlListener(
  listeners: ListenerManager,
  { identifier, action }: RequestOf<Known['control_listener']>['params'],
): Promise<{ code: 0 } | ApiError> {
  const { kind, name } = parseIdentifier(identifier)
  const outcome = await listeners[action](kind, name)
  if (outcome === true) return { code: 0 }
  if (outcome === false) return refuseFor('NOT_FOUND', `no listener ${JSON.stringify(identifier)}`)
  return refuseFor('CONFLICT', outcome.problem)
}

function parseIdentifier(identifier: string): { readonly kind: string; readonly name: string } {
  const [, kind = '', name = ''] = /^mqtt:([^:]+):([^:]+)$/.exec(identifier) ?? []
  return { kind, name }
}

async function restart(listeners: ListenerManager, identifier: string): Promise<{ code: 0 } | ApiError> {
  const { kind, name } = parseIdentifier(identifier)
  const outcome = await listeners.restart(kind, name)
  if (outcome === true) return { code: 0 }
  if (outcome !== false) return refuse('unknownError', outcome.problem)
  const known = listeners
    .listStates()
    .map(({ listener }) => formatIdentifier(listener))
    .join(', ')
  return refuse('invalidParameter', `there is no listener ${JSON.stringify(identifier)}; there are: ${known}`, 404)
}

function refuseUnknownNode(node: string): ApiError {
  return refuse('invalidParameter', `there is no node ${JSON.stringify(node)}`, 404)
}

function computeMaxConnections(
  { listener }: ListenerState,
  { maxFileConnections, configuration }: Pick<Dependencies, 'maxFileConnections' | 'configuration'>,
): number {
  return Math.min(
    listener.maxConnections ?? maxFileConnections,
    configuration.config.limits.maxConnections ?? maxFileConnections,
    maxFileConnections,
  )
}

function toRow({ listener, shards, connections, refused, isRunning }: ListenerState, maxConnections: number): Row {
  const { kind, host, port } = listener
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    protocol: `mqtt:${kind}`,
    // The listener of the dashboard has no address of its own: it is below the API.
    listen_on: isSocketPath(host) ? mqttUpgradePath : address,
    identifier: formatIdentifier(listener),
    acceptors: shards,
    max_conns: maxConnections,
    current_conns: connections,
    running: isRunning,
    shutdown_count: refused === 0 ? {} : { refused },
  }
}

function formatIdentifier({ kind, name }: ListenerState['listener']): string {
  return `mqtt:${kind}:${name}`
}
