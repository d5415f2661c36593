// The actions of a shard that send to services, and what rules store for them. Each has an action queue: a persistent session of this shard, so
// that results are in the same batch as the effects of the message that triggered the rule. `ActionStarter` starts its delivery.
//
//   rule ──store──► session $bridge/$action/q<salt>/http:hook ──► ActionDelivery ──► Sink ──► service
//                           $bridge/$action/d<salt>/http:hook     dead letters
//
// After a change of `node.shards`, this shard also has action queues that other shards created. Their entries are sent, then they end.

import { isDeepStrictEqual } from 'node:util'
import { actionClientPrefix, parseActionClientId, type RuleActionFailure } from '../../core/index.ts'
import { type LibraryName, formatError, usesLibrary } from '../../sinks/index.ts'
import type { ActionAssignment } from '../plan/rule-plan.ts'
import type { ActionReport } from '../plan/rule-reports.ts'
import { type ActionCounters, addCounters, createActionCounters } from '../statistics/action-counters.ts'
import { toAlarmName } from './queue-names.ts'
import { explainNoSink } from './running-action.ts'
import { createActionReport, type QueueSession } from './action-report.ts'
import type { ActionInput, RuleSinks, StoppedRule } from '../results/action-input.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { ActionManagerDependencies } from './action-manager-dependencies.ts'
import { ActionStarter } from './action-starter.ts'
import { OrphanQueues } from './orphan-queues.ts'
import { storeResult, storeStopped } from '../results/result-store.ts'
import { toFullQueue, isBlocking, openSink, restartSinks, type RunningAction } from './running-action.ts'

const checkIntervalMs = 5_000
const readyTimeoutMs = 10_000
/** Maximum number of waiting publishers that get an entry in their timeline. */
const maxNamed = 1_000

export class ActionManager implements RuleSinks {
  readonly #broker: ActionBroker
  readonly #actions = new Map<string, RunningAction>()
  /** Counters by action. A change of an action does not reset them. */
  readonly #counters = new Map<string, ActionCounters>()
  readonly #starter: ActionStarter
  readonly #orphans: OrphanQueues
  readonly #notReady = new Set<string>()
  #ready = Promise.withResolvers<void>()
  #checkTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(dependencies: ActionManagerDependencies) {
    this.#broker = dependencies.broker
    this.#starter = new ActionStarter(dependencies, {
      actions: this.#actions,
      ensureCounters: (id) => this.#ensureCounters(id),
      onReady: (id) => this.#handleReady(id),
    })
    this.#orphans = new OrphanQueues(dependencies.broker)
  }

  /** Starts these actions, and restarts those with changed settings. The settings were checked. */
  configure(assignments: readonly ActionAssignment[]): void {
    if (this.#isClosed) return
    for (const assignment of assignments) {
      const running = this.#actions.get(assignment.id)
      if (running !== undefined && isDeepStrictEqual(running.assignment, assignment)) continue
      if (running !== undefined) this.#replace(running)
      this.#notReady.add(assignment.id)
      this.#actions.set(assignment.id, this.#starter.start(assignment))
    }
    if (this.#actions.size > 0) this.#checkTimer ??= setInterval(() => this.#checkQueues(), checkIntervalMs).unref()
  }

  /** Stops all other actions. No rule stores results for them any more. */
  removeOthers(assignments: readonly ActionAssignment[]): void {
    const wanted = new Set(assignments.map(({ id }) => id))
    for (const [id, running] of this.#actions) {
      if (!wanted.has(id)) this.#remove(id, running)
    }
  }

  /** Resolves when every action can store results. */
  waitUntilReady(): Promise<void> {
    if (this.#notReady.size === 0) return Promise.resolve()
    const late = setTimeout(() => this.#ready.resolve(), readyTimeoutMs)
    return this.#ready.promise.finally(() => clearTimeout(late))
  }

  /** Finds action queues of earlier configurations on this shard. */
  async adopt(): Promise<void> {
    for (const clientId of await this.#broker.findSessions(actionClientPrefix)) {
      const id = parseActionClientId(clientId)
      if (id !== undefined && !this.#isClosed) this.#adoptOne(id, clientId)
    }
  }

  findActionQueue(action: string): string | undefined {
    return this.#actions.get(action)?.clientId
  }

  store(action: string, entry: ActionInput): RuleActionFailure | 'no-action' | undefined {
    const running = this.#actions.get(action)
    if (running === undefined) return 'no-action'
    let isStored = false
    try {
      const failure = this.#storeResult(running, entry)
      isStored = failure === undefined
      return failure
    } finally {
      // A template may also throw.
      if (!isStored && !this.#starter.isFallback) running.fallbacks.runAtOnce(entry)
    }
  }

  #storeResult(running: RunningAction, entry: ActionInput): RuleActionFailure | undefined {
    const { id } = running.assignment
    const counters = this.#ensureCounters(id)
    counters.matched++
    let failure: RuleActionFailure | undefined
    try {
      failure = storeResult(running, entry, this.#starter.createStoreContext())
    } catch (error) {
      counters.failed++
      this.#broker.log.warn('dead letter stored', { action: id, rule: entry.rule, reason: formatError(error) })
      throw error
    }
    if (failure === 'action-queue-full') {
      counters.droppedQueueFull++
      running.full.recordDropped(entry.rule, toFullQueue(running))
    } else if (failure !== undefined) counters.droppedOther++
    return failure
  }

  /** Stores the message of a rule that was stopped as a dead letter of the action. */
  storeStopped(action: string, stopped: StoppedRule): RuleActionFailure | 'no-action' | undefined {
    const running = this.#actions.get(action)
    if (running === undefined) return 'no-action'
    const counters = this.#ensureCounters(action)
    counters.matched++
    counters.failed++
    return storeStopped(running.deadClientId, stopped, this.#broker.nowMs())
  }

  /** Called once per second. */
  handleSecond(): void {
    for (const { meter, matched } of this.#counters.values()) meter.recordSecond(matched)
    const { view } = this.#broker
    const waiting = view.waitingForActions
    if (waiting === undefined) return
    const all = [...this.#actions.values()]
    const blocking = all.filter((running) => isBlocking(running, this.#starter.countStored(running.clientId)))
    const texts = blocking.map((running) => running.full.recordWaiting(waiting, toFullQueue(running)))
    if (texts.length > 0) this.#broker.recordWaiting(view.listClientsWaitingForActions(maxNamed), texts.join('; '))
  }

  listReports(): readonly ActionReport[] {
    const { view } = this.#broker
    const findSession = (clientId: string): QueueSession | undefined => view.findInternalSession(clientId)
    const nowMs = this.#broker.nowMs()
    for (const [id, running] of this.#actions) this.#countDroppedLetters(id, running)
    return [...this.#actions].map(([id, running]) =>
      createActionReport(id, running, { own: this.#ensureCounters(id), findSession, nowMs }),
    )
  }

  findRunningAction(action: string): RunningAction | undefined {
    return this.#actions.get(action)
  }

  resetCounters(action: string): void {
    this.#counters.delete(action)
    for (const { counters } of this.#actions.get(action)?.deliveries ?? [])
      counters.success = counters.failed = counters.retried = 0
  }

  /** Starts, stops or restarts the sink. This lasts until the next change of the configuration or the next start. */
  control(action: string, operation: 'start' | 'stop' | 'restart'): void {
    const running = this.#actions.get(action)
    if (running === undefined) return
    running.isStopped = operation === 'stop'
    const why = running.isStopped ? 'stopped by an administrator' : explainNoSink(running.assignment)
    for (const delivery of running.deliveries) {
      delivery.changeSink(running.isStopped ? undefined : openSink(running.assignment, this.#broker), why)
    }
  }

  /** Opens the sinks that use a failed library again, after the delay. */
  restartUsers(library: LibraryName, why: string, delayMs: number): void {
    for (const running of this.#actions.values())
      if (usesLibrary(running.assignment.type, library))
        restartSinks(running, () => openSink(running.assignment, this.#broker), why, delayMs)
  }

  stop(): void {
    this.#isClosed = true
    clearInterval(this.#checkTimer)
    for (const running of this.#actions.values()) this.#close(running)
  }

  /** A change of an action does not reset its counters. */
  #replace(running: RunningAction): void {
    const { id } = running.assignment
    this.#countDroppedLetters(id, running)
    for (const { counters } of running.deliveries) addCounters(this.#ensureCounters(id), counters)
    this.#close(running)
  }

  #countDroppedLetters(id: string, running: RunningAction): void {
    const stored = this.#starter.countStored(running.deadClientId)
    this.#ensureCounters(id).droppedDeadLetters += running.deadLetterAlarm.check(
      stored,
      toFullQueue(running).maxMessages,
    )
  }

  #adoptOne(id: string, clientId: string): void {
    const running = this.#actions.get(id)
    if (running === undefined) return this.#orphans.handleSession(id, clientId)
    if (clientId === running.clientId || clientId === running.deadClientId) return
    this.#starter.adopt(running, clientId)
  }

  #remove(id: string, running: RunningAction): void {
    this.#close(running)
    running.deadLetterAlarm.end('is not configured any more')
    this.#actions.delete(id)
    this.#notReady.delete(id)
    this.#broker.endAlarm(toAlarmName(id), `the action ${id} is not configured any more`)
    for (const clientId of [running.clientId, running.deadClientId]) this.#orphans.handleSession(id, clientId)
  }

  /** Deletes the sessions of an action that is not configured, with their contents. */
  async discard(id: string): Promise<void> {
    if (!this.#actions.has(id)) await this.#orphans.discard(id)
  }

  #close({ deliveries, deadLetters }: RunningAction): void {
    for (const delivery of deliveries) delivery.stop()
    deadLetters.stop()
  }

  /** Ends empty action queues that other shards created, and alarms of queues that are not full any more. */
  #checkQueues(): void {
    for (const [id, running] of this.#actions) {
      const { clientId, deliveries } = running
      this.#endFullAlarm(id, running)
      this.#countDroppedLetters(id, running)
      if (deliveries.length === 1) continue
      const adopted = deliveries.splice(1)
      for (const delivery of adopted) {
        if (delivery.clientId === clientId || this.#starter.countStored(delivery.clientId) > 0)
          deliveries.push(delivery)
        else {
          addCounters(this.#ensureCounters(id), delivery.counters)
          delivery.stop()
          this.#orphans.endSession(delivery.clientId)
        }
      }
    }
  }

  #endFullAlarm(id: string, running: RunningAction): void {
    const { clientId, deliveries, full } = running
    if (!full.isFull || this.#starter.countStored(clientId) >= toFullQueue(running).maxMessages) return
    full.reset()
    const [{ state, stateReason, hasFailed }] = deliveries
    if (state !== 'stopped' && hasFailed)
      this.#broker.raiseAlarm(toAlarmName(id), `the action ${id} cannot send: ${stateReason}`)
    else this.#broker.endAlarm(toAlarmName(id), `the action queue of ${id} has space again`)
  }

  #handleReady(id: string): void {
    this.#notReady.delete(id)
    if (this.#notReady.size > 0) return
    this.#ready.resolve()
    this.#ready = Promise.withResolvers<void>()
  }

  #ensureCounters(id: string): ActionCounters {
    const known = this.#counters.get(id)
    if (known !== undefined) return known
    const counters = createActionCounters()
    this.#counters.set(id, counters)
    return counters
  }
}
