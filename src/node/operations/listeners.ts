import type { ListenerOperations } from '../../management/index.ts'
import type { LiveListeners } from '../live-listeners.ts'

export interface ListenerFacts {
  readonly nodeName: string
  readonly listeners: LiveListeners
  /** Of all listeners together: by limits.max_connections and by the open-file limit. */
  readonly maxConnections: number
}

export function listenerOperations({ nodeName, listeners, maxConnections }: ListenerFacts): ListenerOperations {
  return {
    nodeName,
    list: () =>
      listeners.states().map(({ listener, shards, connections, refused }) => ({
        kind: listener.kind,
        name: listener.name,
        host: listener.host,
        port: listener.port,
        acceptors: shards,
        maxConnections: Math.min(listener.maxConnections ?? maxConnections, maxConnections),
        connections,
        refused,
      })),
    restart: (kind, name) => listeners.restart(kind, name),
  }
}
