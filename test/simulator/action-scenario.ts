// A scenario of rules whose results go to a service, and of delayed messages, in the simulated world. The service fails, is slow, or
// does not respond; connections break, and the broker is killed. The action queue, its client and the delivery are those of the broker.
//
//   publishers ──► core ──► RuleRunner ──► action queue ──► ActionQueueClient, ActionDelivery ──► the service of the scenario
//
// Checked: each acknowledged message of QoS 1 or 2 reaches the service at least once, first in the order of its publisher;
// a delayed message arrives once at QoS 2, and never before its time.

import assert from 'node:assert/strict'
import { ActionDelivery } from '../../src/actions/delivery/action-delivery.ts'
import { toActionClientId, computeOwnerShard, toSpoolProperties, type RuleHook } from '../../src/core/index.ts'
import { type Sink, type ActionEntry, type WriteOutcome } from '../../src/sinks/index.ts'
import { RuleRunner } from '../../src/actions/rules/rule-runner.ts'
import { LinkStream } from '../bridges/link-stream.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { sinklessRules } from '../actions/sinkless-rules.ts'
import type { Publication } from './client-session.ts'
import { calmNetwork } from './network.ts'
import type { PlannedEvent } from './stage.ts'
import { World, type Client } from './world.ts'

const action = 'http:service'
const steps = 60
const publishers = 3
const delayedSeconds = [2, 7, 20]
/** Longer than any delay. */
const endSeconds = 400
const maxBuffered = 10_000

export interface ActionScenarioOptions {
  readonly shards: number
  /** See `HostTraits.acknowledgesEarly`. */
  readonly acknowledgesEarly?: boolean
  readonly isRecorded?: boolean
}

export interface ActionScenario {
  readonly fault: string | undefined
  /** The recorded log, line by line. */
  readonly log: readonly string[]
  readonly arrived: number
  readonly delayed: number
  readonly crashes: number
  readonly failures: number
}

type Mood = 'well' | 'failing' | 'slow' | 'silent'

/** The same seed gives the same scenario. */
export function runActionScenario(seed: number, options: ActionScenarioOptions): ActionScenario {
  const scenario = new ScenarioRun(seed, options)
  let fault: string | undefined
  try {
    scenario.run()
  } catch (error) {
    fault = `seed ${seed}: ${error instanceof Error ? error.message : String(error)}`
  }
  const { arrived, delayedArrivals, crashes, failures } = scenario
  return { fault, log: scenario.log, arrived: arrived.length, delayed: delayedArrivals.size, crashes, failures }
}

class ScenarioRun {
  readonly arrived: string[] = []
  readonly delayedArrivals = new Map<string, number>()
  crashes = 0
  failures = 0
  readonly #options: ActionScenarioOptions
  readonly #world: World
  readonly #runners: RuleRunner[] = []
  #deliveries: ActionDelivery[] = []
  #streams: LinkStream[] = []
  #mood: Mood = 'well'
  /** Counts the starts of the broker: pending events of an earlier process are ignored. */
  #starts = 0
  readonly #publishers: Client[]
  readonly #listener: Client
  readonly #published: { readonly text: string; readonly by: number; readonly publication: Publication }[] = []
  readonly #delayed: { readonly text: string; readonly dueAtMs: number; readonly publication: Publication }[] = []
  #number = 0
  /** Results that an action queue rejected: the rule counts them. */
  readonly #dropped = new Set<string>()
  /** Shards whose action queues are open. */
  #ready = 0

  constructor(seed: number, options: ActionScenarioOptions) {
    this.#options = options
    const ruleHook = (own: number): RuleHook => (this.#runners[own] = this.#newRunner(own))
    const acknowledgesEarly = options.acknowledgesEarly ?? false
    this.#world = new World({
      seed,
      isRecorded: options.isRecorded ?? false,
      shards: options.shards,
      diskStepMs: 20,
      host: { ruleHook, acknowledgesEarly },
    })
    this.#beginLife()
    const stored = { cleanStart: false, sessionExpirySeconds: 1_000_000 }
    this.#publishers = Array.from({ length: publishers }, (_, number) => this.#world.client(`p${number}`, stored))
    this.#listener = this.#world.client('listener', stored)
    for (const client of [...this.#publishers, this.#listener]) client.connect()
    this.#world.passSeconds(1)
    this.#listener.subscribe('later/#', { qos: 2 })
    this.#world.passSeconds(1)
  }

  get log(): readonly string[] {
    return this.#world.log
  }

  run(): void {
    const { random } = this.#world.stage
    for (let step = 0; step < steps; step++) {
      this.#act()
      this.#world.passMs(random.between(0, 1_500))
      for (const client of [...this.#publishers, this.#listener]) {
        if (!client.isConnected && random.chance(0.5)) client.connect()
      }
    }
    this.#mood = 'well'
    for (const client of [...this.#publishers, this.#listener]) if (!client.isConnected) client.connect()
    this.#world.passSeconds(endSeconds)
    this.#check()
  }

  #act(): void {
    const { random } = this.#world.stage
    const choice = random.between(0, 19)
    if (choice === 0) this.#die(random.pick(['kill', 'power-loss'] as const))
    else if (choice === 1) this.#streams[random.between(0, this.#streams.length - 1)]?.destroy()
    else if (choice <= 4) this.#mood = random.pick(['well', 'failing', 'slow', 'silent'] as const)
    else if (choice === 5) random.pick([...this.#publishers, this.#listener]).drop()
    else if (choice <= 8) this.#publishDelayed()
    else for (let count = random.between(1, 8); count > 0; count--) this.#publish()
  }

  #publish(): void {
    const { random } = this.#world.stage
    const by = random.between(0, publishers - 1)
    const text = String(++this.#number)
    const qos = random.between(0, 2) as 0 | 1 | 2
    const publication = this.#publishers[by]?.publish('in/x', text, { qos })
    if (publication !== undefined && qos > 0) this.#published.push({ text, by, publication })
  }

  #publishDelayed(): void {
    const { random, nowMs } = this.#world.stage
    const seconds = random.pick(delayedSeconds)
    const text = String(++this.#number)
    const publisher = random.pick(this.#publishers)
    const publication = publisher.publish(`$delayed/${seconds}/later/x`, text, { qos: 2 })
    this.#delayed.push({ text, dueAtMs: nowMs + seconds * 1_000, publication })
  }

  #die(death: 'kill' | 'power-loss'): void {
    this.crashes++
    this.#starts++
    for (const delivery of this.#deliveries) delivery.stop()
    for (const stream of this.#streams) stream.destroy()
    this.#world.crash(death)
    this.#world.passMs(this.#world.stage.random.between(0, 3_000))
    this.#world.start()
    this.#beginLife()
  }

  /** Opens the action queues, then the rules, as a shard does when it starts. */
  #beginLife(): void {
    this.#streams = []
    this.#ready = 0
    const own = Array.from({ length: this.#options.shards }, (_, shard) => shard)
    this.#deliveries = own.map((shard) => this.#deliver(shard))
    for (const delivery of this.#deliveries) delivery.start(this.#sink(), '')
    for (let waits = 0; this.#ready < this.#options.shards && waits < 100; waits++) this.#world.passMs(100)
    const rule = { id: 'r', sql: 'SELECT payload FROM "in/#"', isEnabled: true, stopsAtFailure: false }
    for (const runner of this.#runners)
      runner.configure([{ ...rule, actions: [{ kind: 'action', id: action }] }], {
        ignoresSysMessages: true,
        eventMessages: [],
      })
    this.#world.settle()
  }

  #actionQueueOf(own: number): string {
    for (let salt = 0; ; salt++) {
      const clientId = toActionClientId(action, `q${salt}`)
      if (computeOwnerShard(clientId, this.#options.shards) === own) return clientId
    }
  }

  #newRunner(own: number): RuleRunner {
    return new RuleRunner({
      ...sinklessRules,
      host: sampleHost(),
      nodeName: 'godwit@test',
      findPublisher: () => undefined,
      setRules: (rules, triggers) => this.#world.host.shards[own]?.handle({ kind: 'rules', rules, triggers }),
      sinks: {
        ...sinklessRules.sinks,
        findActionQueue: () => this.#actionQueueOf(own),
        store: (_, { output, actions }) => {
          const publication = { topic: '$action', qos: 1, retain: false, properties: undefined } as const
          const payload = output['payload']
          const text = typeof payload === 'string' ? payload : assert.fail('the payload is not text')
          const failure = actions.storeInActionQueue(this.#actionQueueOf(own), {
            ...publication,
            payload: Buffer.from(text),
          })
          if (failure !== undefined) this.#dropped.add(text)
          return failure
        },
      },
    })
  }

  #deliver(own: number): ActionDelivery {
    const { stage } = this.#world
    const start = this.#starts
    const guarded = (work: () => void) => (): void => (this.#starts === start ? work() : undefined)
    const settings = { batchSize: 4, batchTimeMs: 10, inflightWindow: 8, maxRetries: 2, retryIntervalMs: 500 }
    return new ActionDelivery(
      { ...settings, healthCheckIntervalMs: 5_000, onePerKey: false },
      {
        nowMs: () => stage.nowMs,
        random: () => stage.random.fraction(),
        after: (delayMs, work) => {
          const planned: PlannedEvent = stage.after(delayMs, guarded(work))
          return { cancel: () => stage.cancel(planned) }
        },
        findOrderKey: () => 'all',
        queue: {
          clientId: this.#actionQueueOf(own),
          userProperties: toSpoolProperties({ maxMessages: maxBuffered, dropsNewest: false, dropsOldest: false }),
          open: () => this.#openStream(),
          later: (work) => void stage.after(0, guarded(work)),
        },
        storeDeadLetter: () => stage.fail('the service of this scenario refuses nothing'),
        recordOutcome: () => undefined,
        onStateChange: () => undefined,
        onReady: () => void this.#ready++,
      },
    )
  }

  #openStream(): LinkStream {
    const { host, stage } = this.#world
    host.traits.listener = { isInternal: true }
    const link = host.accept(calmNetwork)
    delete host.traits.listener
    if (link === undefined) return stage.fail('the broker does not run')
    const stream = new LinkStream(stage, link, { lendsChunks: true })
    this.#streams.push(stream)
    return stream
  }

  #sink(): Sink {
    const start = this.#starts
    return {
      write: (batch) => this.#respond(start, () => this.#take(batch)),
      check: () => this.#respond(start, () => (this.#mood === 'failing' ? 'it is away' : undefined)),
      close: () => undefined,
    }
  }

  #take(batch: readonly ActionEntry[]): readonly WriteOutcome[] {
    const { random } = this.#world.stage
    // A part of a failed batch may have arrived.
    const isFailing = this.#mood === 'failing' || random.chance(0.05)
    const taken = isFailing ? batch.slice(0, random.between(0, batch.length)) : batch
    if (isFailing) this.failures++
    this.arrived.push(...taken.map(({ payload }) => payload.toString()))
    return batch.map(() => (isFailing ? { outcome: 'retry', why: 'it failed' } : { outcome: 'done' }))
  }

  /** Does not use a promise: the next step runs in simulated time. */
  #respond<Value>(start: number, result: () => Value): Promise<Value> {
    const { stage } = this.#world
    const { random } = stage
    const delays: Readonly<Record<Mood, number>> = {
      well: random.between(0, 50),
      failing: random.between(0, 200),
      slow: random.between(500, 3_000),
      silent: random.between(10_000, 30_000),
    }
    const thenable = {
      // oxlint-disable-next-line unicorn/no-thenable -- a promise would be fulfilled in real time
      then: (next: (value: Value) => void) =>
        void stage.after(delays[this.#mood], () => {
          if (this.#starts === start) next(result())
        }),
    }
    return thenable as unknown as Promise<Value>
  }

  #check(): void {
    const { stage } = this.#world
    const firstAt = new Map<string, number>()
    for (const [place, text] of this.arrived.entries()) if (!firstAt.has(text)) firstAt.set(text, place)
    const last = new Map<number, number>()
    for (const { text, by, publication } of this.#published) {
      const place = firstAt.get(text)
      if (place === undefined) {
        if (publication.isAcknowledged)
          stage.fail(
            `the acknowledged message ${text} never reached the service${this.#dropped.has(text) ? ', because its action queue rejected it' : ''}`,
          )
        continue
      }
      if (place < (last.get(by) ?? -1)) stage.fail(`the message ${text} of p${by} reached the service too early`)
      last.set(by, place)
    }
    const due = new Map(this.#delayed.map((delayed) => [delayed.text, delayed]))
    for (const { payload, atMs, isRepeat } of this.#listener.messages) {
      if (isRepeat) continue
      const delayed = due.get(payload)
      if (delayed === undefined) stage.fail(`${payload} was not delayed`)
      else if (atMs < delayed.dueAtMs)
        stage.fail(`the delayed message ${payload} arrived ${delayed.dueAtMs - atMs} ms early`)
      if (this.delayedArrivals.has(payload)) stage.fail(`the delayed message ${payload} arrived twice`)
      this.delayedArrivals.set(payload, atMs)
    }
    for (const { text, publication } of this.#delayed)
      if (publication.isAcknowledged && !this.delayedArrivals.has(text))
        stage.fail(`the delayed message ${text} never arrived`)
  }
}
