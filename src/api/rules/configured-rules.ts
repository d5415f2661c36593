// Rules, connectors, actions and sources of one namespace, or of none, and their state on the shards. Their changes are changes of the
// configuration.

import {
  createNamespaceHost,
  findDerivedKey,
  mapActionNames,
  probeService,
  findFileProblem,
  type Resource,
  type ResourceKind,
  createRuleHost,
  listSchemas,
} from '../../actions/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'
import { splitScopedName } from '../../core/index.ts'
import type { BridgeConfig, ConfigManager } from '../../node/index.ts'
import type { HostFunctions } from '../../rules/index.ts'
import { SchemaRegistry } from '../../schemas/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { type SettingProblem, SettingWriter } from '../context/setting-writer.ts'
import {
  deleteDeadLetters,
  listDeadLetters,
  type NodeDeadLetter,
  type NodeRetryProgress,
  readRetryProgress,
  retryDeadLetters,
} from './dead-letter-operations.ts'
import {
  type ActionMetrics,
  type NodeQueuedResult,
  type RuleMetrics,
  RuleShards,
  sumActions,
  sumRule,
  sumRules,
} from './rule-reports.ts'
import { RuleScope } from './rule-scope.ts'
import { listResources, listRules, listUsers, type Rule } from './rule-settings.ts'
import { type ExplainedRule, explainSql, type SqlTestOutcome, testSql } from './rule-sql.ts'
import { SourceCounters, type SourceMetrics, toSourceStates } from './to-source-states.ts'

export interface RuleSettings {
  readonly sql: string
  readonly actions?: readonly unknown[] | undefined
  readonly enable?: boolean | undefined
  readonly description?: string | undefined
  /** Undefined: as it is, and `continue` for a new rule. */
  readonly onActionFailed?: 'continue' | 'stop' | undefined
}

/** A connector, an action or a source. */
export interface ResourceName {
  readonly type: string
  readonly name: string
}

type Settings = Readonly<Record<string, unknown>>
type Control = 'start' | 'stop' | 'restart'

/** What exists once for all namespaces. */
export class RuleParts {
  readonly nodeName: string
  readonly configuration: ConfigManager
  readonly shards: RuleShards
  readonly writer: SettingWriter
  readonly #dataDirectory: string
  readonly #bridges: Pick<BridgeConfig, 'readReports'>
  readonly #sourceCounters = new SourceCounters()
  readonly #schemas = new SchemaRegistry()
  /** Functions for tests of SQL of the whole broker. */
  readonly #host: HostFunctions

  constructor({
    nodeName,
    dataDirectory,
    configuration,
    supervisor,
    bridges,
  }: Pick<ApiContext, 'nodeName' | 'dataDirectory' | 'configuration' | 'supervisor' | 'bridges'>) {
    this.nodeName = nodeName
    this.configuration = configuration
    this.shards = new RuleShards(supervisor)
    this.writer = new SettingWriter(configuration)
    this.#dataDirectory = dataDirectory
    this.#bridges = bridges
    this.#host = this.#createHost()
  }

  /** Returns functions for tests of SQL. In a namespace, they have values of their own and no environment. */
  selectHost(namespace: string | undefined): HostFunctions {
    return namespace === undefined ? this.#host : createNamespaceHost(this.#createHost(), namespace)
  }

  #createHost(): HostFunctions {
    const { configuration } = this
    const schemas = this.#schemas
    return createRuleHost(Date.now, {
      schemas: {
        find: (name: string) => {
          schemas.take(listSchemas(configuration.config))
          return schemas.find(name)
        },
      },
      get maxEvaluationMs() {
        return configuration.config.ruleEngine.max_evaluation_time
      },
      get jqTimeoutMs() {
        return configuration.config.ruleEngine.jq_function_default_timeout
      },
    })
  }

  probe(kind: ResourceKind, { type, name }: ResourceName, settings: Settings): Promise<string | undefined> {
    const { configuration } = this
    return probeService(
      {
        dataDirectory: this.#dataDirectory,
        preview: (added) => configuration.previewSettings(added, { texts: new Map() }),
      },
      { kind, type, settings: this.writer.restoreSecrets([kind, type, name], settings) },
    )
  }

  async readSourceMetrics(): Promise<ReadonlyMap<string, SourceMetrics>> {
    const [ofBridges, reports] = await Promise.all([this.#bridges.readReports(), this.shards.queryReports()])
    const states = toSourceStates(
      ofBridges.values(),
      reports.flatMap(({ sources }) => sources),
    )
    return new Map([...states].map(([id, metrics]) => [id, this.#sourceCounters.countSince(id, metrics)]))
  }

  async resetSource(source: string): Promise<void> {
    this.#sourceCounters.reset(source, (await this.readSourceMetrics()).get(source))
  }
}

export class ConfiguredRules {
  readonly nodeName: string
  readonly #parts: RuleParts
  readonly #shards: RuleShards
  readonly #scope: RuleScope
  readonly #host: HostFunctions

  constructor(parts: RuleParts, namespace: string | undefined) {
    this.nodeName = parts.nodeName
    this.#parts = parts
    this.#shards = parts.shards
    this.#scope = new RuleScope(namespace)
    this.#host = parts.selectHost(namespace)
  }

  get #config(): GodwitConfig {
    return this.#parts.configuration.config
  }

  listRules(): readonly Rule[] {
    return listRules(this.#config).flatMap((rule) => {
      const id = this.#scope.toOwnName(rule.id)
      return id === undefined
        ? []
        : [{ ...rule, id, actions: rule.actions.map((action) => this.#scope.toOwnAction(action)) }]
    })
  }

  /** Creates or replaces it; `settings` undefined: deletes it. undefined: success. */
  async putRule(id: string, settings: RuleSettings | undefined, by: Caller): Promise<SettingProblem | undefined> {
    const scope = this.#scope
    const stored = scope.toScopedName(id)
    if (settings === undefined)
      return scope.toOwnProblem(await this.#parts.writer.put(['rule_engine', 'rules', stored], undefined, by))
    const known = this.#config.ruleEngine.rules.named.get(stored)
    const last_modified_at = Date.now()
    const { sql, enable = true, description = '' } = settings
    const value = {
      sql,
      actions: (settings.actions ?? []).map((action) => mapActionNames(action, (name) => scope.toScopedName(name))),
      enable,
      description,
      on_action_failed: settings.onActionFailed ?? known?.on_action_failed ?? 'continue',
      created_at: known?.created_at ?? last_modified_at,
      last_modified_at,
    }
    return scope.toOwnProblem(await this.#parts.writer.put(['rule_engine', 'rules', stored], value, by))
  }

  async readRuleMetrics(id: string): Promise<RuleMetrics> {
    const stored = this.#scope.toScopedName(id)
    const reports = (await this.#shards.queryReports()).flatMap(({ rules }) => rules)
    return sumRule(reports.filter((rule) => rule.id === stored))
  }

  /** By ID. */
  async readAllRuleMetrics(): Promise<ReadonlyMap<string, RuleMetrics>> {
    return this.#scope.mapKeys(sumRules((await this.#shards.queryReports()).flatMap(({ rules }) => rules)))
  }

  resetRule(id: string): Promise<void> {
    return this.#shards.sendToAll({ kind: 'reset-rule', rule: this.#scope.toScopedName(id) })
  }

  test(sql: string, context: Settings): SqlTestOutcome {
    return testSql(sql, context, this.#host)
  }

  /** A text: the SQL is invalid. */
  explain(sql: string, context: Settings): ExplainedRule | string {
    return explainSql(sql, context, this.#host)
  }

  listResources(kind: ResourceKind): readonly Resource[] {
    return listResources(this.#config, kind).flatMap((resource) => this.#scope.toOwnResources(resource))
  }

  /** Like `putRule`. A masked setting that is sent back is unchanged. */
  async putResource(
    kind: ResourceKind,
    { type, name: own }: ResourceName,
    settings: Settings | undefined,
    by: Caller,
  ): Promise<SettingProblem | undefined> {
    const refusal = settings === undefined ? undefined : findCallerFileProblem(type, settings, by)
    if (refusal !== undefined) return { problem: refusal, isAbout: 'settings' }
    const name = this.#scope.toScopedName(own)
    const scoped = settings === undefined ? undefined : this.#scope.toScopedSettings(settings)
    const key = kind === 'sources' ? undefined : findDerivedKey(this.#config, `${type}:${name}`)
    const problem: SettingProblem | undefined =
      key === undefined
        ? await this.#parts.writer.put([kind, type, name], scoped, by)
        : { problem: `${type}:${name} is made by ${key}: change that`, isAbout: 'settings' }
    return this.#scope.toOwnProblem(problem)
  }

  /** Connects to the service without storing anything. undefined: success. */
  async probe(
    kind: ResourceKind,
    { type, name }: ResourceName,
    settings: Settings,
    by: Pick<Caller, 'namespace'>,
  ): Promise<string | undefined> {
    const refusal = findCallerFileProblem(type, settings, by)
    if (refusal !== undefined) return refusal
    const at = { type, name: this.#scope.toScopedName(name) }
    const problem = await this.#parts.probe(kind, at, this.#scope.toScopedSettings(settings))
    return problem === undefined ? undefined : this.#scope.toOwnText(problem)
  }

  /** Returns the names of its users. */
  listUsers(kind: ResourceKind, { type, name }: ResourceName): readonly string[] {
    const users = listUsers(this.#config, kind, { type, name: this.#scope.toScopedName(name) })
    return users.map((user) => splitScopedName(user).name)
  }

  async readActionMetrics(): Promise<ReadonlyMap<string, ActionMetrics>> {
    return this.#scope.mapKeys(sumActions((await this.#shards.queryReports()).flatMap(({ actions }) => actions)))
  }

  /** By `type:name`. A source that no shard runs is missing. */
  async readSourceMetrics(): Promise<ReadonlyMap<string, SourceMetrics>> {
    return this.#scope.mapKeys(await this.#parts.readSourceMetrics())
  }

  resetSource(source: string): Promise<void> {
    return this.#parts.resetSource(this.#scope.toScopedName(source))
  }

  controlSource(source: string, control: Control): Promise<void> {
    return this.#shards.sendToAll({ kind: 'control-source', source: this.#scope.toScopedName(source), what: control })
  }

  resetAction(action: string): Promise<void> {
    return this.#shards.sendToAll({ kind: 'reset-action', action: this.#scope.toScopedName(action) })
  }

  controlAction(action: string, control: Control): Promise<void> {
    return this.#shards.sendToAll({ kind: 'control-action', action: this.#scope.toScopedName(action), what: control })
  }

  /** Deletes what is stored for an action that is not configured. */
  discardAction(action: string): Promise<void> {
    return this.#shards.sendToAll({ kind: 'discard-action', action: this.#scope.toScopedName(action) })
  }

  async listQueuedResults(action: string): Promise<readonly NodeQueuedResult[]> {
    return (await this.#shards.listQueuedResults(this.#scope.toScopedName(action))).map((result) =>
      this.#scope.toOwnEntry(result),
    )
  }

  /** Moves a result of the action queue to the dead letters; `entry` undefined: all that are listed. Returns the number. */
  discardQueuedResults(action: string, entry: string | undefined): Promise<number> {
    return this.#shards.discardQueuedResults(this.#scope.toScopedName(action), entry)
  }

  async listDeadLetters(action: string): Promise<readonly NodeDeadLetter[]> {
    const letters = await listDeadLetters(this.#shards, this.#scope.toScopedName(action))
    return letters.map((letter) => this.#scope.toOwnEntry(letter))
  }

  deleteDeadLetters(action: string, letter: string | undefined): Promise<number> {
    return deleteDeadLetters(this.#shards, this.#scope.toScopedName(action), letter)
  }

  retryDeadLetters(action: string, letter: string | undefined): Promise<NodeRetryProgress> {
    return retryDeadLetters(this.#shards, this.#scope.toScopedName(action), letter)
  }

  readRetryProgress(action: string): Promise<NodeRetryProgress> {
    return readRetryProgress(this.#shards, this.#scope.toScopedName(action))
  }
}

/** An account of a namespace must not use files of this machine. Only a global administrator can configure files. */
function findCallerFileProblem(
  type: string,
  settings: unknown,
  { namespace }: Pick<Caller, 'namespace'>,
): string | undefined {
  return namespace === undefined ? undefined : findFileProblem(type, settings)
}
