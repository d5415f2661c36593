// The actions of a shard that send to services. Each has an action queue: a persistent session of this shard, so that results are in
// the same batch as the effects of the message that triggered the rule.
//
//   rule ──store──► session $bridge/$action/q<salt>/http:hook ──► ActionDelivery ──► Sink ──► service
//                           $bridge/$action/d<salt>/http:hook     dead letters
//
// After a change of `node.shards`, this shard also has action queues that other shards created. Their entries are sent, then they end.

import { isDeepStrictEqual } from 'node:util'
import {
  actionClientPrefix,
  actionOfClientId,
  type BrokerCore,
  type CommandResult,
  type Command,
  type PeerNumber,
  type RuleActionFailure,
  type RulePublication,
  spoolProperties,
} from '../../core/index.ts'
import { createStreamPair } from '../../mqtt-client/index.ts'
import {
  ActionDelivery,
  deadLetterOf,
  DeadLetterRetry,
  DeadLetters,
  type LibraryName,
  type Sink,
  messageOf,
  sinkTypes,
  type ActionEntry,
  usesLibrary,
} from '../../sinks/index.ts'
import type { AlarmName, Log } from '../../telemetry/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import { bridgeListener } from '../bridges/bridge-manager.ts'
import { sessionsWithPrefix } from '../bridges/removed-bridges.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { ActionAssignment, ActionReport } from '../messages/rule-plan.ts'
import { type ActionCounters, addCounters, newActionCounters } from './action-counters.ts'
import {
  alarmOf,
  compileSinkTemplate,
  EntryAttributes,
  isOfDeadLetters,
  publicationOf,
  reasonForNoSink,
  ruleOf,
} from './action-entries.ts'
import { ActionFallbacks } from './action-fallbacks.ts'
import { ActionOrder } from './action-order.ts'
import { actionReport, ActionStateEvents, type QueueSession } from './action-report.ts'
import { DeadLetterAlarm } from './results/dead-letter-alarm.ts'
import { FullQueueAlarm } from './full-queue-alarm.ts'
import { OrphanQueues } from './results/orphan-queues.ts'
import { type StoreContext, storeResult, storeStopped } from './results/result-store.ts'
import { storeInQueue } from './results/dead-letters-of-action.ts'
import { type EvaluateAgain, retryLetter } from './results/retry-letter.ts'
import {
  deliverySettings,
  fullQueueOf,
  isBlocking,
  moverTo,
  openSink,
  ownClientId,
  restartSinks,
  type RunningAction,
} from './results/running-action.ts'
import { prepareEntry } from './results/stopped-messages.ts'
import { ColumnsJson, formOf } from './results/stored-results.ts'
import type { ActionInput, RuleSinks, StoppedRule } from './results/action-input.ts'

export interface ActionManagerDependencies {
  readonly shard: {
    readonly core: Pick<BrokerCore, 'view'>
    readonly commands: { run(command: Command): Promise<CommandResult> }
    openConnection(stream: ByteStream, listener: ShardListener): unknown
  }
  readonly own: PeerNumber
  readonly shards: number
  readonly nodeName: string
  readonly dataDirectory: string
  readonly log: Log
  nowMs(): number
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  fail(error: unknown): void
  noteDelivered(rule: string, isDone: boolean, why: string): void
  noteFallbackFailure(rule: string, why: string): void
  /** Adds an entry to the timelines of publishers that wait. */
  noteWaiting(clientIds: readonly string[], text: string): void
  readonly evaluate: EvaluateAgain
  /** Runs `work`. The rule does not run for the messages and events of `work`. */
  withoutRule(rule: string, work: () => void): void
}

const checkIntervalMs = 5_000
const readyTimeoutMs = 10_000
/** Maximum number of waiting publishers that get an entry in their timeline. */
const maxNamed = 1_000

export class ActionManager implements RuleSinks {
  readonly #dependencies: ActionManagerDependencies
  readonly #actions = new Map<string, RunningAction>()
  /** Counters by action. A change of an action does not reset them. */
  readonly #counters = new Map<string, ActionCounters>()
  readonly #stateEvents: ActionStateEvents
  readonly #orphans: OrphanQueues
  readonly #notReady = new Set<string>()
  #ready = Promise.withResolvers<void>()
  #checkTimer: NodeJS.Timeout | undefined
  #isClosed = false
  /** True while a fallback stores its entry: that entry has no fallbacks. */
  #isFallback = false
  readonly #columns = new ColumnsJson()

  constructor(dependencies: ActionManagerDependencies) {
    this.#dependencies = dependencies
    this.#stateEvents = new ActionStateEvents(dependencies)
    this.#orphans = new OrphanQueues(dependencies)
  }

  /** Starts these actions, and restarts those with changed settings. The settings were checked. */
  configure(assignments: readonly ActionAssignment[]): void {
    if (this.#isClosed) return
    for (const assignment of assignments) {
      const running = this.#actions.get(assignment.id)
      if (running !== undefined && isDeepStrictEqual(running.assignment, assignment)) continue
      if (running !== undefined) this.#replace(running)
      this.#actions.set(assignment.id, this.#start(assignment))
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
  whenReady(): Promise<void> {
    if (this.#notReady.size === 0) return Promise.resolve()
    const late = setTimeout(() => this.#ready.resolve(), readyTimeoutMs)
    return this.#ready.promise.finally(() => clearTimeout(late))
  }

  /** Finds action queues of earlier configurations on this shard. */
  async adopt(): Promise<void> {
    for (const clientId of await sessionsWithPrefix(this.#dependencies.shard.core.view, actionClientPrefix)) {
      const id = actionOfClientId(clientId)
      if (id !== undefined && !this.#isClosed) this.#adoptOne(id, clientId)
    }
  }

  actionQueueOf(action: string): string | undefined {
    return this.#actions.get(action)?.clientId
  }

  store(action: string, entry: ActionInput): RuleActionFailure | 'no-action' | undefined {
    const running = this.#actions.get(action)
    if (running === undefined) return 'no-action'
    let isStored = false
    try {
      const failure = this.#storeIn(running, entry)
      isStored = failure === undefined
      return failure
    } finally {
      // A template may also throw.
      if (!isStored && !this.#isFallback) running.fallbacks.runAtOnce(entry)
    }
  }

  #storeIn(running: RunningAction, entry: ActionInput): RuleActionFailure | undefined {
    const { id } = running.assignment
    const counters = this.#countersOf(id)
    counters.matched++
    let failure: RuleActionFailure | undefined
    try {
      failure = storeResult(running, entry, this.#storeContext())
    } catch (error) {
      counters.failed++
      this.#dependencies.log.warn('dead letter stored', { action: id, rule: entry.rule, reason: messageOf(error) })
      throw error
    }
    if (failure === 'action-queue-full') {
      counters.droppedQueueFull++
      running.full.noteDropped(entry.rule, fullQueueOf(running))
    } else if (failure !== undefined) counters.droppedOther++
    return failure
  }

  #storeContext(): StoreContext {
    return { nowMs: this.#dependencies.nowMs(), columns: this.#columns, isFallback: this.#isFallback }
  }

  /** Stores the message of a rule that was stopped as a dead letter of the action. */
  storeStopped(action: string, stopped: StoppedRule): RuleActionFailure | 'no-action' | undefined {
    const running = this.#actions.get(action)
    if (running === undefined) return 'no-action'
    const counters = this.#countersOf(action)
    counters.matched++
    counters.failed++
    return storeStopped(running.deadClientId, stopped, this.#dependencies.nowMs())
  }

  /** Called once per second. */
  noteSecond(): void {
    for (const { meter, matched } of this.#counters.values()) meter.noteSecond(matched)
    const { view } = this.#dependencies.shard.core
    const waiting = view.waitingForActions
    if (waiting === undefined) return
    const all = [...this.#actions.values()]
    const blocking = all.filter((running) => isBlocking(running, this.#storedIn(running.clientId)))
    const texts = blocking.map((running) => running.full.noteWaiting(waiting, fullQueueOf(running)))
    if (texts.length > 0) this.#dependencies.noteWaiting(view.clientsWaitingForActions(maxNamed), texts.join('; '))
  }

  reports(): readonly ActionReport[] {
    const { shard } = this.#dependencies
    const sessionOf = (clientId: string): QueueSession | undefined => shard.core.view.bridgeSession(clientId)
    const nowMs = this.#dependencies.nowMs()
    for (const [id, running] of this.#actions) this.#countDroppedLetters(id, running)
    return [...this.#actions].map(([id, running]) =>
      actionReport(id, running, { own: this.#countersOf(id), sessionOf, nowMs }),
    )
  }

  runningAction(action: string): RunningAction | undefined {
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
    const why = running.isStopped ? 'stopped by an administrator' : reasonForNoSink(running.assignment)
    for (const delivery of running.deliveries) {
      delivery.changeSink(running.isStopped ? undefined : openSink(running.assignment, this.#dependencies), why)
    }
  }

  /** Opens the sinks that use a failed library again, after the delay. */
  restartUsers(library: LibraryName, why: string, delayMs: number): void {
    for (const running of this.#actions.values())
      if (usesLibrary(running.assignment.type, library))
        restartSinks(running, () => openSink(running.assignment, this.#dependencies), why, delayMs)
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
    for (const { counters } of running.deliveries) addCounters(this.#countersOf(id), counters)
    this.#close(running)
  }

  #countDroppedLetters(id: string, running: RunningAction): void {
    const stored = this.#storedIn(running.deadClientId)
    this.#countersOf(id).droppedDeadLetters += running.deadLetterAlarm.check(stored, fullQueueOf(running).maxMessages)
  }

  #start(assignment: ActionAssignment): RunningAction {
    const { id, type, action } = assignment
    const render = sinkTypes[type].renderer(action, compileSinkTemplate, (data) => this.#columns.of(data))
    const clientId = ownClientId(this.#dependencies, id, 'q')
    const deadClientId = ownClientId(this.#dependencies, id, 'd')
    const deadLetters = new DeadLetters({
      ...this.#queueOptions(deadClientId, assignment, true),
      maxLetters: action.resource_opts.max_buffer_messages,
      after: this.#after,
    })
    const retry = new DeadLetterRetry(deadLetters, {
      after: this.#after,
      stored: () => this.#storedIn(deadClientId),
      store: (entry) => this.#retryLetter(running, entry),
    })
    const order = new ActionOrder(action.resource_opts.order, sinkTypes[type].keepsOrderOf(action))
    const running: RunningAction = {
      assignment,
      clientId,
      deadClientId,
      render,
      form: formOf(type, action.parameters),
      order,
      attributes: new EntryAttributes(order),
      fallbacks: this.#fallbacksOf(assignment),
      full: new FullQueueAlarm(id, this.#dependencies),
      deadLetterAlarm: new DeadLetterAlarm(id, {
        ...this.#dependencies,
        dropped: () => deadLetters.dropped + this.#droppedFrom(deadClientId),
      }),
      deliveries: [],
      deadLetters,
      retry,
      isStopped: false,
    }
    this.#notReady.add(id)
    running.deliveries.push(this.#deliver(running, clientId, openSink(assignment, this.#dependencies)))
    deadLetters.start()
    return running
  }

  #deliver(running: RunningAction, clientId: string, sink: Sink | undefined): ActionDelivery {
    const { assignment } = running
    const { id } = assignment
    const delivery = new ActionDelivery(deliverySettings(assignment), {
      keyOf: (entry) => running.order.keyOf(entry),
      prepare: (entry) => prepareEntry(entry, running),
      nowMs: () => this.#dependencies.nowMs(),
      random: Math.random,
      after: this.#after,
      queue: this.#queueOptions(clientId, assignment, false),
      storeDeadLetter: (entry, why, isDiscarded) =>
        isDiscarded ? this.#storeDeadLetter(running, entry, why) : this.#handleRefused(running, entry, why),
      noteOutcome: (entry, isDone, why) => this.#dependencies.noteDelivered(ruleOf(entry) ?? '', isDone, why),
      noteState: (state, stateReason, hasFailed) =>
        this.#stateEvents.note(id, { state, stateReason, hasFailed }, this.#actions.get(id)?.full),
      noteReady: () => this.#noteReady(id),
    })
    delivery.start(sink, reasonForNoSink(assignment))
    return delivery
  }

  readonly #after = (delayMs: number, work: () => void): { cancel(): void } => {
    const timer = setTimeout(() => this.#guarded(work), delayMs)
    return { cancel: () => clearTimeout(timer) }
  }

  #queueOptions(clientId: string, { action }: ActionAssignment, isForDeadLetters: boolean) {
    const { max_buffer_messages: maxMessages, overflow } = action.resource_opts
    const dropsNewest = overflow === 'drop' && !isForDeadLetters
    return {
      clientId,
      userProperties: spoolProperties({ maxMessages, dropsNewest, dropsOldest: isForDeadLetters }),
      open: () => {
        const [clientEnd, brokerEnd] = createStreamPair((work) => process.nextTick(() => this.#guarded(work)))
        this.#dependencies.shard.openConnection(brokerEnd, bridgeListener)
        return clientEnd
      },
      later: (work: () => void) => void setImmediate(() => this.#guarded(work)),
    }
  }

  #fallbacksOf({ id, action }: ActionAssignment): ActionFallbacks {
    return new ActionFallbacks(id, action.fallback_actions, {
      nowMs: () => this.#dependencies.nowMs(),
      commands: this.#dependencies.shard.commands,
      target: (target) => this.#actions.get(target),
      noteStored: (target) => void this.#countersOf(target).matched++,
      asFallback: (rule, work) => this.#asFallback(rule, work),
      noteFailure: (rule, why) => this.#dependencies.noteFallbackFailure(rule, why),
    })
  }

  #asFallback(rule: string, work: () => void): void {
    const wasFallback = this.#isFallback
    this.#isFallback = true
    this.#dependencies.withoutRule(rule, work)
    this.#isFallback = wasFallback
  }

  /** Passes an entry that the service refuses for good to the fallbacks, or stores it as a dead letter. Returns false if this must be repeated. */
  async #handleRefused(running: RunningAction, entry: ActionEntry, why: string): Promise<boolean> {
    const outcome = await running.fallbacks.run(entry, ruleOf(entry) ?? '')
    if (outcome === 'done') return true
    if (outcome === 'later') return false
    return this.#storeDeadLetter(running, entry, outcome === 'none' ? why : `${why}; ${outcome.failure}`)
  }

  async #storeDeadLetter(
    { assignment, deadClientId }: RunningAction,
    entry: ActionEntry,
    why: string,
  ): Promise<boolean> {
    const isStored = await this.#storeInQueue(deadClientId, deadLetterOf(entry, why, this.#dependencies.nowMs()))
    const fields = { action: assignment.id, rule: ruleOf(entry) ?? '', reason: why }
    if (isStored) this.#dependencies.log.warn('dead letter stored', fields)
    return isStored
  }

  #storeInQueue(clientId: string, entry: ActionEntry): Promise<boolean> {
    return this.#storePublication(clientId, publicationOf(entry))
  }

  async #storePublication(clientId: string, publication: RulePublication): Promise<boolean> {
    const { commands } = this.#dependencies.shard
    return (await commands.run({ name: 'store-in-action-queue', clientId, publication })).done
  }

  #retryLetter(running: RunningAction, entry: ActionEntry): Promise<string | undefined> {
    const { shard, evaluate } = this.#dependencies
    const store = storeInQueue(shard.commands, running.clientId)
    return retryLetter(entry, { target: running, store, context: this.#storeContext(), evaluate })
  }

  #adoptOne(id: string, clientId: string): void {
    const running = this.#actions.get(id)
    if (running === undefined) return this.#orphans.note(id, clientId)
    if (clientId === running.clientId || clientId === running.deadClientId) return
    const sink = isOfDeadLetters(clientId)
      ? moverTo((entry) => this.#storeInQueue(running.deadClientId, entry))
      : openSink(running.assignment, this.#dependencies)
    running.deliveries.push(this.#deliver(running, clientId, sink))
  }

  #remove(id: string, running: RunningAction): void {
    this.#close(running)
    running.deadLetterAlarm.end('is not configured any more')
    this.#actions.delete(id)
    this.#notReady.delete(id)
    this.#dependencies.endAlarm(alarmOf(id), `the action ${id} is not configured any more`)
    for (const clientId of [running.clientId, running.deadClientId]) this.#orphans.note(id, clientId)
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
        if (delivery.clientId === clientId || this.#storedIn(delivery.clientId) > 0) deliveries.push(delivery)
        else {
          addCounters(this.#countersOf(id), delivery.counters)
          delivery.stop()
          this.#orphans.endSession(delivery.clientId)
        }
      }
    }
  }

  #endFullAlarm(id: string, running: RunningAction): void {
    const { clientId, deliveries, full } = running
    if (!full.isFull || this.#storedIn(clientId) >= fullQueueOf(running).maxMessages) return
    full.reset()
    const [{ state, stateReason, hasFailed }] = deliveries
    if (state !== 'stopped' && hasFailed)
      this.#dependencies.raiseAlarm(alarmOf(id), `the action ${id} cannot send: ${stateReason}`)
    else this.#dependencies.endAlarm(alarmOf(id), `the action queue of ${id} has space again`)
  }

  #storedIn(clientId: string): number {
    return this.#dependencies.shard.core.view.bridgeSession(clientId)?.spooled ?? 0
  }

  #droppedFrom(clientId: string): number {
    return this.#dependencies.shard.core.view.bridgeSession(clientId)?.dropped ?? 0
  }

  #noteReady(id: string): void {
    this.#notReady.delete(id)
    if (this.#notReady.size > 0) return
    this.#ready.resolve()
    this.#ready = Promise.withResolvers<void>()
  }

  #countersOf(id: string): ActionCounters {
    const known = this.#counters.get(id)
    if (known !== undefined) return known
    const counters = newActionCounters()
    this.#counters.set(id, counters)
    return counters
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}
