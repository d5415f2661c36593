// Implements the operations of the API for listeners.

import type { ListenerOperations } from './listeners.ts'
import { mqttUpgradePath } from '../../management/index.ts'
import { isSocketPath } from '../../transports/index.ts'
import type { ConfigManager, ListenerManager } from '../../node/index.ts'

export interface ListenerFacts {
  readonly nodeName: string
  readonly listeners: ListenerManager
  /** Maximum number of connections, by the limit on open files. */
  readonly maxFileConnections: number
  readonly configuration: Pick<ConfigManager, 'config'>
}

export function listenerOperations({
  nodeName,
  listeners,
  maxFileConnections,
  configuration,
}: ListenerFacts): ListenerOperations {
  return {
    nodeName,
    list: () =>
      listeners.states().map(({ listener, shards, connections, refused, isRunning }) => ({
        isRunning,
        kind: listener.kind,
        name: listener.name,
        host: listener.host,
        port: listener.port,
        path: isSocketPath(listener.host) ? mqttUpgradePath : undefined,
        acceptors: shards,
        maxConnections: Math.min(
          listener.maxConnections ?? maxFileConnections,
          configuration.config.limits.maxConnections ?? maxFileConnections,
          maxFileConnections,
        ),
        connections,
        refused,
      })),
    restart: (kind, name) => listeners.restart(kind, name),
    stop: (kind, name) => listeners.stop(kind, name),
    start: (kind, name) => listeners.start(kind, name),
  }
}
