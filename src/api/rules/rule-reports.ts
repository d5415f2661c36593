// Reports of rules, actions and sources from all shards, and their sums.

import type { ActionReport, RuleReport } from '../../actions/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import { type QueryableShards, queryShard } from '../../node/index.ts'
import type { QueryName, QueryOf, QueryResult } from '../../shard/index.ts'
import { type ActionSettings, type SinkTypeName, sinkTypes } from '../../sinks/index.ts'

export type RuleMetrics = ReturnType<typeof sumRule>
export type ActionMetrics = ReturnType<typeof sumAction>

export interface FunctionMetrics {
  readonly taken: number
  readonly success: number
  readonly failed: number
}

/** Rules for Prometheus. */
export interface RuleScrape {
  readonly rules: ReadonlyMap<string, RuleMetrics>
  readonly actions: ReadonlyMap<string, ActionMetrics>
  /** Actions that use each connector, by `type:name`. Connectors without actions are omitted. */
  readonly connectors: ReadonlyMap<string, readonly string[]>
}

/** A result that waits in an action queue. */
export interface NodeQueuedResult {
  readonly id: string
  readonly refusals: number
  readonly why: string
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
  /** Columns of the result as JSON; '': there is none. */
  readonly result: string
}

type Reports = QueryResult<'rules'>

/** Queries every shard. */
export class RuleShards {
  readonly #supervisor: QueryableShards

  constructor(supervisor: QueryableShards) {
    this.#supervisor = supervisor
  }

  get size(): number {
    return this.#supervisor.size
  }

  queryOne<Name extends QueryName>(shard: number, query: QueryOf<Name>): Promise<QueryResult<Name> | ShardUnavailable> {
    return queryShard<Name>(this.#supervisor, shard, query)
  }

  /** Undefined for shards that do not respond. */
  async queryAll<Name extends QueryName>(
    query: QueryOf<Name>,
    timeoutMs?: number,
  ): Promise<readonly (QueryResult<Name> | undefined)[]> {
    const shards = Array.from({ length: this.#supervisor.size }, (_, shard) =>
      queryShard<Name>(this.#supervisor, shard, query, timeoutMs),
    )
    const responses = await Promise.all(shards)
    return responses.map((response) =>
      typeof response === 'object' && response !== null && 'unavailableShard' in response
        ? undefined
        : (response as QueryResult<Name>),
    )
  }

  async sendToAll<Name extends 'reset-rule' | 'reset-action' | 'control-action' | 'control-source' | 'discard-action'>(
    query: QueryOf<Name>,
  ): Promise<void> {
    await this.queryAll(query)
  }

  async queryReports(timeoutMs?: number): Promise<readonly Reports[]> {
    return (await this.queryAll<'rules'>({ kind: 'rules' }, timeoutMs)).flatMap((report) => report ?? [])
  }

  async listQueuedResults(action: string): Promise<readonly NodeQueuedResult[]> {
    const found = await this.queryAll<'queued-results'>({ kind: 'queued-results', action })
    return found.flatMap((results, shard) =>
      (results ?? []).map((result) => ({ ...result, id: `${shard}-${result.id}` })),
    )
  }

  async discardQueuedResults(action: string, id: string | undefined): Promise<number> {
    const kind = 'discard-queued-results'
    if (id === undefined) {
      const counts = await this.queryAll<typeof kind>({ kind, action, entry: undefined })
      return counts.reduce((sum, response) => sum + (response?.count ?? 0), 0)
    }
    const [, shard, entry] = /^(\d{1,3})-(q\d{1,9}-\d{1,15})$/.exec(id) ?? []
    if (shard === undefined || Number(shard) >= this.#supervisor.size) return 0
    const response = await queryShard<typeof kind>(this.#supervisor, Number(shard), { kind, action, entry })
    return 'count' in response ? response.count : 0
  }
}

/** `functions`: counters of those actions that are functions, by their index in the list of actions. */
export function sumRule(reports: readonly RuleReport[]) {
  const sum = (read: (report: RuleReport) => number): number =>
    reports.reduce((total, report) => total + read(report), 0)
  return {
    matched: sum(({ counters }) => counters.matched),
    rate: sum(({ rate }) => rate),
    rateMax: sum(({ rateMax }) => rateMax),
    rateLast5m: sum(({ rateLast5m }) => rateLast5m),
    passed: sum(({ counters }) => counters.passed),
    exceptions: sum(({ counters }) => counters.exceptions),
    noResult: sum(({ counters }) => counters.noResult),
    actionsTotal: sum(({ counters }) => counters.actionsTotal),
    actionsSuccess: sum(({ counters }) => counters.actionsSuccess),
    actionsFailed: sum(({ counters }) => counters.actionsFailed),
    actionsDiscarded: sum(({ counters }) => counters.actionsDiscarded),
    functions: sumFunctions(reports),
    lastError: reports.find(({ lastError }) => lastError !== '')?.lastError ?? '',
  }
}

export function sumRules(reports: readonly RuleReport[]): ReadonlyMap<string, RuleMetrics> {
  const byId = Map.groupBy(reports, ({ id }) => id)
  return new Map([...byId].map(([id, all]) => [id, sumRule(all)]))
}

/** Metrics are most important when a shard hangs, so a scrape waits no longer. */
const scrapeTimeoutMs = 1_000

/** Returns the metrics of rules and actions of all namespaces. Shards that do not respond within a second are omitted. */
export async function scrapeRules({ ruleEngine, actions }: GodwitConfig, shards: RuleShards): Promise<RuleScrape> {
  const connectors = new Map<string, string[]>()
  for (const type of Object.keys(sinkTypes) as SinkTypeName[]) {
    const configured: ReadonlyMap<string, ActionSettings> = actions[type].named
    for (const [name, { connector }] of configured) {
      const id = `${type}:${connector ?? ''}`
      connectors.set(id, [...(connectors.get(id) ?? []), `${type}:${name}`])
    }
  }
  const hasNothing = ruleEngine.rules.named.size === 0 && connectors.size === 0
  const reports = hasNothing ? [] : await shards.queryReports(scrapeTimeoutMs)
  return {
    rules: sumRules(reports.flatMap(({ rules }) => rules)),
    actions: sumActions(reports.flatMap((report) => report.actions)),
    connectors,
  }
}

function sumFunctions(reports: readonly RuleReport[]): readonly FunctionMetrics[] {
  const places = Math.max(0, ...reports.map(({ functions }) => functions.length))
  return Array.from({ length: places }, (_, index) => {
    const all = reports.flatMap(({ functions }) => functions[index] ?? [])
    const sum = (read: (counters: (typeof all)[number]) => number): number =>
      all.reduce((total, one) => total + read(one), 0)
    return {
      taken: sum(({ taken }) => taken),
      success: sum(({ success }) => success),
      failed: sum(({ failed }) => failed),
    }
  })
}

export function sumActions(reports: readonly ActionReport[]): ReadonlyMap<string, ActionMetrics> {
  const byId = Map.groupBy(reports, ({ id }) => id)
  return new Map([...byId].map(([id, all]) => [id, sumAction(all)]))
}

/** Rates are matched messages per second: in the last second, maximum, and average of five minutes. */
function sumAction(reports: readonly ActionReport[]) {
  const sum = (read: (report: ActionReport) => number): number =>
    reports.reduce((total, report) => total + read(report), 0)
  const states = new Set(reports.map(({ state }) => state))
  const [state = 'connecting'] = states
  const ages = reports.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? [])
  return {
    status: states.size > 1 ? ('inconsistent' as const) : state === 'stopped' ? ('disconnected' as const) : state,
    statusReason: reports.find(({ stateReason }) => stateReason !== '')?.stateReason ?? '',
    matched: sum(({ matched }) => matched),
    rate: sum(({ rate }) => rate),
    rateMax: sum(({ rateMax }) => rateMax),
    rateLast5m: sum(({ rateLast5m }) => rateLast5m),
    success: sum(({ success }) => success),
    failed: sum(({ failed }) => failed),
    droppedQueueFull: sum(({ droppedQueueFull }) => droppedQueueFull),
    droppedOther: sum(({ droppedOther }) => droppedOther),
    retried: sum(({ retried }) => retried),
    queuing: sum(({ queuing }) => queuing),
    inflight: sum(({ inflight }) => inflight),
    deadLetters: sum(({ deadLetters }) => deadLetters),
    droppedDeadLetters: sum(({ droppedDeadLetters }) => droppedDeadLetters),
    oldestAgeMs: ages.length === 0 ? undefined : Math.max(...ages),
    lastError: reports.find(({ lastError }) => lastError !== '')?.lastError ?? '',
  }
}
