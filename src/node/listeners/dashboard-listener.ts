// The listener of the MQTT clients of the dashboard: a Unix socket that shard 0 has and the API passes its upgrades on to.
//
//   browser --/dashboard/mqtt--> API (main thread) --PROXY header, upgrade--> <data dir>/dashboard.sock (shard 0)

import { createServer } from 'node:net'
import type { GodwitConfig } from '../../config/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { dashboardSocketName, prepareSocketPlace, type SocketPlace } from '../data-dir/socket-place.ts'
import { hostsOfPort, isLoopbackAddress, type ListenerAddress } from './listener-addresses.ts'

/** One of a node. */
export class DashboardListener {
  readonly #place: SocketPlace | undefined
  /** As at the start: it says where ports without an address are bound. */
  readonly #node: GodwitConfig['node']

  constructor(place: SocketPlace | undefined, node: GodwitConfig['node']) {
    this.#place = place
    this.#node = node
  }

  /** Of its socket; undefined: the file system has no sockets, and the page no WebSocket client. */
  get path(): string | undefined {
    return this.#place?.path
  }

  /** `config` with this listener, where the page is served. */
  addTo(config: GodwitConfig): GodwitConfig {
    return { ...config, listeners: [...config.listeners, ...this.addressesFor(config)] }
  }

  /** None or one. */
  addressesFor(config: GodwitConfig): readonly ListenerAddress[] {
    const { http } = config
    const { path } = this
    if (path === undefined || !http.isEnabled || http.dashboard === undefined) return []
    const { listener, allowedOrigins } = http.dashboard
    const hosts = http.host === undefined ? hostsOfPort({ node: this.#node }) : [http.host]
    // Through a reverse proxy of this machine come clients from everywhere.
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
    const place = await prepareSocketPlace(dataDirectory, dashboardSocketName)
    await tryToListen(place.path)
    return new DashboardListener(place, node)
  } catch (error) {
    log.error('dashboard socket not available', { why: (error as Error).message })
    return new DashboardListener(undefined, node)
  }
}

/** What a shard could not open would keep the broker from starting. */
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
