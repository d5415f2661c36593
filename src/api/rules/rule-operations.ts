// Configured rules, connectors and actions, and their state on the shards. Their changes are changes of the
// configuration.

import {
  type ActionReport,
  derivedResources,
  hostWithin,
  keyOfDerived,
  probeService,
  problemOfSql,
  ruleHost,
  type RuleReport,
  schemasOf,
  type Resource,
  type ResourceKind,
} from '../../actions/index.ts'
import {
  describeSection,
  type GodwitConfig,
  plainAction,
  type PlainRuleAction,
  withFallbacks,
} from '../../config/index.ts'
import type {
  ActionMetrics,
  NodeQueuedResult,
  Rule,
  RuleMetrics,
  RuleOperations,
  RuleScrape,
  SourceMetrics,
  SqlTestOutcome,
} from './rules.ts'
import { type BridgeConfig, type ConfigManager, queryShard, type QueryableShards } from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import {
  columnsOf,
  compileRule,
  convertRuleSql,
  eventDefinitions,
  explainRule,
  type HostFunctions,
  RuleCompileError,
  sampleEvent,
  selectedNames,
  testRule,
  valueAsJson,
} from '../../rules/index.ts'
import { SchemaRegistry } from '../../schemas/index.ts'
import { decodeJson, RuleError, type RuleMap } from '../../values/index.ts'
import { type QueryName, type QueryOf, type QueryResult } from '../../shard/index.ts'
import { splitScopedName } from '../../core/index.ts'
import { deadLetterOperations, type ShardQueries } from './dead-letters.ts'
import { SourceCounters, sourceStates } from './source-states.ts'
import {
  type ActionSettings,
  type SinkTypeName,
  sinkTypes,
  type SourceTypeName,
  sourceTypes,
} from '../../sinks/index.ts'

export interface RuleFacts {
  readonly nodeName: string
  readonly dataDirectory: string
  readonly configuration: ConfigManager
  readonly supervisor: QueryableShards
  readonly bridges: Pick<BridgeConfig, 'reports'>
}

/** Operations on the rules of the whole node. Names end in their namespace, as in the configuration. */
export interface NodeRules extends RuleOperations {
  /** Tests of SQL for a namespace, which have values of their own and no environment. */
  sqlWithin(namespace: string): Pick<RuleOperations, 'test' | 'explain'>
}

export function ruleOperations({ nodeName, dataDirectory, configuration, supervisor, bridges }: RuleFacts): NodeRules {
  const schemas = new SchemaRegistry()
  const hostSettings = {
    schemas: {
      find: (name: string) => {
        schemas.take(schemasOf(configuration.config))
        return schemas.find(name)
      },
    },
    get maxEvaluationMs() {
      return configuration.config.ruleEngine.max_evaluation_time
    },
    get jqTimeoutMs() {
      return configuration.config.ruleEngine.jq_function_default_timeout
    },
  }
  const host = ruleHost(Date.now, hostSettings)
  const shards = new AllShards(supervisor)
  const writer = new SettingWriter(configuration)
  return {
    nodeName,
    rules: () => rulesIn(configuration.config),
    putRule: (id, settings, by) => {
      const known = configuration.config.ruleEngine.rules.named.get(id)
      const last_modified_at = Date.now()
      const created_at = known?.created_at ?? last_modified_at
      const { sql, actions = [], enable = true, description = '' } = settings ?? { sql: '' }
      const on_action_failed = settings?.onActionFailed ?? known?.on_action_failed ?? 'continue'
      const given = { sql, actions, enable, description, on_action_failed }
      const value = settings === undefined ? undefined : { ...given, created_at, last_modified_at }
      return writer.put(['rule_engine', 'rules', id], value, by)
    },
    ruleMetrics: async (id) =>
      sumOfRule((await shards.reports()).flatMap(({ rules }) => rules).filter((rule) => rule.id === id)),
    metricsOfRules: async () => sumOfRules((await shards.reports()).flatMap(({ rules }) => rules)),
    scrape: () => scrapeOf(configuration.config, shards),
    resetRule: (rule) => shards.sendToAll({ kind: 'reset-rule', rule }),
    ...sqlOperations(host),
    sqlWithin: (namespace) => sqlOperations(hostWithin(ruleHost(Date.now, hostSettings), namespace)),
    serviceTypes: () => Object.keys(sinkTypes),
    resources: (kind) => resourcesIn(configuration.config, kind),
    putResource: async (kind, { type, name }, settings, by) => {
      const key = kind === 'sources' ? undefined : keyOfDerived(configuration.config, `${type}:${name}`)
      if (key !== undefined) return { problem: `${type}:${name} is made by ${key}: change that`, isAbout: 'settings' }
      return writer.put([kind, type, name], settings, by)
    },
    probe: (kind, { type, name }, settings) =>
      probeService(
        { dataDirectory, preview: (added) => configuration.previewSettings(added, { texts: new Map() }) },
        { kind, type, settings: writer.unmasked([kind, type, name], settings) },
      ),
    usersOf: (kind, at) => usersIn(configuration.config, kind, at),
    actionMetrics: async () => sumOfActions((await shards.reports()).flatMap(({ actions }) => actions)),
    ...sourceOperations(shards, bridges),
    resetAction: (action) => shards.sendToAll({ kind: 'reset-action', action }),
    controlAction: (action, what) => shards.sendToAll({ kind: 'control-action', action, what }),
    discardAction: (action) => shards.sendToAll({ kind: 'discard-action', action }),
    queuedResults: (action) => shards.queuedResults(action),
    discardQueuedResults: (action, entry) => shards.discardQueuedResults(action, entry),
    ...deadLetterOperations(shards),
  }
}

function sourceOperations(
  shards: AllShards,
  bridges: RuleFacts['bridges'],
): Pick<RuleOperations, 'sourceMetrics' | 'resetSource' | 'controlSource'> {
  const counters = new SourceCounters()
  const sourceMetrics = async (): Promise<ReadonlyMap<string, SourceMetrics>> => {
    const [ofBridges, reports] = await Promise.all([bridges.reports(), shards.reports()])
    const states = sourceStates(
      ofBridges.values(),
      reports.flatMap(({ sources }) => sources),
    )
    return new Map([...states].map(([id, metrics]) => [id, counters.since(id, metrics)]))
  }
  return {
    sourceMetrics,
    resetSource: async (source) => counters.reset(source, (await sourceMetrics()).get(source)),
    controlSource: (source, what) => shards.sendToAll({ kind: 'control-source', source, what }),
  }
}

/** Operations on SQL texts. */
function sqlOperations(
  host: HostFunctions,
): Pick<RuleOperations, 'test' | 'explain' | 'problemOfSql' | 'selectedFields' | 'convert' | 'events'> {
  return {
    test: (sql, context) => {
      try {
        return outcomeOf(testRule(sql, contextOf(context), host))
      } catch (error) {
        return { outcome: 'failed', message: messageOf(error) }
      }
    },
    explain: (sql, context) => {
      try {
        const rule = compileRule(sql)
        const event = sampleEvent(rule, contextOf(context))
        if (event instanceof RuleError) return event.message
        const { sources, condition, outputs, error, ...rest } = explainRule(rule, event, host)
        return {
          ...rest,
          sources: [...sources],
          condition: [...condition],
          // All outputs together have the limit of one text.
          outputs: JSON.parse(valueAsJson(outputs)) as unknown[],
          error: error === undefined ? null : error.message,
        }
      } catch (error) {
        return messageOf(error)
      }
    },
    problemOfSql,
    selectedFields: selectedNames,
    convert: (sql) => {
      try {
        const converted = convertRuleSql(sql)
        return { sql: converted.sql, warnings: converted.notes }
      } catch (error) {
        return messageOf(error)
      }
    },
    events,
  }
}

/** Errors in SQL, and of values that cannot be converted. Others are internal errors. */
function messageOf(error: unknown): string {
  if (error instanceof RuleCompileError || error instanceof RuleError) return error.message
  throw error
}

function contextOf(context: Readonly<Record<string, unknown>>): RuleMap {
  return decodeJson(JSON.stringify(context)) as RuleMap
}

function outcomeOf(result: ReturnType<typeof testRule>): SqlTestOutcome {
  if (result.outcome === 'passed') return { outcome: 'passed', json: valueAsJson(result.output) }
  return result.outcome === 'failed' ? { outcome: 'failed', message: result.error.message } : { outcome: 'no-match' }
}

function events(): ReturnType<RuleOperations['events']> {
  return [...eventDefinitions.values()].map(({ name, topic, title, description, testColumns, sqlExample }) => ({
    event: topic.startsWith('$events/') ? topic : name,
    title,
    description,
    test_columns: { ...testColumns },
    columns: [...columnsOf(name)],
    sql_example: sqlExample,
  }))
}

type ConfiguredRule =
  GodwitConfig['ruleEngine']['rules']['named'] extends ReadonlyMap<string, infer Value> ? Value : never

function rulesIn({ ruleEngine, schemaRegistry }: GodwitConfig): readonly Rule[] {
  return [...ruleEngine.rules.named].map(([id, rule]) => ruleOf(id, rule, schemaRegistry.schemas.named))
}

/** Compiled SQL of rules, to describe them. A rule that changes is another object. */
const compiledRules = new WeakMap<ConfiguredRule, ReturnType<typeof compileRule>>()

function ruleOf(id: string, rule: ConfiguredRule, schemas: ReadonlyMap<string, unknown>): Rule {
  const compiled = compiledRules.get(rule) ?? compileRule(rule.sql)
  compiledRules.set(rule, compiled)
  const missing = compiled.schemas.filter((name) => !schemas.has(name)).map((name) => JSON.stringify(name.slice(0, 64)))
  return {
    id,
    sql: rule.sql,
    from: compiled.sources.map(({ text }) => text),
    warnings: [
      ...compiled.warnings.map(({ message, line, column }) => `line ${line}, column ${column}: ${message}`),
      ...missing.map((name) => `there is no schema ${name}: add it to the schema registry`),
    ],
    actions: rule.actions.map(plainAction),
    isEnabled: rule.enable,
    onActionFailed: rule.on_action_failed,
    description: rule.description,
    createdAtMs: rule.created_at === 0 ? undefined : rule.created_at,
    modifiedAtMs: rule.last_modified_at === 0 ? undefined : rule.last_modified_at,
  }
}

function resourcesIn(config: GodwitConfig, kind: ResourceKind): readonly Resource[] {
  const described = describeSection(config, kind)
  const isObject = typeof described === 'object' && described !== null && !Array.isArray(described)
  const configured = Object.entries(isObject ? described : {}).flatMap(([type, named]) =>
    Object.entries(named as Readonly<Record<string, unknown>>).map(([name, settings]) => ({
      type,
      name,
      settings: settings as Readonly<Record<string, unknown>>,
    })),
  )
  return [...configured, ...derivedResources(config, kind)]
}

function usersIn(
  { actions, sources, ruleEngine }: GodwitConfig,
  kind: ResourceKind,
  { type, name }: { readonly type: string; readonly name: string },
): readonly string[] {
  const id = `${type}:${name}`
  if (kind === 'actions') {
    const isIt = (action: PlainRuleAction): boolean => action.kind === 'action' && action.id === id
    const rules = [...ruleEngine.rules.named].flatMap(([rule, { actions: all }]) =>
      withFallbacks(all).some(isIt) ? [rule] : [],
    )
    return [...rules, ...actionsWithFallback(actions, isIt)]
  }
  if (kind === 'sources') return rulesFrom(ruleEngine, id)
  const users: ReadonlyMap<string, { readonly connector: string | undefined }>[] = []
  if (isSinkType(type)) users.push(actions[type].named)
  if (type === 'mqtt' || isSourceType(type)) users.push(sources[type].named)
  return users
    .flatMap((configured) => [...configured])
    .flatMap(([action, { connector }]) => (connector === name ? [`${type}:${action}`] : []))
}

function actionsWithFallback(
  actions: GodwitConfig['actions'],
  isIt: (fallback: PlainRuleAction) => boolean,
): readonly string[] {
  return (Object.keys(sinkTypes) as SinkTypeName[]).flatMap((type) => {
    const named: ReadonlyMap<string, ActionSettings> = actions[type].named
    return [...named].flatMap(([name, { fallback_actions: all }]) => (all.some(isIt) ? [`${type}:${name}`] : []))
  })
}

/** Rules with the source after FROM. */
function rulesFrom({ rules }: GodwitConfig['ruleEngine'], source: string): readonly string[] {
  const { namespace, name } = splitScopedName(source)
  const uses = (sql: string): boolean => compileRule(sql).sources.some(({ text }) => text === `$bridges/${name}`)
  return [...rules.named].flatMap(([rule, { sql }]) =>
    splitScopedName(rule).namespace === namespace && uses(sql) ? [rule] : [],
  )
}

function isSinkType(type: string): type is SinkTypeName {
  return Object.hasOwn(sinkTypes, type)
}

function isSourceType(type: string): type is SourceTypeName {
  return Object.hasOwn(sourceTypes, type)
}

type Reports = QueryResult<'rules'>

/** Queries every shard. */
class AllShards implements ShardQueries {
  readonly #supervisor: QueryableShards

  constructor(supervisor: QueryableShards) {
    this.#supervisor = supervisor
  }

  get size(): number {
    return this.#supervisor.size
  }

  one<Name extends QueryName>(shard: number, query: QueryOf<Name>): Promise<QueryResult<Name> | ShardUnavailable> {
    return queryShard<Name>(this.#supervisor, shard, query)
  }

  /** Undefined for shards that do not respond. */
  async all<Name extends QueryName>(
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
    await this.all(query)
  }

  async reports(timeoutMs?: number): Promise<readonly Reports[]> {
    return (await this.all<'rules'>({ kind: 'rules' }, timeoutMs)).flatMap((report) => report ?? [])
  }

  async queuedResults(action: string): Promise<readonly NodeQueuedResult[]> {
    const found = await this.all<'queued-results'>({ kind: 'queued-results', action })
    return found.flatMap((results, shard) =>
      (results ?? []).map((result) => ({ ...result, id: `${shard}-${result.id}` })),
    )
  }

  async discardQueuedResults(action: string, id: string | undefined): Promise<number> {
    const kind = 'discard-queued-results'
    if (id === undefined) {
      const counts = await this.all<typeof kind>({ kind, action, entry: undefined })
      return counts.reduce((sum, response) => sum + (response?.count ?? 0), 0)
    }
    const [, shard, entry] = /^(\d{1,3})-(q\d{1,9}-\d{1,15})$/.exec(id) ?? []
    if (shard === undefined || Number(shard) >= this.#supervisor.size) return 0
    const response = await queryShard<typeof kind>(this.#supervisor, Number(shard), { kind, action, entry })
    return 'count' in response ? response.count : 0
  }
}

function sumOfRule(reports: readonly RuleReport[]): RuleMetrics {
  const sum = (of: (report: RuleReport) => number): number => reports.reduce((total, report) => total + of(report), 0)
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
    functions: sumOfFunctions(reports),
    lastError: reports.find(({ lastError }) => lastError !== '')?.lastError ?? '',
  }
}

function sumOfRules(reports: readonly RuleReport[]): ReadonlyMap<string, RuleMetrics> {
  const byId = Map.groupBy(reports, ({ id }) => id)
  return new Map([...byId].map(([id, all]) => [id, sumOfRule(all)]))
}

/** Metrics are most important when a shard hangs, so a scrape waits no longer. */
const scrapeTimeoutMs = 1_000

async function scrapeOf({ ruleEngine, actions }: GodwitConfig, shards: AllShards): Promise<RuleScrape> {
  const connectors = new Map<string, string[]>()
  for (const type of Object.keys(sinkTypes) as SinkTypeName[]) {
    const configured: ReadonlyMap<string, ActionSettings> = actions[type].named
    for (const [name, { connector }] of configured) {
      const id = `${type}:${connector ?? ''}`
      connectors.set(id, [...(connectors.get(id) ?? []), `${type}:${name}`])
    }
  }
  const hasNothing = ruleEngine.rules.named.size === 0 && connectors.size === 0
  const reports = hasNothing ? [] : await shards.reports(scrapeTimeoutMs)
  return {
    rules: sumOfRules(reports.flatMap(({ rules }) => rules)),
    actions: sumOfActions(reports.flatMap((report) => report.actions)),
    connectors,
  }
}

function sumOfFunctions(reports: readonly RuleReport[]): RuleMetrics['functions'] {
  const places = Math.max(0, ...reports.map(({ functions }) => functions.length))
  return Array.from({ length: places }, (_, place) => {
    const all = reports.flatMap(({ functions }) => functions[place] ?? [])
    const sum = (of: (counters: (typeof all)[number]) => number): number =>
      all.reduce((total, one) => total + of(one), 0)
    return {
      taken: sum(({ taken }) => taken),
      success: sum(({ success }) => success),
      failed: sum(({ failed }) => failed),
    }
  })
}

function sumOfActions(reports: readonly ActionReport[]): ReadonlyMap<string, ActionMetrics> {
  const byId = Map.groupBy(reports, ({ id }) => id)
  return new Map([...byId].map(([id, all]) => [id, sumOfAction(all)]))
}

function sumOfAction(reports: readonly ActionReport[]): ActionMetrics {
  const sum = (of: (report: ActionReport) => number): number => reports.reduce((total, report) => total + of(report), 0)
  const states = new Set(reports.map(({ state }) => state))
  const [state = 'connecting'] = states
  const ages = reports.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? [])
  return {
    status: states.size > 1 ? 'inconsistent' : state === 'stopped' ? 'disconnected' : state,
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
