// Drains the node: no new clients, and connected clients are disconnected in portions, so that other brokers are not overrun.

import type { Log } from '../../telemetry/index.ts'
import { queryShard, type QueryableShards } from './query-shard.ts'

export interface DrainReport {
  readonly isDraining: boolean
  /** Clients that are still connected. */
  readonly connected: number
  /** Sessions on this node, of connected clients and of others. */
  readonly sessions: number
  /** Wall clock; undefined: the node is not drained. */
  readonly startedAtMs: number | undefined
}

export interface DrainOptions {
  readonly supervisor: QueryableShards
  readonly log: Log
  /** Wall clock. */
  readonly nowMs?: () => number
}

/** Time between two portions. Also the time in which a shard that has restarted accepts clients again. */
const portionMs = 1_000

export class NodeDrain {
  readonly #options: DrainOptions
  #startedAtMs: number | undefined
  #clientsPerSecond = 0
  #timer: NodeJS.Timeout | undefined
  #portion: Promise<unknown> = Promise.resolve()
  #connected = 0

  constructor(options: DrainOptions) {
    this.#options = options
  }

  /** Begins to drain, or changes the rate. Resolves after the first portion. */
  async start(clientsPerSecond: number): Promise<DrainReport> {
    this.#clientsPerSecond = clientsPerSecond
    if (this.#startedAtMs === undefined) {
      this.#startedAtMs = (this.#options.nowMs ?? Date.now)()
      this.#options.log.warn('drain started', { clientsPerSecond })
      this.#connected = Number.POSITIVE_INFINITY
    }
    await this.#disconnectPortion()
    return this.report()
  }

  /** Accepts clients again. */
  async cancel(): Promise<DrainReport> {
    if (this.#startedAtMs !== undefined) this.#options.log.warn('drain cancelled', { connected: this.#connected })
    this.stop()
    await this.#portion
    await this.#queryShards(false, 0)
    return this.report()
  }

  async report(): Promise<DrainReport> {
    const sessions = await Promise.all(
      listShards(this.#options.supervisor).map((shard) =>
        queryShard(this.#options.supervisor, shard, { kind: 'session-count' }),
      ),
    )
    const isDraining = this.#startedAtMs !== undefined
    return {
      isDraining,
      connected: await this.#countConnected(),
      sessions: sessions.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0),
      startedAtMs: this.#startedAtMs,
    }
  }

  /** Begins no further portion. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#startedAtMs = undefined
  }

  async #countConnected(): Promise<number> {
    const isDraining = this.#startedAtMs !== undefined
    return (await this.#queryShards(isDraining, 0)).connected
  }

  #disconnectPortion(): Promise<void> {
    const portion = this.#portion.then(async () => {
      clearTimeout(this.#timer)
      const { size } = this.#options.supervisor
      const { connected } = await this.#queryShards(true, Math.ceil(this.#clientsPerSecond / size))
      if (connected === 0 && this.#connected > 0) this.#options.log.info('drain finished')
      this.#connected = connected
      if (this.#startedAtMs !== undefined) this.#timer = setTimeout(() => void this.#disconnectPortion(), portionMs)
    })
    this.#portion = portion
    return portion
  }

  async #queryShards(isDraining: boolean, maxClients: number): Promise<{ readonly connected: number }> {
    const { supervisor } = this.#options
    const query = { kind: 'drain', isDraining, maxClients } as const
    const results = await Promise.all(listShards(supervisor).map((shard) => queryShard(supervisor, shard, query)))
    // A shard that restarts has no clients; the next portion reaches it.
    const counts = results.map((result) => ('connected' in result ? result.connected : 0))
    return { connected: counts.reduce((sum, count) => sum + count, 0) }
  }
}

function listShards({ size }: QueryableShards): number[] {
  return Array.from({ length: size }, (_, shard) => shard)
}
