// Where the API is served over HTTP, through changes of that. What does not change the place holds for the next request and
// no connection notices. A new place is opened before the old one is let go of; where the two keep each other out, the
// old one goes first, and comes back if the new one cannot be had.

import {
  closeGraceMs,
  type ManagementServer,
  type ManagementSettings,
  requestTimeoutMs,
} from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { Problem } from '../configuration/config-consumers.ts'

/** Where it is to be served. */
export interface HttpPlace {
  /** To try in order. */
  readonly hosts: readonly string[]
  /** 0: any that is free. */
  readonly port: number
  /** The operator has named it. By default it only would be nice to have. */
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
  /** Nobody new comes to them, and some of those who had come are not answered yet. */
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

  /** From now on it is served there with these settings; or as before, and this is why. `place` undefined: nowhere. */
  async change(place: HttpPlace | undefined, settings: ManagementSettings): Promise<Problem | undefined> {
    const before = this.#open
    if (place === undefined) {
      this.#closeGracefully()
      return undefined
    }
    if (before !== undefined && servesAt(before, place)) {
      before.server.change(settings)
      this.#open = { ...before, place, settings }
      return undefined
    }
    let opened = await this.#tryOpen(place, settings)
    if ('problem' in opened && before !== undefined && before.address.port === place.port) {
      this.#closeGracefully()
      opened = await this.#tryOpen(place, settings)
      if ('problem' in opened) await this.#reopen(before)
    }
    if ('problem' in opened) return this.#judge(opened, place)
    this.#closeGracefully()
    this.#open = opened
    return undefined
  }

  async close(): Promise<void> {
    this.#closeGracefully()
    await Promise.all([...this.#closing].map((server) => server.close(closeGraceMs)))
  }

  #judge(failed: Problem, place: HttpPlace): Problem | undefined {
    if (place.isNamed || this.#open !== undefined) return failed
    this.#log.error('HTTP API not available', { why: failed.problem })
    return undefined
  }

  async #reopen({ address, place, settings }: OpenPlace): Promise<void> {
    const again = await this.#tryOpen({ ...place, hosts: [address.host], port: address.port }, settings)
    if (!('problem' in again)) this.#open = { ...again, place }
    else this.#log.error('HTTP API not available', { why: again.problem })
  }

  /** Requests under way are answered, among them the one that has asked for this. */
  #closeGracefully(): void {
    const server = this.#open?.server
    this.#open = undefined
    if (server === undefined) return
    this.#closing.add(server)
    void server.close(requestTimeoutMs).then(() => this.#closing.delete(server))
  }

  async #tryOpen(place: HttpPlace, settings: ManagementSettings): Promise<OpenPlace | Problem> {
    const server = this.#createServer(settings)
    let problem = ''
    for (const host of place.hosts) {
      const listening = await server.listen({ host, port: place.port })
      if (!('problem' in listening)) return { server, address: { host, port: listening.port }, place, settings }
      problem = listening.problem
    }
    await server.close(0)
    return { problem }
  }
}

/** Whoever wants any port has one already. */
function servesAt({ address, place: before }: OpenPlace, { hosts, port }: HttpPlace): boolean {
  const isSameHost = hosts[0] === address.host || String(hosts) === String(before.hosts)
  return isSameHost && (port === 0 || port === address.port)
}
