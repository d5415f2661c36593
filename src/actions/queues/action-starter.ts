// Starts an action: its queue, the delivery to its service, its dead letters and its fallbacks.

import { toSpoolProperties } from '../../core/index.ts'
import { createStreamPair } from '../../mqtt-client/index.ts'
import { type ActionEntry, type Sink, sinkTypes } from '../../sinks/index.ts'
import { ActionDelivery } from '../delivery/action-delivery.ts'
import { toDeadLetterEntry, DeadLetters } from '../delivery/dead-letters.ts'
import { DeadLetterRetry } from '../delivery/dead-letter-retry.ts'
import type { ActionAssignment } from '../plan/rule-plan.ts'
import type { ActionCounters } from '../statistics/action-counters.ts'
import { compileSinkTemplate } from '../results/compile-sink-template.ts'
import { EntryAttributes, toPublication } from '../results/action-entries.ts'
import { isOfDeadLetters } from './queue-names.ts'
import { explainNoSink } from './running-action.ts'
import { findRule } from '../results/entry-attributes.ts'
import { ActionFallbacks } from './action-fallbacks.ts'
import { ActionOrder } from '../results/action-order.ts'
import { ActionStateEvents } from './action-report.ts'
import { FullQueueAlarm } from './full-queue-alarm.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { ActionManagerDependencies } from './action-manager-dependencies.ts'
import { DeadLetterAlarm } from './dead-letter-alarm.ts'
import { createQueueStore } from './dead-letters-of-action.ts'
import type { StoreContext } from '../results/result-store.ts'
import { retryLetter } from '../results/retry-letter.ts'
import { toDeliverySettings, createMovingSink, openSink, type RunningAction } from './running-action.ts'
import { createOwnClientId } from './queue-names.ts'
import { prepareEntry } from '../results/stopped-messages.ts'
import { ColumnsJson, computeForm } from '../results/stored-results.ts'

/** The actions of the shard. */
interface StartedActions {
  readonly actions: ReadonlyMap<string, RunningAction>
  ensureCounters(id: string): ActionCounters
  /** The action can store results. */
  onReady(id: string): void
}

export class ActionStarter {
  readonly #broker: ActionBroker
  readonly #dependencies: ActionManagerDependencies
  readonly #manager: StartedActions
  readonly #stateEvents: ActionStateEvents
  readonly #columns = new ColumnsJson()
  /** True while a fallback stores its entry: that entry has no fallbacks. */
  isFallback = false

  constructor(dependencies: ActionManagerDependencies, manager: StartedActions) {
    this.#broker = dependencies.broker
    this.#dependencies = dependencies
    this.#manager = manager
    this.#stateEvents = new ActionStateEvents(dependencies.broker)
  }

  createStoreContext(): StoreContext {
    return { nowMs: this.#broker.nowMs(), columns: this.#columns, isFallback: this.isFallback }
  }

  /** Returns the action, which is delivering. */
  start(assignment: ActionAssignment): RunningAction {
    const { id, type, action } = assignment
    const render = sinkTypes[type].createRenderer(action, compileSinkTemplate, (data) =>
      this.#columns.formatColumns(data),
    )
    const clientId = createOwnClientId(this.#broker, id, 'q')
    const deadClientId = createOwnClientId(this.#broker, id, 'd')
    const deadLetters = new DeadLetters({
      ...this.#createQueueOptions(deadClientId, assignment, true),
      maxLetters: action.resource_opts.max_buffer_messages,
      after: this.#runAfter,
    })
    const retry = new DeadLetterRetry(deadLetters, {
      after: this.#runAfter,
      countStored: () => this.countStored(deadClientId),
      store: (entry) => this.#retryLetter(running, entry),
    })
    const order = new ActionOrder(action.resource_opts.order, sinkTypes[type].findWriteOrder(action))
    const running: RunningAction = {
      assignment,
      clientId,
      deadClientId,
      render,
      form: computeForm(type, action.parameters),
      order,
      attributes: new EntryAttributes(order),
      fallbacks: this.#createFallbacks(assignment),
      full: new FullQueueAlarm(id, this.#broker),
      deadLetterAlarm: new DeadLetterAlarm(
        id,
        this.#broker,
        () => deadLetters.dropped + this.#countDropped(deadClientId),
      ),
      deliveries: [],
      deadLetters,
      retry,
      isStopped: false,
    }
    running.deliveries.push(this.#deliver(running, clientId, openSink(assignment, this.#broker)))
    deadLetters.start()
    return running
  }

  /** Sends the entries of a queue that another shard created. */
  adopt(running: RunningAction, clientId: string): void {
    const sink = isOfDeadLetters(clientId)
      ? createMovingSink((entry) => this.#storeInQueue(running.deadClientId, entry))
      : openSink(running.assignment, this.#broker)
    running.deliveries.push(this.#deliver(running, clientId, sink))
  }

  #deliver(running: RunningAction, clientId: string, sink: Sink | undefined): ActionDelivery {
    const { assignment } = running
    const { id } = assignment
    const delivery = new ActionDelivery(toDeliverySettings(assignment), {
      findOrderKey: (entry) => running.order.findOrderKey(entry),
      prepare: (entry) => prepareEntry(entry, running),
      nowMs: () => this.#broker.nowMs(),
      random: Math.random,
      after: this.#runAfter,
      queue: this.#createQueueOptions(clientId, assignment, false),
      storeDeadLetter: (entry, why, isDiscarded) =>
        isDiscarded ? this.#storeDeadLetter(running, entry, why) : this.#handleRefused(running, entry, why),
      recordOutcome: (entry, isDone, why) => this.#dependencies.recordDelivered(findRule(entry) ?? '', isDone, why),
      onStateChange: (state, stateReason, hasFailed) =>
        this.#stateEvents.reportState(id, { state, stateReason, hasFailed }, this.#manager.actions.get(id)?.full),
      onReady: () => this.#manager.onReady(id),
    })
    delivery.start(sink, explainNoSink(assignment))
    return delivery
  }

  readonly #runAfter = (delayMs: number, work: () => void): { cancel(): void } => {
    const timer = setTimeout(() => this.#runGuarded(work), delayMs)
    return { cancel: () => clearTimeout(timer) }
  }

  #createQueueOptions(clientId: string, { action }: ActionAssignment, isForDeadLetters: boolean) {
    const { max_buffer_messages: maxMessages, overflow } = action.resource_opts
    const dropsNewest = overflow === 'drop' && !isForDeadLetters
    return {
      clientId,
      userProperties: toSpoolProperties({ maxMessages, dropsNewest, dropsOldest: isForDeadLetters }),
      open: () => {
        const [clientEnd, brokerEnd] = createStreamPair((work) => process.nextTick(() => this.#runGuarded(work)))
        this.#broker.openConnection(brokerEnd)
        return clientEnd
      },
      later: (work: () => void) => void setImmediate(() => this.#runGuarded(work)),
    }
  }

  #createFallbacks({ id, action }: ActionAssignment): ActionFallbacks {
    return new ActionFallbacks(id, action.fallback_actions, {
      nowMs: () => this.#broker.nowMs(),
      commands: this.#broker.commands,
      findTarget: (target) => this.#manager.actions.get(target),
      countStored: (target) => void this.#manager.ensureCounters(target).matched++,
      runAsFallback: (rule, work) => this.#runAsFallback(rule, work),
      onFailure: (rule, why) => this.#dependencies.recordFallbackFailure(rule, why),
    })
  }

  #runAsFallback(rule: string, work: () => void): void {
    const wasFallback = this.isFallback
    this.isFallback = true
    this.#dependencies.runWithoutRule(rule, work)
    this.isFallback = wasFallback
  }

  /** Passes an entry that the service refuses for good to the fallbacks, or stores it as a dead letter. Returns false if this must be repeated. */
  async #handleRefused(running: RunningAction, entry: ActionEntry, why: string): Promise<boolean> {
    const outcome = await running.fallbacks.run(entry, findRule(entry) ?? '')
    if (outcome === 'done') return true
    if (outcome === 'later') return false
    return this.#storeDeadLetter(running, entry, outcome === 'none' ? why : `${why}; ${outcome.failure}`)
  }

  async #storeDeadLetter(
    { assignment, deadClientId }: RunningAction,
    entry: ActionEntry,
    why: string,
  ): Promise<boolean> {
    const isStored = await this.#storeInQueue(deadClientId, toDeadLetterEntry(entry, why, this.#broker.nowMs()))
    const fields = { action: assignment.id, rule: findRule(entry) ?? '', reason: why }
    if (isStored) this.#broker.log.warn('dead letter stored', fields)
    return isStored
  }

  async #storeInQueue(clientId: string, entry: ActionEntry): Promise<boolean> {
    const { commands } = this.#broker
    return (await commands.run({ name: 'store-in-action-queue', clientId, publication: toPublication(entry) })).done
  }

  #retryLetter(running: RunningAction, entry: ActionEntry): Promise<string | undefined> {
    const { evaluate } = this.#dependencies
    const store = createQueueStore(this.#broker.commands, running.clientId)
    return retryLetter(entry, { target: running, store, context: this.createStoreContext(), evaluate })
  }

  /** Number of entries in a queue of an action. */
  countStored(clientId: string): number {
    return this.#broker.view.findInternalSession(clientId)?.spooled ?? 0
  }

  #countDropped(clientId: string): number {
    return this.#broker.view.findInternalSession(clientId)?.dropped ?? 0
  }

  #runGuarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#broker.fail(error)
    }
  }
}
