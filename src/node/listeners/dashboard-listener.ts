// The listener of the MQTT clients of the dashboard: a Unix socket of shard 0 to which the API passes WebSocket upgrades.
//
//   browser --/dashboard/mqtt--> API (main thread) --PROXY header, upgrade--> <data dir>/dashboard.sock (shard 0)

import { createServer } from 'node:net'
import type { GodwitConfig } from '../../config/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { dashboardSocketName, prepareSocketPath, type SocketPath } from '../data-dir/socket-path.ts'
import { hostsOfApi, isLoopbackAddress, type ListenerAddress } from './listener-addresses.ts'

/** One per node. */
export class DashboardListener {
  readonly #place: SocketPath | undefined
  /** As at the start: it determines the address of ports without a host. */
  readonly #node: GodwitConfig['node']

  constructor(place: SocketPath | undefined, node: GodwitConfig['node']) {
    this.#place = place
    this.#node = node
  }

  /** Path of its socket; undefined: the file system has no sockets, and the page has no WebSocket client. */
  get path(): string | undefined {
    return this.#place?.path
  }

  /** Returns `config` with this listener, if the page is served. */
  addTo(config: GodwitConfig): GodwitConfig {
    return { ...config, listeners: [...config.listeners, ...this.addressesFor(config)] }
  }

  /** None or one. */
  addressesFor(config: GodwitConfig): readonly ListenerAddress[] {
    const { http } = config
    const { path } = this
    if (path === undefined || !http.isEnabled || http.dashboard === undefined) return []
    const { listener, allowedOrigins } = http.dashboard
    const hosts = hostsOfApi({ node: this.#node, http })
    // Through a reverse proxy of this machine, clients of other machines connect.
    const isLoopback = allowedOrigins.length === 0 && hosts.every(isLoopbackHost)
    return [{ ...listener, host: path, isLoopback, isOnlyReachedLocally: isLoopback }]
  }

  async remove(): Promise<void> {
    await this.#place?.remove()
  }
}

interface Surroundings {
  readonly node: GodwitConfig['node']
  readonly log: Log
}

/** Prepares the socket. */
export async function openDashboardListener(
  dataDirectory: string,
  { node, log }: Surroundings,
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

/** If a shard could not open it, the broker would not start. */
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
