// A scenario about reads of queues during other events. Persistent sessions receive few messages at a time, publishers send
// continuously, and connections break at the steps of reads.
//
//   |-- publishers send, sessions reconnect at steps of their reads --|-- all clients reconnect --| oracles
//
// The oracles check that every acknowledged message reaches the next connections, in order, QoS 2 once, and without a restart.

import type { Actor } from './scenario-clients.ts'
import { damageKinds, type RecordDamage } from './record-damage.ts'
import type { RealRecordStore } from './real-record-store.ts'
import { History } from './history.ts'
import { checkDisconnect, checkDeliveries, missingMessages } from './oracles.ts'
import { profileNamed } from './profiles.ts'
import { Random } from './random.ts'
import { type ReadStep, SlowReads } from './slow-reads.ts'
import { ScenarioRules } from './scenario-rules.ts'
import type { QoS } from '../../src/protocol/index.ts'
import { World, type Client } from './world.ts'

export interface ReaderScenarioOptions {
  readonly seed: number
  readonly recordStore: RealRecordStore
  /** Damages records of the store; undefined: no record is damaged. */
  readonly damage?: RecordDamage | undefined
  readonly isRecorded?: boolean
  /** Opens the store again, in real time; default: reads are only interrupted as if it were. */
  readonly reopen?: (() => Promise<void>) | undefined
  /** Default: one to three, from the seed. */
  readonly shards?: number
}

const topic = 't/a'
/** Maximum time from the end of all faults to the delivery of all messages. */
const timeoutSeconds = 60
/** More sessions than the readers keep reads for. */
const crowd = 80
/** Longer than the time after which `SlowReads` considers a read unused: the read pauses between two parts. */
const crowdThinksMs = 150

interface Traits {
  readonly subscribers: number
  readonly messages: number
  readonly messagesPerConnection: number
  /** Probability that a client loses its connection at a step of a read of its queue. */
  readonly breaks: number
  /** Probability that a client reconnects with a clean start, which ends its session. */
  readonly renewals: number
  readonly interruptions: number
  readonly failures: number
}

/** What happens in scenarios with damage besides the traits above. */
interface DamageTraits {
  /** Clients disconnect before the first message and return when all messages are published: queues are long. */
  readonly isAway: boolean
  /** Number of damages while the broker runs. */
  readonly whileRunning: number
  /** Number of damages while the broker is stopped; 0: it does not restart. */
  readonly atRestart: number
  /** Number of messages of each publisher after the restart. */
  readonly messagesAfterRestart: number
}

export class ReaderScenario {
  readonly world: World
  readonly reads: SlowReads
  private readonly random: Random
  private readonly traits: Traits
  private readonly reopen: (() => Promise<void>) | undefined
  private readonly subscribers: Client[]
  private readonly publishers: Client[]
  private readonly qosOf: Map<Client, QoS>
  private readonly recordStore: RealRecordStore
  private readonly damage: RecordDamage | undefined
  private readonly damageTraits: DamageTraits
  private isRestarting: boolean
  private isOver: boolean

  constructor({ seed, recordStore, damage, shards, isRecorded, reopen }: ReaderScenarioOptions) {
    this.world = new World({
      seed,
      recordStore,
      isRecorded: isRecorded ?? false,
      settles: false,
      starts: false,
      readsSlowly: true,
      shards: shards ?? (isCrowded(seed) ? 1 : 1 + (seed % 3)),
    })
    if (this.world.reads === undefined) throw new Error('this world reads its queues in one step')
    this.reads = this.world.reads
    this.random = this.world.stage.random
    this.traits = drawTraits(this.random, isCrowded(seed))
    this.reopen = reopen
    this.subscribers = []
    this.publishers = []
    this.qosOf = new Map()
    this.recordStore = recordStore
    this.damage = damage
    this.damageTraits = damage === undefined ? noDamage : drawDamage(new Random(seed + damageSeeds))
    this.isRestarting = false
    this.isOver = false
    this.setUp()
  }

  /** Number of delivered messages. */
  get delivered(): number {
    return this.subscribers.reduce((sum, { messages }) => sum + messages.length, 0)
  }

  /** Yields the time to pass. */
  *run(): Generator<number, void> {
    const { world, traits, reads } = this
    world.stage.record('scenario', () => `seed ${world.stage.seed}, ${JSON.stringify(traits)}`)
    world.stage.after(0, () => world.host.start())
    yield 50
    for (let number = 1; number <= traits.subscribers; number++) this.placeSubscriber(number)
    for (let number = 1; number <= 2; number++) this.placePublisher(number)
    yield 500
    reads.whenStep = (step) => this.noteStep(step)
    reads.failures = traits.failures
    if (this.damageTraits.isAway) for (const client of this.subscribers) client.disconnect()
    for (const publisher of this.publishers) this.publishOn(publisher, traits.messages)
    for (let count = this.damageTraits.whileRunning; count > 0; count--)
      world.stage.after(this.random.between(1, 1_500), () => this.damageRecords())
    for (let count = traits.interruptions; count > 0; count--) {
      world.stage.after(this.random.between(1, 1_500), this.reopen ?? (() => reads.interrupt()))
    }
    yield* this.waitForPublishers(traits.messages)
    if (this.damageTraits.atRestart > 0) yield* this.restartDamaged()
    yield this.random.between(0, 2_000)
    this.isOver = true
    world.stage.record('scenario', () => 'all faults end')
    yield* this.waitForQuiet()
    // Timers of the readers fire when the clock moves.
    for (let step = 0; step < 20; step++) yield SlowReads.endMs / 20
    this.check()
  }

  private *waitForPublishers(messages: number): Generator<number, void> {
    const { publishers } = this
    while (publishers.some(({ unfinished, publications }) => unfinished > 0 || publications.length < messages))
      yield 100
  }

  /** The broker stops, records are damaged, the broker starts, and more messages are published. */
  private *restartDamaged(): Generator<number, void> {
    const { damageTraits, publishers, traits, world } = this
    const { host, stage } = world
    this.isRestarting = true
    stage.after(0, () => host.die('kill'))
    yield 10
    for (let count = damageTraits.atRestart; count > 0; count--) stage.after(0, () => this.damageRecords())
    yield 10
    stage.after(0, () => host.start())
    yield 100
    this.isRestarting = false
    const returning = damageTraits.isAway ? publishers : [...publishers, ...this.subscribers]
    for (const client of returning) client.connect({ cleanStart: false })
    for (const publisher of publishers) this.publishOn(publisher, damageTraits.messagesAfterRestart)
    yield* this.waitForPublishers(traits.messages + damageTraits.messagesAfterRestart)
  }

  private async damageRecords(): Promise<void> {
    const kind = this.random.pick(damageKinds)
    const text = await this.damage?.damage(this.recordStore.store, kind)
    this.world.stage.record('store', () => String(text))
  }

  private setUp(): void {
    const { world, random } = this
    const { host } = world
    host.settings = {
      ...host.settings,
      maxQueuedMessages: this.traits.subscribers === crowd ? 10 : random.pick([10, 30, 1_024, 1_024]),
      maxInflightMessages: random.pick([2, 1_024, 1_024]),
      receiveMaximum: random.pick([10, 100]),
    }
    host.traits.maxTurnMs = random.pick([0, 2])
    host.traits.maxLinkMs = random.pick([0, 5])
    world.disk.maxStepMs = random.pick([0, 2, 10, 40])
  }

  private placeSubscriber(number: number): void {
    const { random, traits, world } = this
    const client = world.client(`subscriber-${number}`, {
      cleanStart: false,
      sessionExpirySeconds: 600,
      receiveMaximum: traits.subscribers === crowd ? 1 : random.pick([1, 5, 30]),
      network: this.network(),
    })
    this.subscribers.push(client)
    const qos = random.pick([1, 2] as const)
    if (traits.subscribers === crowd) client.thinkMs = () => crowdThinksMs
    let taken = 0
    client.whenMessage = () => {
      if (++taken % traits.messagesPerConnection === 0) this.breakOff(client)
    }
    this.qosOf.set(client, qos)
    client.whenEnded = () => (this.isRestarting ? undefined : checkDisconnect(world, client))
    this.subscribe(client, qos)
  }

  private placePublisher(number: number): void {
    const session = this.damage === undefined ? {} : ({ cleanStart: false, sessionExpirySeconds: 600 } as const)
    const client = this.world.client(`publisher-${number}`, { network: this.network(), ...session })
    this.publishers.push(client)
    client.connect()
  }

  private network(): { minDelayMs: number; maxDelayMs: number; splits: boolean; capacityBytes: number } {
    return { minDelayMs: 0, maxDelayMs: this.random.pick([0, 1, 5]), splits: false, capacityBytes: 16_384 }
  }

  private publishOn(publisher: Client, left: number): void {
    if (left === 0) return
    const { random, world } = this
    const qos = random.pick([1, 2] as const)
    const bytes = random.chance(0.02) ? 2_000 : 0
    const payload = `${publisher.id}/${publisher.publications.length + 1}`.padEnd(bytes)
    publisher.publish(topic, payload, { qos })
    world.stage.after(random.chance(0.9) ? 0 : random.between(0, 20), () => this.publishOn(publisher, left - 1))
  }

  private noteStep({ clientId }: ReadStep): void {
    const { random, subscribers, traits, world } = this
    if (!random.chance(traits.breaks)) return
    const client = subscribers.find(({ id }) => id === clientId)
    if (client !== undefined) world.stage.after(random.pick([0, 0, 1, 5]), () => this.breakOff(client))
  }

  /** Ends the connection in a random way. The client reconnects. */
  private breakOff(client: Client): void {
    const { random, world } = this
    if (this.isOver || this.isRestarting || !client.isConnected) return
    const how = random.pick(['drop', 'drop', 'late drop', 'good-bye', 'takeover'] as const)
    if (how === 'drop') client.drop()
    else if (how === 'late drop') client.drop(random.between(0, 20))
    else if (how === 'good-bye') client.disconnect()
    world.stage.record(client.id, () => `ends its connection: ${how}`)
    const renews = random.chance(this.traits.renewals)
    const awayMs = random.pick([0, 0, 1, 3, 30, 1_500])
    world.stage.after(how === 'takeover' ? 0 : awayMs, () => {
      if (this.isOver || this.isRestarting || (how !== 'takeover' && client.hasOpenConnection)) return
      if (renews) this.renew(client)
      else client.connect({ cleanStart: false })
    })
  }

  /** [MQTT5-3.1.2-4] The session ends, and another one with the same client ID begins. */
  private renew(client: Client): void {
    client.options = { ...client.options, cleanStart: true }
    this.subscribe(client, this.qosOf.get(client) ?? 1)
  }

  private subscribe(client: Client, qos: QoS): void {
    client.connect()
    const { stage } = this.world
    const subscribe = (): void => {
      if (!client.hasOpenConnection) return
      if (client.isConnected) {
        client.options = { ...client.options, cleanStart: false }
        client.subscribe(topic, { qos })
      } else stage.after(1, subscribe)
    }
    stage.after(0, subscribe)
  }

  private isQuiet(): boolean {
    const { world, subscribers } = this
    return subscribers.every(({ id, isConnected, unfinished }) => {
      const view = world.view.findClient(id)
      return isConnected && unfinished === 0 && view?.isConnected === true && view.inflight + view.waiting === 0
    })
  }

  private *waitForQuiet(): Generator<number, void> {
    const { world, reads } = this
    reads.failures = 0
    for (let second = 0; second < timeoutSeconds && !this.isQuiet(); second++) {
      for (const client of this.subscribers) if (!client.hasOpenConnection) client.connect({ cleanStart: false })
      yield 1_000
    }
    if (this.isQuiet()) return
    for (const { id } of this.subscribers) {
      const view = world.view.findClient(id)
      if (view === undefined || !view.isConnected || view.inflight + view.waiting > 0)
        world.stage.fail(`${id} has not received its queue: ${JSON.stringify(view)}`)
    }
  }

  private check(): void {
    const { world, reads, traits } = this
    const actors = [...this.subscribers, ...this.publishers].map((client): Actor => ({
      client,
      group: undefined,
      act: () => undefined,
    }))
    const profile = profileNamed(this.damageTraits.atRestart > 0 ? 'crash' : 'calm')
    const { damage } = this
    const history = new History(world, actors, { profile, rules: new ScenarioRules(world), damage })
    checkDeliveries(history)
    if (damage !== undefined) for (const client of this.subscribers) checkReported(history, client, damage)
    reads.checkEnd(traits.failures > 0)
  }
}

/** Each message that its client does not receive because its payload is missing is reported by an alarm. */
function checkReported(history: History, client: Client, damage: RecordDamage): void {
  const missing = missingMessages(history, client).filter(
    (publication) => history.damageOf(client, publication) === 'payload-missing',
  )
  const reported = damage.reportedOf(client.id)
  if (missing.length > reported)
    history.fail(`${client.id} lacks ${missing.length} messages without payload, and alarms report ${reported}`)
}

/** Beyond all seeds that scenarios use, see `scenario-features.ts`. */
const damageSeeds = 12 * 2 ** 32

const noDamage: DamageTraits = { isAway: false, whileRunning: 0, atRestart: 0, messagesAfterRestart: 0 }

function drawDamage(random: Random): DamageTraits {
  const restarts = random.chance(0.5)
  return {
    isAway: random.chance(0.6),
    whileRunning: restarts ? random.between(0, 2) : random.between(1, 3),
    atRestart: restarts ? random.between(1, 2) : 0,
    messagesAfterRestart: random.pick([0, 5, 40]),
  }
}

/** One scenario in 40 has many sessions, and no breaks. */
const isCrowded = (seed: number): boolean => seed % 40 === 0

function drawTraits(random: Random, hasCrowd: boolean): Traits {
  return {
    subscribers: hasCrowd ? crowd : random.between(1, 3),
    messages: hasCrowd ? 30 : random.between(50, 400),
    messagesPerConnection: hasCrowd ? Infinity : random.pick([7, 40, 211]),
    breaks: hasCrowd ? 0 : random.pick([0, 0.02, 0.1]),
    renewals: random.pick([0, 0, 0.3]),
    interruptions: random.pick([0, 0, 10]),
    failures: random.pick([0, 0, 0.02]),
  }
}
