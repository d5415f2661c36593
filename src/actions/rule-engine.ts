// Rules and actions of a shard. They are created before the shard, because its core runs rules, and are active when the
// action queues are open.

import type { RetryProgress } from './delivery/dead-letter-retry.ts'
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SchemaRegistry } from '../schemas/index.ts'
import type { LibraryName } from '../sinks/index.ts'
import type { RulePlan } from './plan/rule-plan.ts'
import type { DeadLetterReport, QueuedResultReport, RuleEngineReport, TopicMetricsReport } from './plan/rule-reports.ts'
import type { ActionBroker } from './action-broker.ts'
import { ActionManager } from './queues/action-manager.ts'
import { findAuthorizationSource } from './columns/authorization-source.ts'
import type { LiveBatch } from './watches/live-batch.ts'
import { LiveWatches, type WatchQuery } from './watches/live-watches.ts'
import { NodeValues } from './rules/node-values.ts'
import { SourceManager } from './sources/source-manager.ts'
import {
  deleteDeadLetters,
  listDeadLetters,
  retryDeadLetters,
  readRetryProgress,
} from './queues/dead-letters-of-action.ts'
import { discardQueuedResults, listQueuedResults } from './queues/queued-results.ts'
import { createRuleHost } from './rules/rule-host.ts'
import type { LateRuleHook } from './rules/late-rule-hook.ts'
import { RuleRunner } from './rules/rule-runner.ts'
import { TopicMetrics } from './watches/topic-metric-counters.ts'

export class RuleEngine {
  /** Values of `kv_store_*`. */
  readonly storedValues: NodeValues
  readonly #actions: ActionManager
  readonly #runner: RuleRunner
  readonly #receivers: SourceManager
  readonly #topics: TopicMetrics
  readonly #live: LiveWatches
  readonly #settings = { schemas: new SchemaRegistry(), maxEvaluationMs: 0, jqTimeoutMs: 0 }
  readonly #broker: ActionBroker
  #sources: RulePlan['sources'] = []
  /** Changes run one after the other. */
  #last: Promise<void> = Promise.resolve()

  constructor(broker: ActionBroker, hook: LateRuleHook) {
    this.#broker = broker
    this.#actions = new ActionManager({
      broker,
      recordDelivered: (rule, isDone, why) => this.#runner.recordDelivered(rule, isDone, why),
      recordFallbackFailure: (rule, why) => this.#runner.recordFallbackFailure(rule, why),
      runWithoutRule: (rule, work) => this.#runner.runWithoutRule(rule, work),
      evaluate: (rule, event) => this.#runner.evaluate(rule, event),
    })
    this.storedValues = new NodeValues((changes) => broker.sendStoredValues(changes))
    this.#receivers = new SourceManager(broker)
    this.#runner = new RuleRunner({
      log: broker.log,
      host: createRuleHost(() => broker.nowMs(), this.#settings, this.storedValues),
      nodeName: broker.nodeName,
      findPublisher: (clientId) => {
        const client = broker.view.findClient(clientId)
        if (client === undefined) return undefined
        const { username, address, port, version } = client
        return { username, peerAddress: address, peerPort: port, version }
      },
      findAuthorizationSource: ({ identity, action, topic }) =>
        findAuthorizationSource(broker.access.explain(identity, action, topic)),
      monotonicMs: () => performance.now(),
      findServer: (source) => this.#sources.find(({ id }) => id === source)?.server,
      sinks: this.#actions,
      setRules: (rules, triggers) => this.#topics.setRules(rules, triggers),
    })
    this.#topics = new TopicMetrics(this.#runner, (...rules) => this.#live.setRules(...rules))
    this.#live = new LiveWatches(this.#topics, (...rules) => broker.setRules(...rules))
    hook.hook = this.#live
  }

  /** Replaces rules, actions and sources. Resolves when they are active. */
  configure(plan: RulePlan): Promise<void> {
    this.#last = this.#last.then(async () => {
      this.#actions.configure(plan.actions)
      await this.#actions.waitUntilReady()
      this.#sources = plan.sources
      this.#settings.schemas.take(plan.schemas)
      this.#settings.maxEvaluationMs = plan.maxEvaluationMs
      this.#settings.jqTimeoutMs = plan.jqTimeoutMs
      await this.#runner.prepare(plan.rules, nextTurn)
      this.#runner.configure(plan.rules, plan)
      this.#topics.configure(plan.countedTopics, this.#broker.nowMs())
      this.#receivers.configure(plan.sources)
      this.#actions.removeOthers(plan.actions)
    })
    return this.#last
  }

  /** Finds state of earlier configurations. */
  adopt(): Promise<void> {
    return this.#actions.adopt()
  }

  /** A client library has failed: its actions and sources start again after the delay. */
  restartUsers(library: LibraryName, why: string, delayMs: number): void {
    this.#actions.restartUsers(library, why, delayMs)
    this.#receivers.restartUsers(library, why, delayMs)
  }

  stop(): void {
    this.#receivers.stop()
    this.#runner.stop()
    this.#topics.stop()
    this.#actions.stop()
  }

  report(): RuleEngineReport {
    return {
      rules: this.#runner.listReports(),
      actions: this.#actions.listReports(),
      sources: this.#receivers.listReports(),
    }
  }

  takeWatch(query: WatchQuery, nowMs: number): LiveBatch {
    return this.#live.take(query, nowMs)
  }

  endWatch(watch: string): void {
    this.#live.end(watch)
  }

  listTopicMetrics(): readonly TopicMetricsReport[] {
    return this.#topics.listReports()
  }

  resetTopicMetrics(topic: string | undefined): void {
    this.#topics.reset(topic, this.#broker.nowMs())
  }

  resetRule(rule: string): void {
    this.#runner.reset(rule)
  }

  resetAction(action: string): void {
    this.#actions.resetCounters(action)
  }

  controlAction(action: string, operation: 'start' | 'stop' | 'restart'): void {
    this.#actions.control(action, operation)
  }

  controlSource(source: string, operation: 'start' | 'stop' | 'restart'): void {
    this.#receivers.control(source, operation)
  }

  discardAction(action: string): Promise<void> {
    return this.#actions.discard(action)
  }

  listQueuedResults(action: string): readonly QueuedResultReport[] {
    return listQueuedResults(this.#actions.findRunningAction(action))
  }

  discardQueuedResults(action: string, entry: string | undefined): number {
    return discardQueuedResults(this.#actions.findRunningAction(action), entry)
  }

  listDeadLetters(action: string): readonly DeadLetterReport[] {
    return listDeadLetters(this.#actions.findRunningAction(action))
  }

  deleteDeadLetters(action: string, letter: number | undefined): number {
    return deleteDeadLetters(this.#actions.findRunningAction(action), letter)
  }

  retryDeadLetters(action: string, letter: number | undefined): Promise<RetryProgress> {
    return retryDeadLetters(this.#actions.findRunningAction(action), letter)
  }

  readRetryProgress(action: string): RetryProgress {
    return readRetryProgress(this.#actions.findRunningAction(action))
  }
}
