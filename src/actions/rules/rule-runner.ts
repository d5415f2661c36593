// The rules of a shard. The core selects those whose filters match a message. They are evaluated and their actions run within the
// turn of the message.
//
//   core ──run(rules, message)──► evaluate ──► republish: a publication in the core
//                                        ├───► console: a line in the log
//                                        └───► type:name: an entry in the action queue
//
// A rule never affects the message: errors are counted and shown as the last error of the rule.

import { randomBytes } from 'node:crypto'
import { type PlainRuleAction, type RuleActionConfig, withFallbacks } from '../../config/index.ts'
import {
  messageOfTrigger,
  splitScopedName,
  type AuthorizationTrigger,
  type MatchedRule,
  type Message,
  type RuleActions,
  type RuleHook,
  type RuleTrigger,
  type RuleTriggerKind,
} from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import {
  compileRule,
  type RuleError,
  RuleEvent,
  valueAsJson,
  type CompiledRule,
  type EventFields,
  type HostFunctions,
  type RuleMap,
} from '../../rules/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { RuleAssignment, RulePlan, RuleReport } from '../plan/rule-plan.ts'
import { StoppedRuleLog } from './stopped-rule-log.ts'
import { EventMessages } from '../columns/event-messages.ts'
import { MessageColumns, type PublisherFacts } from '../columns/message-columns.ts'
import {
  ColumnsWithin,
  filterWithin,
  hostWithin,
  namespaceOfTrigger,
  publicationWithin,
} from '../columns/rule-namespace.ts'
import { compileRepublish } from '../results/republish.ts'
import { failureText, outcomeOf } from '../results/action-outcome.ts'
import type { EvaluateAgain } from '../results/retry-letter.ts'
import { MessageResults } from '../results/result-limits.ts'
import type { Original, RuleSinks } from '../results/action-input.ts'
import { type ActionOutcome, RuleStatistics } from '../statistics/rule-statistics.ts'
import { sourceColumns, type SourceColumnsContext } from '../columns/source-columns.ts'
import { rulesByTrigger } from '../columns/rules-by-trigger.ts'
import { eventOfTrigger, triggerColumns, type TriggerColumnsContext } from '../columns/trigger-columns.ts'

/** Maximum depth of rules that trigger each other through `republish`. */
const maxRuleDepth = 16

/** Maximum characters of an output that the action `console` writes. */
const maxConsoleLength = 10_000

/** The context in which a rule runs, in addition to the event. */
interface RunContext {
  readonly original: Original
  readonly actions: RuleActions
}

/** Why a rule was stopped for a message. */
type StopReason = Pick<RuleError, 'message' | 'kind'>

interface ActionRun extends RunContext {
  /** The event for which the rule ran. */
  readonly event: RuleEvent
}

type RunAction = (output: RuleMap, actionRun: ActionRun) => ActionOutcome

interface NumberedAction {
  /** Index of the counters of the action. */
  readonly counterIndex: number
  readonly run: RunAction
}

interface CompiledAction extends NumberedAction {
  readonly fallbacks: readonly NumberedAction[]
}

/**
 * Maximum time for which rules run for triggers without a break, in which the shard serves clients; and number of triggers between two
 * readings of the clock.
 */
const maxTriggerTurnMs = 2
const triggersBetweenClockReads = 16

const noOriginal: Original = { qos: 0, retain: false }

interface RunningRule extends MatchedRule {
  /** Rules that this one triggers by `republish` add the queues of their actions. */
  readonly actionQueues: string[]
  /** IDs of the actions that send to services, without fallbacks. */
  readonly sinkActions: readonly string[]
  /** Undefined: the rule belongs to no namespace. */
  readonly namespace: string | undefined
  readonly host: HostFunctions
  readonly compiled: CompiledRule
  readonly actions: readonly CompiledAction[]
  readonly stopsAtFailure: boolean
  readonly statistics: RuleStatistics
  /** Prevents a rule from running for its own publications. */
  isRunning: boolean
}

export interface RuleRunnerDependencies {
  readonly log: Log
  readonly host: HostFunctions
  readonly nodeName: string
  publisher(clientId: string): PublisherFacts | undefined
  /** Returns the source of a decision, by the names of the column `authz_source`. */
  authorizationSource(trigger: AuthorizationTrigger): string
  /** Returns the time by which the duration of rules is measured. */
  monotonicMs(): number
  /** Returns the address of the service of a source. */
  serverOf(source: string): string | undefined
  readonly sinks: RuleSinks
  /** Passes rules to the core. */
  setRules(rules: readonly (readonly [TopicFilter, MatchedRule])[], triggers: ReadonlySet<RuleTriggerKind>): void
}

/** The clock of the turn is checked after a millisecond of rules: other clients wait for one evaluation, not for those of all packets of a chunk. */
const costlyStepsPerMs = 16

export class RuleRunner implements RuleHook {
  readonly #dependencies: RuleRunnerDependencies
  readonly #context: TriggerColumnsContext & SourceColumnsContext
  #rules = new Map<string, RunningRule>()
  #rulesByTrigger: ReadonlyMap<RuleTriggerKind, readonly RunningRule[]> = new Map()
  /** Rules that were compiled for the next call of `configure`, by ID. */
  readonly #prepared = new Map<string, CompiledRule>()
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
    this.#stopLog = new StoppedRuleLog(dependencies.log)
    this.#context = {
      nodeName: dependencies.nodeName,
      publisher: (clientId) => dependencies.publisher(clientId),
      authorizationSource: (trigger) => dependencies.authorizationSource(trigger),
      serverOf: (source) => dependencies.serverOf(source),
      nextMessageId: () => this.#idPrefix + (++this.#messageIds).toString(16).toUpperCase().padStart(12, '0'),
    }
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
      if (this.#dependencies.monotonicMs() - startMs < maxTriggerTurnMs) continue
      await pause()
      startMs = this.#dependencies.monotonicMs()
    }
  }

  /** Replaces the rules. Their SQL was checked. A rule with unchanged SQL is not compiled again. */
  configure(
    assignments: readonly RuleAssignment[],
    options: Pick<RulePlan, 'ignoresSysMessages' | 'eventMessages'>,
  ): void {
    const rules = new Map<string, RunningRule>()
    const filters: (readonly [TopicFilter, MatchedRule])[] = []
    for (const assignment of assignments) {
      const rule = this.#compile(assignment)
      rules.set(rule.id, rule)
      if (!assignment.isEnabled) continue
      for (const filter of rule.compiled.topicFilters) {
        const isIgnored = options.ignoresSysMessages && filter.startsWith('$SYS/')
        const within = rule.namespace === undefined ? filter : filterWithin(rule.namespace, filter)
        if (!isIgnored && within !== undefined) filters.push([within, rule])
      }
    }
    this.#rules = rules
    this.#prepared.clear()
    this.#rulesByTrigger = rulesByTrigger(
      assignments.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : [])),
      rules,
    )
    this.#eventMessages = new EventMessages(options.eventMessages)
    const triggers = new Set([...this.#rulesByTrigger.keys(), ...this.#eventMessages.kinds])
    this.#dependencies.setRules(filters, triggers)
    clearInterval(this.#seconds)
    if (rules.size > 0) this.#seconds = setInterval(() => this.#noteSecond(), 1_000).unref()
  }

  run(matched: readonly MatchedRule[], message: Message, actions: RuleActions): number {
    if (this.#depth >= maxRuleDepth) {
      this.#noteDepth(matched as readonly RunningRule[])
      return 0
    }
    const columns = sourceColumns(message, this.#context) ?? new MessageColumns(message, this.#context)
    const startMs = this.#depth === 0 ? this.#dependencies.monotonicMs() : undefined
    this.#runAll(matched as readonly RunningRule[], columns, { original: message, actions, trigger: undefined })
    return startMs === undefined ? 0 : (this.#dependencies.monotonicMs() - startMs) * costlyStepsPerMs
  }

  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number {
    const startMs = this.#dependencies.monotonicMs()
    let done = 0
    for (const trigger of triggers) {
      const columns = triggerColumns(trigger, this.#context)
      const rules = this.#rulesByTrigger.get(trigger.kind)
      if (rules !== undefined) {
        const original = messageOfTrigger(trigger) ?? noOriginal
        this.#runAll(rules, columns, { original, actions, trigger })
      }
      this.#eventMessages.publish(trigger, new RuleEvent(columns), actions)
      done++
      const isClockCheckDue = done % triggersBetweenClockReads === 0
      if (isClockCheckDue && this.#dependencies.monotonicMs() - startMs >= maxTriggerTurnMs) break
    }
    return done
  }

  noteLost(lost: ReadonlyMap<RuleTriggerKind, number>): void {
    for (const [kind, count] of lost) {
      for (const { statistics } of this.#rulesByTrigger.get(kind) ?? []) {
        statistics.counters.matched += count
        statistics.counters.exceptions += count
        statistics.noteError(`${count} events ${eventOfTrigger[kind]} occurred faster than rules ran, and were dropped`)
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
      if (namespace !== undefined && context.trigger !== undefined && namespaceOfTrigger(context.trigger) !== namespace)
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
  noteDelivered(ruleId: string, isDone: boolean, why: string): void {
    const statistics = this.#rules.get(ruleId)?.statistics
    if (statistics === undefined) return
    if (isDone) statistics.counters.actionsSuccess++
    else this.#noteFailedAction(ruleId, statistics, why)
  }

  noteFallbackFailure(ruleId: string, why: string): void {
    this.#rules.get(ruleId)?.statistics.noteError(why)
  }

  /** Runs `work`, which a result of the rule has caused. The rule does not run for the messages and events of `work`. */
  runWithout(ruleId: string, work: () => void): void {
    const rule = this.#rules.get(ruleId)
    if (rule === undefined || rule.isRunning) return work()
    rule.isRunning = true
    work()
    rule.isRunning = false
  }

  reports(): readonly RuleReport[] {
    return [...this.#rules.values()].map(({ id, statistics }) => statistics.report(id))
  }

  reset(ruleId: string): void {
    this.#rules.get(ruleId)?.statistics.reset()
  }

  stop(): void {
    clearInterval(this.#seconds)
  }

  #compile(assignment: RuleAssignment): RunningRule {
    const { id, sql } = assignment
    const known = this.#rules.get(id)
    const { namespace, name } = splitScopedName(id)
    const prepared = [known?.compiled, this.#prepared.get(id)].find((each) => each?.sql === sql)
    const compiled = prepared ?? compileRule(sql, { ruleId: name })
    const all = withFallbacks(assignment.actions)
    const actionQueues = all.flatMap((action) => {
      const queue = action.kind === 'action' ? this.#dependencies.sinks.actionQueueOf(action.id) : undefined
      return queue === undefined ? [] : [queue]
    })
    const actions = this.#compileActions(id, assignment.actions)
    const statistics = known?.statistics ?? new RuleStatistics()
    statistics.setActionCount(all.length)
    const { host } = this.#dependencies
    return {
      id,
      namespace,
      host: namespace === undefined ? host : hostWithin(host, namespace),
      actionQueues,
      sinkActions: assignment.actions.flatMap((action) => (action.kind === 'action' ? [action.id] : [])),
      compiled,
      actions,
      stopsAtFailure: assignment.stopsAtFailure,
      statistics,
      isRunning: false,
    }
  }

  /** Compiles actions and fallbacks. The counters of fallbacks follow those of all actions. */
  #compileActions(rule: string, actions: readonly RuleActionConfig[]): readonly CompiledAction[] {
    let nextIndex = actions.length
    return actions.map((action, counterIndex) => ({
      counterIndex,
      run: this.#compileAction(rule, action),
      fallbacks: (action.fallbacks ?? []).map((fallback) => ({
        counterIndex: nextIndex++,
        run: this.#compileAction(rule, fallback),
      })),
    }))
  }

  #compileAction(rule: string, action: PlainRuleAction): RunAction {
    const { log, sinks } = this.#dependencies
    switch (action.kind) {
      case 'console':
        return (output) => {
          const text = valueAsJson(output)
          log.info('rule output', { rule, output: text.slice(0, maxConsoleLength) })
          return 'success'
        }
      case 'do-nothing':
        return () => 'success'
      case 'republish': {
        const make = compileRepublish(action.arguments)
        const { namespace } = splitScopedName(rule)
        return (output, { original, actions }) => {
          const publication = make(output, original)
          const failure = actions.publish(
            namespace === undefined ? publication : publicationWithin(namespace, publication),
          )
          return failure === undefined ? 'success' : { failure: `republish: ${failureText(failure)}` }
        }
      }
      case 'action':
        return (output, { actions, event, original }) => {
          if (this.#depth > 1) this.#addActionQueue(action.id)
          const failure = sinks.store(action.id, { rule, output, actions, event, original })
          if (failure === undefined) return 'stored'
          return failure === 'action-queue-full' ? 'discarded' : { failure: `${action.id}: ${failureText(failure)}` }
        }
      default:
        throw action satisfies never
    }
  }

  /**
   * A rule was triggered by the publication of another one. Publishers of messages for the other rule will wait for the action as well:
   * when it republishes, no publisher waits.
   */
  #addActionQueue(action: string): void {
    const queue = this.#dependencies.sinks.actionQueueOf(action)
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
      statistics.noteError(result.error.message)
      if (result.error.kind !== 'evaluation')
        this.#storeStopped(rule, result.error, { event, actions: context.actions })
      return
    }
    const limit = this.#results.add(result.outputs, rule.actions.length, event)
    if (limit !== undefined) {
      counters.exceptions++
      statistics.noteError(limit.message)
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
      topic: valueAsJson(event.column('topic')),
      dead_letters: stored.length,
    }
    if (kind === 'internal') log.error('rule failed', fields)
    else this.#stopLog.note(rule.id, fields)
  }

  /** Evaluates a rule for a stored message. Returns its results, or why it has none. */
  evaluate(ruleId: string, event: RuleEvent): ReturnType<EvaluateAgain> {
    const rule = this.#rules.get(ruleId)
    if (rule === undefined) return { failure: `the rule ${ruleId} does not exist, or is disabled` }
    const result = rule.compiled.evaluate(event, rule.host)
    if (result.outcome === 'failed') {
      rule.statistics.noteError(result.error.message)
      return { failure: `the rule ${ruleId} fails again: ${result.error.message}` }
    }
    return result.outcome === 'passed' ? result.outputs : []
  }

  /** Returns false if the action failed. A service may still refuse the result later, which does not count here. */
  #runAction(rule: RunningRule, { counterIndex, run }: NumberedAction, output: RuleMap, actionRun: ActionRun): boolean {
    const { statistics } = rule
    statistics.counters.actionsTotal++
    const outcome = outcomeOf(() => run(output, actionRun))
    statistics.noteFunction(counterIndex, outcome)
    this.#noteOutcome(rule, outcome)
    return outcome === 'success' || outcome === 'stored'
  }

  #noteOutcome({ id, statistics }: RunningRule, outcome: ActionOutcome): void {
    const { counters } = statistics
    if (outcome === 'success') counters.actionsSuccess++
    else if (outcome === 'discarded') {
      counters.actionsDiscarded++
      statistics.noteError('the action queue is full')
    } else if (outcome !== 'stored') this.#noteFailedAction(id, statistics, outcome.failure)
  }

  #noteFailedAction(rule: string, statistics: RuleStatistics, why: string): void {
    statistics.counters.actionsFailed++
    statistics.noteError(why)
    this.#dependencies.log.debug('rule action failed', { rule, why })
  }

  #noteDepth(matched: readonly RunningRule[]): void {
    for (const { statistics } of matched) {
      statistics.counters.matched++
      statistics.counters.exceptions++
      statistics.noteError(`rules trigger each other by republish more than ${maxRuleDepth} times for one message`)
    }
  }

  #noteSecond(): void {
    for (const { statistics } of this.#rules.values()) statistics.noteSecond()
    this.#dependencies.sinks.noteSecond()
    this.#stopLog.noteSecond()
  }
}
