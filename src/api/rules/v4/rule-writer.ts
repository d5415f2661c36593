// Creates, changes and deletes rules with their actions and connectors. Each is a separate change of the configuration:
// if a later one fails, the earlier ones are undone.

import { findSqlProblem, type ResourceKind } from '../../../actions/index.ts'
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../../contract/index.ts'
import { type ApiError, refuse } from '../../../management/index.ts'
import type { SettingProblem } from '../../context/setting-writer.ts'
import type { ConfiguredRules, RuleSettings } from '../configured-rules.ts'
import type { Rule } from '../rule-settings.ts'
import {
  isCreatedWithRule,
  nanoMqPrefix,
  type ConfiguredAction,
  type ParsedAction,
  readActions,
  listConfiguredActionIds,
  type SentAction,
} from './v4-actions.ts'
import { isForNanoMq, readNanoMqActions } from './nanomq-actions.ts'
import { V4Resources } from './v4-resource-settings.ts'

/** A rule in a request. */
export interface SentRule {
  readonly rawsql?: string
  readonly actions?: readonly SentAction[]
  readonly enabled?: boolean
  readonly description?: string
  readonly on_action_failed?: 'continue' | 'stop'
}

const prefix = 'rule:'
const idForm = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/
const idBytes = 4

/** Returns the ID in version 4 for an ID in the configuration. */
export function toV4Id(id: string): string {
  return prefix + id
}

interface Put {
  readonly kind: ResourceKind
  readonly what: ConfiguredAction
}

export class RuleWriter {
  readonly resources: V4Resources
  readonly #rules: ConfiguredRules

  constructor(rules: ConfiguredRules) {
    this.#rules = rules
    this.resources = new V4Resources(rules)
  }

  find(id: string): Rule | ApiError {
    const own = id.startsWith(prefix) ? id.slice(prefix.length) : id
    const found = this.#rules.listRules().find((rule) => rule.id === own)
    return found ?? refuse('invalidParameter', `there is no rule ${JSON.stringify(id)}`, 404)
  }

  /** Returns the new rule; with actions of NanoMQ its ID is the next number. */
  async create(
    id: string | undefined,
    sent: SentRule & { readonly rawsql: string },
    by: Caller,
  ): Promise<Rule | ApiError> {
    if (isForNanoMq(sent.actions)) return this.#createForNanoMq(sent, by)
    const own = id?.startsWith(prefix) === true ? id.slice(prefix.length) : (id ?? randomBytes(idBytes).toString('hex'))
    if (!idForm.test(own))
      return refuse('invalidParameter', 'id is rule:ID with up to 64 letters, digits, _ and - in ID')
    if ('sql' in this.find(own))
      return refuse('invalidParameter', `there is a rule ${toV4Id(own)} already: change it with PUT`)
    const read = readActions(sent.actions ?? [], { resources: this.resources, ownIds: new Set() })
    if ('code' in read) return read
    const settings = toSettings(
      sent.rawsql,
      sent,
      read.map(({ ruleAction }) => ruleAction),
    )
    return this.#put(own, settings, toPuts(read), by)
  }

  async change(rule: Rule, sent: SentRule, by: Caller): Promise<Rule | ApiError> {
    const ids = listConfiguredActionIds(rule.actions)
    const read =
      sent.actions === undefined ? [] : readActions(sent.actions, { resources: this.resources, ownIds: new Set(ids) })
    if ('code' in read) return read
    const actions = sent.actions === undefined ? rule.actions : read.map(({ ruleAction }) => ruleAction)
    const { isEnabled: enabled, description, onActionFailed: on_action_failed } = rule
    const before = { enabled, description, on_action_failed }
    const changed = await this.#put(
      rule.id,
      toSettings(sent.rawsql ?? rule.sql, { ...before, ...sent }, actions),
      toPuts(read),
      by,
    )
    if ('code' in changed) return changed
    // Actions with stored messages continue to send them.
    const stored = await this.#countStored(ids)
    const kept = new Set(listConfiguredActionIds(actions))
    const emptied = ids.filter((id) => !kept.has(id) && (stored.get(id) ?? 0) === 0)
    await this.#removeOwn(emptied, by)
    return changed
  }

  async remove(rule: Rule, force: boolean, by: Caller): Promise<ApiError | undefined> {
    const ids = listConfiguredActionIds(rule.actions).filter((id) => this.#isOnlyOf(id, rule.id))
    const stored = await this.#countStored(ids)
    const full = [...stored].find(([, count]) => count > 0)
    if (full !== undefined && !force)
      return refuse('invalidParameter', `${full[1]} messages are stored for ${full[0]}: force=true discards them`)
    const problem = await this.#rules.putRule(rule.id, undefined, by)
    if (problem !== undefined) return toApiError(problem)
    await this.#removeOwn(ids, by)
    return undefined
  }

  async #createForNanoMq(sent: SentRule & { readonly rawsql: string }, by: Caller): Promise<Rule | ApiError> {
    const { rawsql, actions = [] } = sent
    const numbers = this.#rules.listRules().flatMap(({ id }) => (/^[1-9]\d{0,8}$/.test(id) ? [Number(id)] : []))
    const number = Math.max(0, ...numbers) + 1
    const problem = findSqlProblem(rawsql)
    if (problem !== undefined) return refuse('invalidParameter', problem)
    const read = readNanoMqActions(actions, { number, sql: rawsql })
    if ('code' in read) return read
    const puts = read.flatMap(({ connector, action }): Put[] => [
      { kind: 'connectors', what: connector },
      { kind: 'actions', what: action },
    ])
    const ids = read.map(({ action }) => `${action.type}:${action.name}`)
    return this.#put(String(number), toSettings(rawsql, sent, ids), puts, by)
  }

  async #put(id: string, settings: RuleSettings, puts: readonly Put[], by: Caller): Promise<Rule | ApiError> {
    // Before anything is changed, so that an error in the SQL needs no undo.
    const wrongSql = findSqlProblem(settings.sql)
    if (wrongSql !== undefined) return refuse('invalidParameter', wrongSql)
    const done: Put[] = []
    const takeBack = async (problem: SettingProblem): Promise<ApiError> => {
      for (const { kind, what } of done.toReversed()) await this.#rules.putResource(kind, what, undefined, by)
      return toApiError(problem)
    }
    for (const put of puts) {
      const isNew = !this.#rules
        .listResources(put.kind)
        .some(({ type, name }) => type === put.what.type && name === put.what.name)
      const problem = await this.#rules.putResource(put.kind, put.what, put.what.settings, by)
      if (problem !== undefined) return takeBack(problem)
      if (isNew) done.push(put)
    }
    const problem = await this.#rules.putRule(id, settings, by)
    return problem === undefined ? this.find(id) : takeBack(problem)
  }

  /** Messages and dead letters of each. */
  async #countStored(actions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (actions.length === 0) return new Map()
    const metrics = await this.#rules.readActionMetrics()
    return new Map(
      actions.map((id) => {
        const { queuing = 0, inflight = 0, deadLetters = 0 } = metrics.get(id) ?? {}
        return [id, queuing + inflight + deadLetters]
      }),
    )
  }

  #isOnlyOf(action: string, rule: string): boolean {
    const [type = '', name = ''] = action.split(':')
    return isCreatedWithRule(action) && this.#rules.listUsers('actions', { type, name }).every((user) => user === rule)
  }

  /** Only they have their names. */
  async #removeOwn(actions: readonly string[], by: Caller): Promise<void> {
    for (const id of actions) {
      const [type = '', name = ''] = id.split(':')
      if (!isCreatedWithRule(id) || this.#rules.listUsers('actions', { type, name }).length > 0) continue
      const problem = await this.#rules.putResource('actions', { type, name }, undefined, by)
      if (problem !== undefined) continue
      await this.#rules.discardAction(id)
      const isOfNanoMq = name.startsWith(nanoMqPrefix)
      if (isOfNanoMq && this.#rules.listUsers('connectors', { type, name }).length === 0)
        await this.#rules.putResource('connectors', { type, name }, undefined, by)
    }
  }
}

function toSettings(
  sql: string,
  { enabled, description, on_action_failed: onActionFailed }: SentRule,
  actions: readonly unknown[],
): RuleSettings {
  return { sql, actions, enable: enabled, description, onActionFailed }
}

function toPuts(read: readonly ParsedAction[]): readonly Put[] {
  return read.flatMap(({ configuredActions }) =>
    configuredActions.map((resource) => ({ kind: 'actions' as const, what: resource })),
  )
}

/** In the form of version 4. */
export function toApiError({ problem, isAbout }: SettingProblem): ApiError {
  return isAbout === 'disk' ? refuse('unknownError', problem) : refuse('invalidParameter', problem)
}
