// Serves the API over HTTP, also while its settings change. A change with the same address applies to the next request,
// and connections stay open. A new address is opened before the old one is closed. If both conflict, the old one is
// closed first, and reopened if the new one fails.

import { closeGraceMs, type ManagementServer, type ManagementSettings, requestTimeoutMs } from '../management/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { Problem } from '../node/index.ts'

/** Address of the API. */
export interface HttpPlace {
  /** The setting of the port. */
  readonly key: string
  /** Tried in order. */
  readonly hosts: readonly string[]
  /** 0: any free port. */
  readonly port: number
  /** True if the address is configured. If it is not, a failure at the start is only logged. */
  readonly isNamed: boolean
}

export interface HttpAddress {
  readonly host: string
  readonly port: number
}

interface OpenPlace {
  readonly server: ManagementServer
  readonly address: HttpAddress
  readonly place: HttpPlace
  readonly settings: ManagementSettings
}

export class HttpEndpoint {
  readonly #createServer: (settings: ManagementSettings) => ManagementServer
  readonly #log: Log
  #open: OpenPlace | undefined
  /** Servers that accept no new connections and still have requests in progress. */
  readonly #closing: Set<ManagementServer>

  constructor(createServer: (settings: ManagementSettings) => ManagementServer, log: Log) {
    this.#createServer = createServer
    this.#log = log
    this.#open = undefined
    this.#closing = new Set()
  }

  /** undefined: it is not served. */
  get address(): HttpAddress | undefined {
    return this.#open?.address
  }

  /**
   * Serves with the new address and settings. On failure returns why, and continues as before. `place` undefined: not
   * served.
   */
  async change(bindAddress: HttpPlace | undefined, settings: ManagementSettings): Promise<Problem | undefined> {
    const before = this.#open
    if (bindAddress === undefined) {
      this.#closeGracefully()
      return undefined
    }
    if (before !== undefined && isServedAt(before, bindAddress)) {
      before.server.change(settings)
      this.#open = { ...before, place: bindAddress, settings }
      return undefined
    }
    let opened = await this.#tryOpen(bindAddress, settings)
    if ('problem' in opened && before !== undefined && before.address.port === bindAddress.port) {
      this.#closeGracefully()
      opened = await this.#tryOpen(bindAddress, settings)
      if ('problem' in opened) await this.#reopen(before)
    }
    if ('problem' in opened) return this.#judge(opened, bindAddress)
    this.#closeGracefully()
    this.#open = opened
    return undefined
  }

  async close(): Promise<void> {
    this.#closeGracefully()
    await Promise.all([...this.#closing].map((server) => server.close(closeGraceMs)))
  }

  #judge(failed: Problem, bindAddress: HttpPlace): Problem | undefined {
    if (bindAddress.isNamed || this.#open !== undefined) return failed
    this.#log.error('HTTP API not available', { why: failed.problem })
    return undefined
  }

  async #reopen({ address, place, settings }: OpenPlace): Promise<void> {
    const again = await this.#tryOpen({ ...place, hosts: [address.host], port: address.port }, settings)
    if (!('problem' in again)) this.#open = { ...again, place }
    else this.#log.error('HTTP API not available', { why: again.problem })
  }

  /** Requests in progress get their response, including the one that caused the change. */
  #closeGracefully(): void {
    const server = this.#open?.server
    this.#open = undefined
    if (server === undefined) return
    this.#closing.add(server)
    void server.close(requestTimeoutMs).then(() => this.#closing.delete(server))
  }

  async #tryOpen(bindAddress: HttpPlace, settings: ManagementSettings): Promise<OpenPlace | Problem> {
    const server = this.#createServer(settings)
    let problem = ''
    for (const host of bindAddress.hosts) {
      const listening = await server.listen({ host, port: bindAddress.port })
      if (!('problem' in listening))
        return { server, address: { host, port: listening.port }, place: bindAddress, settings }
      problem = `${bindAddress.key}: ${listening.problem}`
    }
    await server.close(0)
    return { problem }
  }
}

/** For any port, the current one is sufficient. */
function isServedAt({ address, place: before }: OpenPlace, { hosts, port }: HttpPlace): boolean {
  const isSameHost = hosts[0] === address.host || String(hosts) === String(before.hosts)
  return isSameHost && (port === 0 || port === address.port)
}
