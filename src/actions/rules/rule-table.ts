// The configured rules of a shard. A change of the configuration compiles only the rules whose SQL is new, and no change resets the counters of a
// rule that remains.

import { listWithFallbacks } from '../../config/index.ts'
import { type MatchedRule, type RuleTriggerKind, splitScopedName } from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import { type CompiledRule, compileRule, type HostFunctions } from '../../rules/index.ts'
import { groupRulesByTrigger } from '../columns/rules-by-trigger.ts'
import { addFilterNamespace, createNamespaceHost } from '../columns/namespaced-columns.ts'
import type { RuleAssignment } from '../plan/rule-plan.ts'
import type { RuleSinks } from '../results/action-input.ts'
import { RuleStatistics } from '../statistics/rule-statistics.ts'
import { compileActions, type CompileActionsContext } from './compile-actions.ts'
import type { RunningRule } from './running-rule.ts'

export interface RuleTableDependencies extends CompileActionsContext {
  readonly host: HostFunctions
  readonly sinks: Pick<RuleSinks, 'store' | 'findActionQueue'>
  monotonicMs(): number
}

/** Maximum time for which rules run or are compiled without a break, in which the shard serves clients. */
export const maxSliceMs = 2

export class RuleTable {
  readonly #dependencies: RuleTableDependencies
  #rules = new Map<string, RunningRule>()
  #byTrigger: ReadonlyMap<RuleTriggerKind, readonly RunningRule[]> = new Map()
  /** Rules that were compiled for the next call of `configure`, by ID. */
  readonly #prepared = new Map<string, CompiledRule>()

  constructor(dependencies: RuleTableDependencies) {
    this.#dependencies = dependencies
  }

  get size(): number {
    return this.#rules.size
  }

  /** Events for which rules run. */
  get triggerKinds(): Iterable<RuleTriggerKind> {
    return this.#byTrigger.keys()
  }

  list(): Iterable<RunningRule> {
    return this.#rules.values()
  }

  find(id: string): RunningRule | undefined {
    return this.#rules.get(id)
  }

  /** Returns the enabled rules for this event; undefined: there are none. */
  findByTrigger(kind: RuleTriggerKind): readonly RunningRule[] | undefined {
    return this.#byTrigger.get(kind)
  }

  /**
   * Compiles the rules whose SQL is new, before they replace the others. `pause` is called after each slice of time: the shard serves
   * clients meanwhile.
   */
  async prepare(assignments: readonly RuleAssignment[], pause: () => Promise<void>): Promise<void> {
    let startMs = this.#dependencies.monotonicMs()
    for (const { id, sql } of assignments) {
      if (this.#rules.get(id)?.compiled.sql === sql) continue
      this.#prepared.set(id, compileRule(sql, { ruleId: splitScopedName(id).name }))
      if (this.#dependencies.monotonicMs() - startMs < maxSliceMs) continue
      await pause()
      startMs = this.#dependencies.monotonicMs()
    }
  }

  /** Replaces the rules, whose SQL was checked. Returns the topic filters of the enabled ones. */
  configure(
    assignments: readonly RuleAssignment[],
    ignoresSysMessages: boolean,
  ): readonly (readonly [TopicFilter, MatchedRule])[] {
    const rules = new Map<string, RunningRule>()
    const filters: (readonly [TopicFilter, MatchedRule])[] = []
    for (const assignment of assignments) {
      const rule = this.#compile(assignment)
      rules.set(rule.id, rule)
      if (!assignment.isEnabled) continue
      for (const filter of rule.compiled.topicFilters) {
        const isIgnored = ignoresSysMessages && filter.startsWith('$SYS/')
        const within = rule.namespace === undefined ? filter : addFilterNamespace(rule.namespace, filter)
        if (!isIgnored && within !== undefined) filters.push([within, rule])
      }
    }
    this.#rules = rules
    this.#prepared.clear()
    this.#byTrigger = groupRulesByTrigger(
      assignments.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : [])),
      rules,
    )
    return filters
  }

  #compile({ id, sql, actions, stopsAtFailure }: RuleAssignment): RunningRule {
    const { host, sinks } = this.#dependencies
    const known = this.#rules.get(id)
    const { namespace, name } = splitScopedName(id)
    const prepared = [known?.compiled, this.#prepared.get(id)].find((each) => each?.sql === sql)
    const all = listWithFallbacks(actions)
    const actionQueues = all.flatMap((action) => {
      const queue = action.kind === 'action' ? sinks.findActionQueue(action.id) : undefined
      return queue === undefined ? [] : [queue]
    })
    const statistics = known?.statistics ?? new RuleStatistics()
    statistics.setActionCount(all.length)
    return {
      id,
      namespace,
      host: namespace === undefined ? host : createNamespaceHost(host, namespace),
      actionQueues,
      sinkActions: actions.flatMap((action) => (action.kind === 'action' ? [action.id] : [])),
      compiled: prepared ?? compileRule(sql, { ruleId: name }),
      actions: compileActions(id, actions, this.#dependencies),
      stopsAtFailure,
      statistics,
      isRunning: false,
    }
  }
}
