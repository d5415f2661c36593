// Rules, connectors, actions and sources of one namespace, or of none. In the configuration their names end in the namespace
// (`hook@plant`); this file adds the namespace to names in requests and removes it
// from names in replies, so that an account of a namespace cannot name anything else.

import { mapActionNames, mapSettingNames, refusalOfFiles, type Resource } from '../../actions/index.ts'
import type { Caller } from '../../contract/index.ts'
import { scopedName, splitScopedName } from '../../core/index.ts'
import type { SettingProblem } from '../context/setting-writer.ts'
import type { RuleOperations, RuleSettings } from './rules.ts'

/** `sqlOfNamespace`: the functions that test SQL with the values of this namespace only and without environment variables. */
export function scopedRuleOperations(
  whole: RuleOperations,
  namespace: string | undefined,
  sqlOfNamespace: Pick<RuleOperations, 'test' | 'explain'> = whole,
): RuleOperations {
  const scope = new Scope(namespace)
  const actionsOf = scope.mapKeys
  return {
    ...whole,
    test: sqlOfNamespace.test,
    explain: sqlOfNamespace.explain,
    rules: () =>
      whole.rules().flatMap((rule) => {
        const id = scope.own(rule.id)
        return id === undefined ? [] : [{ ...rule, id, actions: rule.actions.map((action) => scope.shown(action)) }]
      }),
    putRule: async (id, settings, by) => {
      const actions = settings?.actions?.map((action) => mapActionNames(action, (name) => scope.name(name)))
      const scoped: RuleSettings | undefined =
        settings === undefined || actions === undefined ? settings : { ...settings, actions }
      return scope.problem(await whole.putRule(scope.name(id), scoped, by))
    },
    ruleMetrics: (id) => whole.ruleMetrics(scope.name(id)),
    metricsOfRules: async () => scope.mapKeys(await whole.metricsOfRules()),
    resetRule: (id) => whole.resetRule(scope.name(id)),
    resources: (kind) => whole.resources(kind).flatMap((resource) => scope.resource(resource)),
    putResource: async (kind, { type, name }, settings, by) => {
      const refusal = settings === undefined ? undefined : refusalFor(type, settings, by)
      if (refusal !== undefined) return { problem: refusal, isAbout: 'settings' }
      const scoped = settings === undefined ? undefined : scope.settings(settings)
      return scope.problem(await whole.putResource(kind, { type, name: scope.name(name) }, scoped, by))
    },
    probe: async (kind, { type, name }, settings, by) => {
      const refusal = refusalFor(type, settings, by)
      if (refusal !== undefined) return refusal
      const problem = await whole.probe(kind, { type, name: scope.name(name) }, scope.settings(settings), by)
      return problem === undefined ? undefined : scope.text(problem)
    },
    usersOf: (kind, { type, name }) =>
      whole.usersOf(kind, { type, name: scope.name(name) }).map((user) => splitScopedName(user).name),
    actionMetrics: async () => actionsOf(await whole.actionMetrics()),
    sourceMetrics: async () => scope.mapKeys(await whole.sourceMetrics()),
    resetSource: (source) => whole.resetSource(scope.name(source)),
    controlSource: (source, what) => whole.controlSource(scope.name(source), what),
    resetAction: (action) => whole.resetAction(scope.name(action)),
    controlAction: (action, what) => whole.controlAction(scope.name(action), what),
    discardAction: (action) => whole.discardAction(scope.name(action)),
    queuedResults: async (action) =>
      (await whole.queuedResults(scope.name(action))).map((result) => scope.ofRule(result)),
    discardQueuedResults: (action, entry) => whole.discardQueuedResults(scope.name(action), entry),
    deadLetters: async (action) => (await whole.deadLetters(scope.name(action))).map((letter) => scope.ofRule(letter)),
    deleteDeadLetters: (action, letter) => whole.deleteDeadLetters(scope.name(action), letter),
    retryDeadLetters: (action, letter) => whole.retryDeadLetters(scope.name(action), letter),
    retryProgress: (action) => whole.retryProgress(scope.name(action)),
  }
}

class Scope {
  readonly #namespace: string | undefined

  constructor(namespace: string | undefined) {
    this.#namespace = namespace
  }

  /** Returns the name in the configuration. */
  name(own: string): string {
    return scopedName(this.#namespace, own)
  }

  /** Returns the name in this namespace; undefined if the name is of another namespace. */
  own(name: string): string | undefined {
    const split = splitScopedName(name)
    return split.namespace === this.#namespace ? split.name : undefined
  }

  readonly mapKeys = <Value>(all: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> =>
    new Map(
      [...all].flatMap(([name, value]) => {
        const own = this.own(name)
        return own === undefined ? [] : [[own, value] as const]
      }),
    )

  shown(action: unknown): unknown {
    return this.#namespace === undefined ? action : mapActionNames(action, (name) => splitScopedName(name).name)
  }

  settings(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return mapSettingNames(settings, (name) => this.name(name))
  }

  resource({ type, name, settings }: Resource): Resource[] {
    const own = this.own(name)
    if (own === undefined) return []
    if (this.#namespace === undefined) return [{ type, name: own, settings }]
    return [{ type, name: own, settings: mapSettingNames(settings, (scoped) => splitScopedName(scoped).name) }]
  }

  ofRule<Stored extends { readonly rule: string }>(stored: Stored): Stored {
    return { ...stored, rule: splitScopedName(stored.rule).name }
  }

  problem(problem: SettingProblem | undefined): SettingProblem | undefined {
    return problem === undefined ? undefined : { ...problem, problem: this.text(problem.problem) }
  }

  text(text: string): string {
    return this.#namespace === undefined ? text : text.replaceAll(scopedName(this.#namespace, ''), '')
  }
}

/** An account of a namespace must not use files of this machine. Only a global administrator can configure files. */
function refusalFor(type: string, settings: unknown, { namespace }: Pick<Caller, 'namespace'>): string | undefined {
  return namespace === undefined ? undefined : refusalOfFiles(type, settings)
}
