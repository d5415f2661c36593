// What clients are subscribed to, told from shard to shard for bridges that pass it on. Each bridge is on one shard, and
// clients are on all of them.
//
//   core ──take──> own filters ──tell, by way of the node──> the other shards
//                       └──> union over all shards ──> the bridges here
//
// A shard that has died and comes back says everything anew. Until then what it said before holds.

import type { ClientWishes } from '../../bridges/index.ts'
import type { BrokerCore, FilterChange, PeerNumber } from '../../core/index.ts'
import type { QoS, TopicFilter } from '../../protocol/index.ts'
import type { FilterNotice } from '../messages/messages.ts'

/** How often it is looked for news; what comes and goes meanwhile is none. */
const checkIntervalMs = 100

export interface FilterSyncDependencies {
  readonly core: Pick<BrokerCore, 'clientFilters'>
  readonly own: PeerNumber
  readonly shards: number
  /** What clients are subscribed to is to be counted, or no longer. */
  count(areWanted: boolean): void
  /** To all other shards. */
  tell(notice: FilterNotice): void
  /** To the bridges here that pass it on. */
  passOn(wishes: ClientWishes): void
  guard(work: () => void): void
}

interface ReportedFilters {
  readonly filters: Map<TopicFilter, QoS>
  untold: number
}

export class FilterSync {
  readonly #ground: FilterSyncDependencies
  readonly #told = new Map<PeerNumber, ReportedFilters>()
  #timer: NodeJS.Timeout | undefined
  #hasBridges = false
  /** All that was there at the beginning has been told. */
  #isTold = false

  constructor(ground: FilterSyncDependencies) {
    this.#ground = ground
  }

  /** `isWanted`: some bridge on some shard passes subscriptions on; `hasBridges`: one of this shard does. */
  set(isWanted: boolean, hasBridges: boolean): void {
    const isNew = hasBridges && !this.#hasBridges
    this.#hasBridges = hasBridges
    if (!hasBridges) this.#told.clear()
    if (isWanted !== (this.#timer !== undefined)) this.#turn(isWanted)
    if (!isNew) return
    this.#ground.tell({ what: 'ask' })
    if (this.#isTold) this.#take(this.#ground.own, this.#everything())
  }

  /** All that is known, for a bridge that is new. */
  get wishes(): ClientWishes {
    const filters = new Set([...this.#told.values()].flatMap((told) => [...told.filters.keys()]))
    return this.#wishes([...filters].map((filter) => [filter, this.#qosOf(filter)]))
  }

  hear(from: PeerNumber, notice: FilterNotice): void {
    if (notice.what === 'tell') this.#take(from, notice)
    else if (this.#isTold) this.#ground.tell(this.#everything())
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #turn(isOn: boolean): void {
    this.stop()
    this.#isTold = false
    this.#ground.count(isOn)
    if (isOn) this.#timer = setInterval(() => this.#ground.guard(() => this.#look()), checkIntervalMs).unref()
  }

  #look(): void {
    const { clientFilters: filters } = this.#ground.core
    if (filters?.isComplete !== true) return
    const changes = filters.take()
    if (this.#isTold && changes.length === 0) return
    const notice: FilterNotice = { what: 'tell', isAll: !this.#isTold, changes, untold: filters.untold }
    this.#isTold = true
    this.#ground.tell(notice)
    this.#take(this.#ground.own, notice)
  }

  #everything(): Extract<FilterNotice, { what: 'tell' }> {
    const { clientFilters: filters } = this.#ground.core
    return { what: 'tell', isAll: true, changes: filters?.all ?? [], untold: filters?.untold ?? 0 }
  }

  #take(from: PeerNumber, { isAll, changes, untold }: Extract<FilterNotice, { what: 'tell' }>): void {
    if (!this.#hasBridges) return
    const before = this.#told.get(from)
    const told: ReportedFilters = isAll || before === undefined ? { filters: new Map(), untold } : before
    // What comes before everything has been told will be told with that.
    if (before === undefined && !isAll) return
    this.#told.set(from, told)
    told.untold = untold
    for (const [filter, qos] of changes) {
      if (qos === undefined) told.filters.delete(filter)
      else told.filters.set(filter, qos)
    }
    const touched = new Set(changes.map(([filter]) => filter))
    if (isAll) for (const filter of before?.filters.keys() ?? []) touched.add(filter)
    this.#ground.passOn(this.#wishes([...touched].map((filter) => [filter, this.#qosOf(filter)])))
  }

  #wishes(changes: readonly FilterChange[]): ClientWishes {
    const untold = [...this.#told.values()].reduce((sum, told) => sum + told.untold, 0)
    return { changes, isComplete: this.#told.size === this.#ground.shards, untold }
  }

  #qosOf(filter: TopicFilter): QoS | undefined {
    let highest: QoS | undefined
    for (const { filters } of this.#told.values()) {
      const qos = filters.get(filter)
      if (qos !== undefined && (highest === undefined || qos > highest)) highest = qos
    }
    return highest
  }
}
