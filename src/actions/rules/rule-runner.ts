// The rules of a shard. The core selects those whose filters match a message. They are evaluated and their actions run within the
// turn of the message.
//
//   core ──run(rules, message)──► evaluate ──► republish: a publication in the core
//                                        ├───► console: a line in the log
//                                        └───► type:name: an entry in the action queue
//
// A rule never affects the message: errors are counted and shown as the last error of the rule.

import { randomBytes } from 'node:crypto'
import {
  findTriggerMessage,
  type AuthorizationTrigger,
  type MatchedRule,
  type Message,
  type RuleActions,
  type RuleHook,
  type RuleTrigger,
  type RuleTriggerKind,
} from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import { type EventFields, type HostFunctions, RuleEvent, toJsonText } from '../../rules/index.ts'
import type { RuleError, RuleMap } from '../../values/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { EventMessages } from '../columns/event-messages.ts'
import { MessageColumns, type PublisherFacts } from '../columns/message-columns.ts'
import { ColumnsWithin, findTriggerNamespace } from '../columns/namespaced-columns.ts'
import { createSourceColumns, type SourceColumnsContext } from '../columns/source-columns.ts'
import { eventOfTrigger, createTriggerColumns, type TriggerColumnsContext } from '../columns/trigger-columns.ts'
import type { RuleAssignment, RulePlan } from '../plan/rule-plan.ts'
import type { RuleReport } from '../plan/rule-reports.ts'
import type { RuleSinks } from '../results/action-input.ts'
import { runAction } from '../results/action-outcome.ts'
import { MessageResults } from '../results/result-limits.ts'
import type { EvaluateAgain } from '../results/retry-letter.ts'
import type { ActionOutcome, RuleStatistics } from '../statistics/rule-statistics.ts'
import { maxSliceMs, RuleTable } from './rule-table.ts'
import type { ActionRun, NumberedAction, RunContext, RunningRule } from './running-rule.ts'
import { StoppedRuleLog } from './stopped-rule-log.ts'

/** Maximum depth of rules that trigger each other through `republish`. */
const maxRuleDepth = 16

/** Why a rule was stopped for a message. */
type StopReason = Pick<RuleError, 'message' | 'kind'>

/** Number of triggers between two readings of the clock. */
const triggersBetweenClockReads = 16

const noOriginal: RunContext['original'] = { qos: 0, retain: false }

export interface RuleRunnerDependencies {
  readonly log: Log
  readonly host: HostFunctions
  readonly nodeName: string
  findPublisher(clientId: string): PublisherFacts | undefined
  /** Returns the source of a decision, by the names of the column `authz_source`. */
  findAuthorizationSource(trigger: AuthorizationTrigger): string
  /** Returns the time by which the duration of rules is measured. */
  monotonicMs(): number
  /** Returns the address of the service of a source. */
  findServer(source: string): string | undefined
  readonly sinks: RuleSinks
  /** Passes rules to the core. */
  setRules(rules: readonly (readonly [TopicFilter, MatchedRule])[], triggers: ReadonlySet<RuleTriggerKind>): void
}

/** The clock of the turn is checked after a millisecond of rules: other clients wait for one evaluation, not for those of all packets of a chunk. */
const costlyStepsPerMs = 16

export class RuleRunner implements RuleHook {
  readonly #dependencies: RuleRunnerDependencies
  readonly #context: TriggerColumnsContext & SourceColumnsContext
  readonly #rules: RuleTable
  #eventMessages = new EventMessages([])
  #depth = 0
  /** Results of the message for which rules run. */
  readonly #results = new MessageResults()
  /** Rules that run now: each has triggered the next one. */
  readonly #runningRules: RunningRule[] = []
  #messageIds = 0
  readonly #idPrefix = randomBytes(10).toString('hex').toUpperCase()
  #seconds: NodeJS.Timeout | undefined
  readonly #stopLog: StoppedRuleLog

  constructor(dependencies: RuleRunnerDependencies) {
    this.#dependencies = dependencies
    const { log, host, sinks } = dependencies
    this.#rules = new RuleTable({
      log,
      host,
      sinks,
      monotonicMs: () => dependencies.monotonicMs(),
      onActionUsed: (action) => {
        if (this.#depth > 1) this.#addActionQueue(action)
      },
    })
    this.#stopLog = new StoppedRuleLog(dependencies.log)
    this.#context = {
      nodeName: dependencies.nodeName,
      findPublisher: (clientId) => dependencies.findPublisher(clientId),
      findAuthorizationSource: (trigger) => dependencies.findAuthorizationSource(trigger),
      findServer: (source) => dependencies.findServer(source),
      createMessageId: () => this.#idPrefix + (++this.#messageIds).toString(16).toUpperCase().padStart(12, '0'),
    }
  }

  /** Compiles the rules whose SQL is new. `pause` is called after each slice of time. */
  prepare(assignments: readonly RuleAssignment[], pause: () => Promise<void>): Promise<void> {
    return this.#rules.prepare(assignments, pause)
  }

  /** Replaces the rules. Their SQL was checked. A rule with unchanged SQL is not compiled again. */
  configure(
    assignments: readonly RuleAssignment[],
    { ignoresSysMessages, eventMessages }: Pick<RulePlan, 'ignoresSysMessages' | 'eventMessages'>,
  ): void {
    const filters = this.#rules.configure(assignments, ignoresSysMessages)
    this.#eventMessages = new EventMessages(eventMessages)
    this.#dependencies.setRules(filters, new Set([...this.#rules.triggerKinds, ...this.#eventMessages.kinds]))
    clearInterval(this.#seconds)
    if (this.#rules.size > 0) this.#seconds = setInterval(() => this.#handleSecond(), 1_000).unref()
  }

  run(matched: readonly MatchedRule[], message: Message, actions: RuleActions): number {
    if (this.#depth >= maxRuleDepth) {
      this.#recordDepthExceeded(matched as readonly RunningRule[])
      return 0
    }
    const columns = createSourceColumns(message, this.#context) ?? new MessageColumns(message, this.#context)
    const startMs = this.#depth === 0 ? this.#dependencies.monotonicMs() : undefined
    this.#runAll(matched as readonly RunningRule[], columns, { original: message, actions, trigger: undefined })
    return startMs === undefined ? 0 : (this.#dependencies.monotonicMs() - startMs) * costlyStepsPerMs
  }

  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number {
    const startMs = this.#dependencies.monotonicMs()
    let done = 0
    for (const trigger of triggers) {
      const columns = createTriggerColumns(trigger, this.#context)
      const rules = this.#rules.findByTrigger(trigger.kind)
      if (rules !== undefined) {
        const original = findTriggerMessage(trigger) ?? noOriginal
        this.#runAll(rules, columns, { original, actions, trigger })
      }
      this.#eventMessages.publish(trigger, new RuleEvent(columns), actions)
      done++
      const isClockCheckDue = done % triggersBetweenClockReads === 0
      if (isClockCheckDue && this.#dependencies.monotonicMs() - startMs >= maxSliceMs) break
    }
    return done
  }

  recordLost(lost: ReadonlyMap<RuleTriggerKind, number>): void {
    for (const [kind, count] of lost) {
      for (const { statistics } of this.#rules.findByTrigger(kind) ?? []) {
        statistics.counters.matched += count
        statistics.counters.exceptions += count
        statistics.recordError(
          `${count} events ${eventOfTrigger[kind]} occurred faster than rules ran, and were dropped`,
        )
      }
    }
  }

  #runAll(
    rules: readonly RunningRule[],
    columns: EventFields,
    context: RunContext & { readonly trigger: RuleTrigger | undefined },
  ): void {
    if (this.#depth === 0) this.#results.reset()
    this.#depth++
    let globalEvent: RuleEvent | undefined
    let namespacedEvent: RuleEvent | undefined
    for (const rule of rules) {
      const { namespace } = rule
      if (rule.isRunning) continue
      // A message matches rules of its own namespace only.
      if (
        namespace !== undefined &&
        context.trigger !== undefined &&
        findTriggerNamespace(context.trigger) !== namespace
      )
        continue
      const event =
        namespace === undefined
          ? (globalEvent ??= new RuleEvent(columns))
          : (namespacedEvent ??= new RuleEvent(new ColumnsWithin(columns, namespace)))
      rule.isRunning = true
      this.#runningRules.push(rule)
      this.#runOne(rule, event, context)
      this.#runningRules.pop()
      rule.isRunning = false
    }
    this.#depth--
  }

  /** Counts a result of the rule that its service has accepted or finally refused. */
  recordDelivered(ruleId: string, isDone: boolean, why: string): void {
    const statistics = this.#rules.find(ruleId)?.statistics
    if (statistics === undefined) return
    if (isDone) statistics.counters.actionsSuccess++
    else this.#recordFailedAction(ruleId, statistics, why)
  }

  recordFallbackFailure(ruleId: string, why: string): void {
    this.#rules.find(ruleId)?.statistics.recordError(why)
  }

  /** Runs `work`, which a result of the rule has caused. The rule does not run for the messages and events of `work`. */
  runWithoutRule(ruleId: string, work: () => void): void {
    const rule = this.#rules.find(ruleId)
    if (rule === undefined || rule.isRunning) return work()
    rule.isRunning = true
    work()
    rule.isRunning = false
  }

  listReports(): readonly RuleReport[] {
    return [...this.#rules.list()].map(({ id, statistics }) => statistics.report(id))
  }

  reset(ruleId: string): void {
    this.#rules.find(ruleId)?.statistics.reset()
  }

  stop(): void {
    clearInterval(this.#seconds)
  }

  /**
   * A rule was triggered by the publication of another one. Publishers of messages for the other rule will wait for the action as well:
   * when it republishes, no publisher waits.
   */
  #addActionQueue(action: string): void {
    const queue = this.#dependencies.sinks.findActionQueue(action)
    if (queue === undefined) return
    for (const { actionQueues } of this.#runningRules) if (!actionQueues.includes(queue)) actionQueues.push(queue)
  }

  #runOne(rule: RunningRule, event: RuleEvent, context: RunContext): void {
    const { statistics, compiled } = rule
    const { counters } = statistics
    counters.matched++
    const result = compiled.evaluate(event, rule.host)
    if (result.outcome === 'no-result') {
      counters.noResult++
      return
    }
    if (result.outcome === 'failed') {
      counters.exceptions++
      statistics.recordError(result.error.message)
      if (result.error.kind !== 'evaluation')
        this.#storeStopped(rule, result.error, { event, actions: context.actions })
      return
    }
    const limit = this.#results.add(result.outputs, rule.actions.length, event)
    if (limit !== undefined) {
      counters.exceptions++
      statistics.recordError(limit.message)
      return this.#storeStopped(rule, limit, { event, actions: context.actions })
    }
    counters.passed++
    const actionRun = { ...context, event }
    for (const output of result.outputs) {
      for (const action of rule.actions) {
        if (this.#runAction(rule, action, output, actionRun)) continue
        for (const fallback of action.fallbacks) this.#runAction(rule, fallback, output, actionRun)
        // Results of one message stay in order, so later results are dropped as well.
        if (rule.stopsAtFailure) return
      }
    }
  }

  /**
   * The rule was stopped by a limit or an internal error, so the message would be lost for its actions: those that send to services get it
   * as a dead letter, in the batch for which the acknowledgement of the message waits.
   */
  #storeStopped(
    rule: RunningRule,
    { message: why, kind }: StopReason,
    { event, actions }: Pick<ActionRun, 'event' | 'actions'>,
  ): void {
    const { log, sinks } = this.#dependencies
    const stored = rule.sinkActions.filter(
      (action) => sinks.storeStopped(action, { rule: rule.id, event, actions, why }) === undefined,
    )
    const fields = {
      rule: rule.id,
      reason: why,
      topic: toJsonText(event.readColumn('topic')),
      dead_letters: stored.length,
    }
    if (kind === 'internal') log.error('rule failed', fields)
    else this.#stopLog.record(rule.id, fields)
  }

  /** Evaluates a rule for a stored message. Returns its results, or why it has none. */
  evaluate(ruleId: string, event: RuleEvent): ReturnType<EvaluateAgain> {
    const rule = this.#rules.find(ruleId)
    if (rule === undefined) return { failure: `the rule ${ruleId} does not exist, or is disabled` }
    const result = rule.compiled.evaluate(event, rule.host)
    if (result.outcome === 'failed') {
      rule.statistics.recordError(result.error.message)
      return { failure: `the rule ${ruleId} fails again: ${result.error.message}` }
    }
    return result.outcome === 'passed' ? result.outputs : []
  }

  /** Returns false if the action failed. A service may still refuse the result later, which does not count here. */
  #runAction(rule: RunningRule, { counterIndex, run }: NumberedAction, output: RuleMap, actionRun: ActionRun): boolean {
    const { statistics } = rule
    statistics.counters.actionsTotal++
    const outcome = runAction(() => run(output, actionRun))
    statistics.countOutcome(counterIndex, outcome)
    this.#recordOutcome(rule, outcome)
    return outcome === 'success' || outcome === 'stored'
  }

  #recordOutcome({ id, statistics }: RunningRule, outcome: ActionOutcome): void {
    const { counters } = statistics
    if (outcome === 'success') counters.actionsSuccess++
    else if (outcome === 'discarded') {
      counters.actionsDiscarded++
      statistics.recordError('the action queue is full')
    } else if (outcome !== 'stored') this.#recordFailedAction(id, statistics, outcome.failure)
  }

  #recordFailedAction(rule: string, statistics: RuleStatistics, why: string): void {
    statistics.counters.actionsFailed++
    statistics.recordError(why)
    this.#dependencies.log.debug('rule action failed', { rule, why })
  }

  #recordDepthExceeded(matched: readonly RunningRule[]): void {
    for (const { statistics } of matched) {
      statistics.counters.matched++
      statistics.counters.exceptions++
      statistics.recordError(`rules trigger each other by republish more than ${maxRuleDepth} times for one message`)
    }
  }

  #handleSecond(): void {
    for (const { statistics } of this.#rules.list()) statistics.recordSecond()
    this.#dependencies.sinks.handleSecond()
    this.#stopLog.logCounted()
  }
}
