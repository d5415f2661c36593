// Exchanges the filters of clients between shards, for transparent bridges. Each bridge is on one shard, and clients are on all.
//
//   core ──take──> own filters ──send, through the node──> the other shards
//                       └──> union over all shards ──> the bridges of this shard
//
// A restarted shard sends all its filters again. Until then its earlier ones remain valid.

import type { ClientFilters } from '../../bridges/index.ts'
import type { BrokerCore, FilterChange, PeerNumber } from '../../core/index.ts'
import type { QoS, TopicFilter } from '../../protocol/index.ts'
import type { FilterNotice } from '../messages/messages.ts'

/** Interval of checks for changes. Filters that are added and removed within it are not sent. */
const checkIntervalMs = 100

export interface FilterSyncDependencies {
  readonly core: Pick<BrokerCore, 'clientFilters'>
  readonly own: PeerNumber
  readonly shards: number
  /** Starts or stops counting the filters of clients. */
  setCounting(areWanted: boolean): void
  /** Sends to all other shards. */
  sendToPeers(notice: FilterNotice): void
  /** Passes filters to the transparent bridges of this shard. */
  updateBridges(filters: ClientFilters): void
  runGuarded(work: () => void): void
}

interface ReportedFilters {
  readonly filters: Map<TopicFilter, QoS>
  unreported: number
}

export class FilterSync {
  readonly #dependencies: FilterSyncDependencies
  readonly #reported = new Map<PeerNumber, ReportedFilters>()
  #timer: NodeJS.Timeout | undefined
  #hasBridges = false
  /** True if all filters that existed at the start were sent. */
  #isReported = false

  constructor(dependencies: FilterSyncDependencies) {
    this.#dependencies = dependencies
  }

  /** `isWanted`: a bridge on any shard is transparent. `hasBridges`: a bridge of this shard is transparent. */
  set(isWanted: boolean, hasBridges: boolean): void {
    const isNew = hasBridges && !this.#hasBridges
    this.#hasBridges = hasBridges
    if (!hasBridges) this.#reported.clear()
    if (isWanted !== (this.#timer !== undefined)) this.#setChecking(isWanted)
    if (!isNew) return
    this.#dependencies.sendToPeers({ what: 'request' })
    if (this.#isReported) this.#applyReport(this.#dependencies.own, this.#createFullReport())
  }

  /** Returns all known filters, for a new bridge. */
  get clientSubscriptions(): ClientFilters {
    const filters = new Set([...this.#reported.values()].flatMap((reported) => [...reported.filters.keys()]))
    return this.#createClientFilters([...filters].map((filter) => [filter, this.#findHighestQoS(filter)]))
  }

  receive(from: PeerNumber, notice: FilterNotice): void {
    if (notice.what === 'report') this.#applyReport(from, notice)
    else if (this.#isReported) this.#dependencies.sendToPeers(this.#createFullReport())
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #setChecking(isOn: boolean): void {
    this.stop()
    this.#isReported = false
    this.#dependencies.setCounting(isOn)
    if (isOn)
      this.#timer = setInterval(
        () => this.#dependencies.runGuarded(() => this.#checkForChanges()),
        checkIntervalMs,
      ).unref()
  }

  #checkForChanges(): void {
    const { clientFilters: filters } = this.#dependencies.core
    if (filters?.isComplete !== true) return
    const changes = filters.take()
    if (this.#isReported && changes.length === 0) return
    const notice: FilterNotice = { what: 'report', isAll: !this.#isReported, changes, unreported: filters.unreported }
    this.#isReported = true
    this.#dependencies.sendToPeers(notice)
    this.#applyReport(this.#dependencies.own, notice)
  }

  #createFullReport(): Extract<FilterNotice, { what: 'report' }> {
    const { clientFilters: filters } = this.#dependencies.core
    return { what: 'report', isAll: true, changes: filters?.all ?? [], unreported: filters?.unreported ?? 0 }
  }

  #applyReport(from: PeerNumber, { isAll, changes, unreported }: Extract<FilterNotice, { what: 'report' }>): void {
    if (!this.#hasBridges) return
    const before = this.#reported.get(from)
    const reported: ReportedFilters = isAll || before === undefined ? { filters: new Map(), unreported } : before
    // Changes that arrive before the complete list are ignored, because the list includes them.
    if (before === undefined && !isAll) return
    this.#reported.set(from, reported)
    reported.unreported = unreported
    for (const [filter, qos] of changes) {
      if (qos === undefined) reported.filters.delete(filter)
      else reported.filters.set(filter, qos)
    }
    const touched = new Set(changes.map(([filter]) => filter))
    if (isAll) for (const filter of before?.filters.keys() ?? []) touched.add(filter)
    this.#dependencies.updateBridges(
      this.#createClientFilters([...touched].map((filter) => [filter, this.#findHighestQoS(filter)])),
    )
  }

  #createClientFilters(changes: readonly FilterChange[]): ClientFilters {
    const unreported = [...this.#reported.values()].reduce((sum, reported) => sum + reported.unreported, 0)
    return { changes, isComplete: this.#reported.size === this.#dependencies.shards, unreported }
  }

  #findHighestQoS(filter: TopicFilter): QoS | undefined {
    let highest: QoS | undefined
    for (const { filters } of this.#reported.values()) {
      const qos = filters.get(filter)
      if (qos !== undefined && (highest === undefined || qos > highest)) highest = qos
    }
    return highest
  }
}
