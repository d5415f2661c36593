// Starts an action: its queue, the delivery to its service, its dead letters and its fallbacks.

import { spoolProperties } from '../../core/index.ts'
import { createStreamPair } from '../../mqtt-client/index.ts'
import { type ActionEntry, type Sink, sinkTypes } from '../../sinks/index.ts'
import { ActionDelivery } from '../delivery/action-delivery.ts'
import { deadLetterOf, DeadLetters } from '../delivery/dead-letters.ts'
import { DeadLetterRetry } from '../delivery/dead-letter-retry.ts'
import type { ActionAssignment } from '../plan/rule-plan.ts'
import type { ActionCounters } from '../statistics/action-counters.ts'
import { compileSinkTemplate } from '../results/compile-sink-template.ts'
import { EntryAttributes, publicationOf } from '../results/action-entries.ts'
import { isOfDeadLetters } from './queue-names.ts'
import { reasonForNoSink } from './running-action.ts'
import { ruleOf } from '../results/entry-attributes.ts'
import { ActionFallbacks } from './action-fallbacks.ts'
import { ActionOrder } from '../results/action-order.ts'
import { ActionStateEvents } from './action-report.ts'
import { FullQueueAlarm } from './full-queue-alarm.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { ActionManagerDependencies } from './action-manager-dependencies.ts'
import { DeadLetterAlarm } from './dead-letter-alarm.ts'
import { storeInQueue } from './dead-letters-of-action.ts'
import type { StoreContext } from '../results/result-store.ts'
import { retryLetter } from '../results/retry-letter.ts'
import { deliverySettings, moverTo, openSink, type RunningAction } from './running-action.ts'
import { ownClientId } from './queue-names.ts'
import { prepareEntry } from '../results/stopped-messages.ts'
import { ColumnsJson, formOf } from '../results/stored-results.ts'

/** The actions of the shard. */
interface StartedActions {
  readonly actions: ReadonlyMap<string, RunningAction>
  countersOf(id: string): ActionCounters
  /** The action can store results. */
  noteReady(id: string): void
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

  storeContext(): StoreContext {
    return { nowMs: this.#broker.nowMs(), columns: this.#columns, isFallback: this.isFallback }
  }

  /** Returns the action, which is delivering. */
  start(assignment: ActionAssignment): RunningAction {
    const { id, type, action } = assignment
    const render = sinkTypes[type].renderer(action, compileSinkTemplate, (data) => this.#columns.of(data))
    const clientId = ownClientId(this.#broker, id, 'q')
    const deadClientId = ownClientId(this.#broker, id, 'd')
    const deadLetters = new DeadLetters({
      ...this.#queueOptions(deadClientId, assignment, true),
      maxLetters: action.resource_opts.max_buffer_messages,
      after: this.#after,
    })
    const retry = new DeadLetterRetry(deadLetters, {
      after: this.#after,
      stored: () => this.storedIn(deadClientId),
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
      full: new FullQueueAlarm(id, this.#broker),
      deadLetterAlarm: new DeadLetterAlarm(
        id,
        this.#broker,
        () => deadLetters.dropped + this.#droppedFrom(deadClientId),
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
      ? moverTo((entry) => this.#storeInQueue(running.deadClientId, entry))
      : openSink(running.assignment, this.#broker)
    running.deliveries.push(this.#deliver(running, clientId, sink))
  }

  #deliver(running: RunningAction, clientId: string, sink: Sink | undefined): ActionDelivery {
    const { assignment } = running
    const { id } = assignment
    const delivery = new ActionDelivery(deliverySettings(assignment), {
      keyOf: (entry) => running.order.keyOf(entry),
      prepare: (entry) => prepareEntry(entry, running),
      nowMs: () => this.#broker.nowMs(),
      random: Math.random,
      after: this.#after,
      queue: this.#queueOptions(clientId, assignment, false),
      storeDeadLetter: (entry, why, isDiscarded) =>
        isDiscarded ? this.#storeDeadLetter(running, entry, why) : this.#handleRefused(running, entry, why),
      noteOutcome: (entry, isDone, why) => this.#dependencies.noteDelivered(ruleOf(entry) ?? '', isDone, why),
      noteState: (state, stateReason, hasFailed) =>
        this.#stateEvents.note(id, { state, stateReason, hasFailed }, this.#manager.actions.get(id)?.full),
      noteReady: () => this.#manager.noteReady(id),
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
        this.#broker.openConnection(brokerEnd)
        return clientEnd
      },
      later: (work: () => void) => void setImmediate(() => this.#guarded(work)),
    }
  }

  #fallbacksOf({ id, action }: ActionAssignment): ActionFallbacks {
    return new ActionFallbacks(id, action.fallback_actions, {
      nowMs: () => this.#broker.nowMs(),
      commands: this.#broker.commands,
      target: (target) => this.#manager.actions.get(target),
      noteStored: (target) => void this.#manager.countersOf(target).matched++,
      asFallback: (rule, work) => this.#asFallback(rule, work),
      noteFailure: (rule, why) => this.#dependencies.noteFallbackFailure(rule, why),
    })
  }

  #asFallback(rule: string, work: () => void): void {
    const wasFallback = this.isFallback
    this.isFallback = true
    this.#dependencies.withoutRule(rule, work)
    this.isFallback = wasFallback
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
    const isStored = await this.#storeInQueue(deadClientId, deadLetterOf(entry, why, this.#broker.nowMs()))
    const fields = { action: assignment.id, rule: ruleOf(entry) ?? '', reason: why }
    if (isStored) this.#broker.log.warn('dead letter stored', fields)
    return isStored
  }

  async #storeInQueue(clientId: string, entry: ActionEntry): Promise<boolean> {
    const { commands } = this.#broker
    return (await commands.run({ name: 'store-in-action-queue', clientId, publication: publicationOf(entry) })).done
  }

  #retryLetter(running: RunningAction, entry: ActionEntry): Promise<string | undefined> {
    const { evaluate } = this.#dependencies
    const store = storeInQueue(this.#broker.commands, running.clientId)
    return retryLetter(entry, { target: running, store, context: this.storeContext(), evaluate })
  }

  /** Number of entries in a queue of an action. */
  storedIn(clientId: string): number {
    return this.#broker.view.internalSession(clientId)?.spooled ?? 0
  }

  #droppedFrom(clientId: string): number {
    return this.#broker.view.internalSession(clientId)?.dropped ?? 0
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#broker.fail(error)
    }
  }
}
