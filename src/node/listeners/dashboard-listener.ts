// The listener of the MQTT clients of the dashboard: a Unix socket of shard 0 to which the API passes WebSocket upgrades.
//
//   browser --/dashboard/mqtt--> API (main thread) --PROXY header, upgrade--> <data dir>/dashboard.sock (shard 0)

import { createServer } from 'node:net'
import type { GodwitConfig } from '../../config/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { dashboardSocketName, prepareSocketPath, type SocketPath } from '../data-dir/socket-path.ts'
import { listApiHosts, isLoopbackAddress, type ListenerAddress } from './listener-addresses.ts'

/** The dashboard listener of a node. */
export class DashboardListener {
  readonly #place: SocketPath | undefined
  /** Settings at the start: they determine the address of ports without a host. */
  readonly #node: GodwitConfig['node']

  constructor(socketPath: SocketPath | undefined, node: GodwitConfig['node']) {
    this.#place = socketPath
    this.#node = node
  }

  /** Path of the socket; undefined: the file system supports no sockets, so the page has no WebSocket client. */
  get path(): string | undefined {
    return this.#place?.path
  }

  /** Returns `config` with this listener, if the page is served. */
  addTo(config: GodwitConfig): GodwitConfig {
    return { ...config, listeners: [...config.listeners, ...this.listAddresses(config)] }
  }

  /** Returns the address of the listener, or nothing if the page is not served. */
  listAddresses(config: GodwitConfig): readonly ListenerAddress[] {
    const { http } = config
    const { path } = this
    if (path === undefined || !http.isEnabled || http.dashboard === undefined) return []
    const { listener, allowedOrigins } = http.dashboard
    const hosts = listApiHosts({ node: this.#node, http })
    // If other origins are allowed, clients of other machines connect through a reverse proxy on this machine.
    const isLoopback = allowedOrigins.length === 0 && hosts.every(isLoopbackHost)
    return [{ ...listener, host: path, isLoopback, isOnlyReachedLocally: isLoopback }]
  }

  async remove(): Promise<void> {
    await this.#place?.remove()
  }
}

interface DashboardListenerDependencies {
  readonly node: GodwitConfig['node']
  readonly log: Log
}

/** Prepares the socket. If that fails, the dashboard has no WebSocket client. */
export async function openDashboardListener(
  dataDirectory: string,
  { node, log }: DashboardListenerDependencies,
): Promise<DashboardListener> {
  try {
    const place = await prepareSocketPath(dataDirectory, dashboardSocketName)
    await tryToListen(place.path)
    return new DashboardListener(place, node)
  } catch (error) {
    log.error('dashboard socket not available', { why: (error as Error).message })
    return new DashboardListener(undefined, node)
  }
}

/** Opens the socket once, because the broker would not start if a shard could not open it. */
function tryToListen(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(path, () => server.close(() => resolve()))
  })
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host)
}
