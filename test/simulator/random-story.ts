// A story from a seed. The dice choose clients, what they do and when, and what goes wrong meanwhile; then all trouble
// stops, everybody comes back, and once it is quiet the oracles ask what was owed.
//
//   |---- activeMs: acts and faults ----|---- calm: everybody returns, queues drain ----| probe, oracles

import { reasonCodes } from '../../src/protocol/index.ts'
import { castActor, type Actor } from './cast.ts'
import type { HostTraits } from './broker-host.ts'
import { whenReady, type Eventually, type Keeper } from './keeper.ts'
import { calmNetwork } from './network.ts'
import { Operators } from './operators.ts'
import { checkAccusation, checkHistory, checkRemains } from './oracles.ts'
import { profileOf, type StoryProfile } from './profiles.ts'
import { askProbes, placeProbes } from './probes.ts'
import type { Random } from './random.ts'
import { drawTwists, type Twists } from './twists.ts'
import { sendUnruly } from './unruly.ts'
import { World } from './world.ts'

export interface StoryOptions {
  readonly seed: number
  readonly profile?: StoryProfile | undefined
  readonly isTold?: boolean
  readonly keeper?: Keeper | undefined
  /** See `WorldOptions`. */
  readonly readsSlowly?: boolean
  /** See `HostTraits`. */
  readonly promisesEarly?: boolean
  /** 1 if not said. */
  readonly shards?: number
}

/** So long after all trouble everything must be settled. */
/** So long a level of memory lasts. */
const memoryLevelMs = 900

const patienceSeconds = 120

export class RandomStory {
  readonly world: World
  readonly profile: StoryProfile
  readonly actors: Actor[]
  readonly twists: Twists
  private readonly operators: Operators
  private readonly random: Random
  private readonly activeMs: number
  private hasCalmedDown: boolean

  constructor(options: StoryOptions) {
    this.profile = options.profile ?? profileOf(options.seed)
    const { roughDisk, restarts } = this.profile
    this.world = new World({
      seed: options.seed,
      isTold: options.isTold ?? false,
      settles: false,
      starts: false,
      shards: options.shards ?? 1,
      ...(options.keeper === undefined ? {} : { keeper: options.keeper }),
      readsSlowly: options.readsSlowly ?? false,
      diskStepMs: roughDisk || restarts ? 20 : 0,
    })
    this.random = this.world.stage.random
    this.actors = []
    this.twists = drawTwists(this.random, options.seed)
    this.operators = new Operators(this.world, this.actors)
    this.world.host.traits.promisesEarly = options.promisesEarly ?? false
    this.activeMs = 0
    this.hasCalmedDown = false
    this.setUp()
    this.activeMs = this.random.between(10_000, 40_000)
  }

  /** Yields how long to let pass; whoever drives it may do so in real time or in none. */
  *tell(): Generator<number, void> {
    const { world } = this
    world.stage.tell('story', () => `seed ${world.stage.seed}, ${this.profile.name}, ${this.activeMs} ms`)
    world.stage.after(0, () => world.host.start())
    const count = this.random.between(3, 6)
    const { profile, twists } = this
    for (let number = 1; number <= count; number++) this.actors.push(castActor(world, { number, profile, twists }))
    this.operators.begin(this.twists)
    for (const actor of this.actors) this.planActs(actor)
    this.placeWitness()
    this.planFaults()
    this.planOperators()
    this.planOperatorActs()
    yield this.activeMs
    this.calmDown()
    yield* this.waitForQuiet()
    yield* this.probe()
    checkHistory(world, this.actors, {
      profile: this.profile,
      rules: this.operators.rules,
      byOperators: this.operators.publications,
    })
    const dropped = new Set(world.events('message-dropped').map(({ message }) => message.payload().toString()))
    world.host.watch.wills.judge(-world.host.traits.clockOffsetMs, (payload) => dropped.has(payload))
    yield* this.restartOnceMore()
  }

  /** The last question, once the story is told. */
  judge(): Eventually<void> {
    return whenReady(this.world.keeper.readAll(), (records) => checkRemains(this.world, this.actors, records))
  }

  private setUp(): void {
    const { random, world, profile } = this
    const { host } = world
    host.settings = {
      ...host.settings,
      maxInflightMessages: random.pick(profile.tight ? [1, 2, 3] : [2, 10, 1_024]),
      receiveMaximum: random.pick(profile.tight ? [1, 2, 3] : [3, 20, 100]),
      maxQueuedMessages: random.pick(profile.tight ? [2, 5] : [5, 1_024]),
      ...(world.stage.seed % 3 === 0 && { maxQueuedBytes: 2_000, maxInflightBytes: 1_000 }),
      maxStoredMessages: random.pick(profile.tight ? [4, 20] : [1_000_000]),
      maxUnsentBytes: random.pick(profile.tight ? [500, 5_000] : [1_048_576]),
      retryIntervalMs: random.pick([0, 2_000, 30_000]),
      maxTopicAlias: random.pick([0, 2, 1_024]),
      awaitReleaseTimeoutMs: 3_600_000,
      queueFullPolicy: this.twists.dropsOldest ? 'drop-oldest' : 'drop-newest',
      exclusiveSubscriptionAvailable: this.twists.exclusive,
    }
    const { maxBytesInMemory } = this.twists
    if (maxBytesInMemory !== undefined) {
      host.settings.maxWillBytesInMemory = maxBytesInMemory
      host.settings.maxRetainedBytesInMemory = maxBytesInMemory
    }
    host.traits.maxTurnMs = profile.roughNetwork || profile.roughDisk ? 3 : 0
    host.traits.maxLinkMs = profile.roughNetwork || profile.roughDisk ? 20 : 0
    if (this.twists.slowLinkMs > 0) host.traits.maxLinkMs = this.twists.slowLinkMs
    if (this.twists.mountpoint !== '') host.traits.listener = { mountpoint: this.twists.mountpoint }
    // Who floods it with what nobody can take must not hide from the oracles what was dropped for others.
    host.traits.mostDropEvents = Infinity
    host.traits.verdict = (question) => this.verdictOn(question.clientId)
    if (world.stage.seed % 2 === 1) this.findMemory('normal')
  }

  /** Nothing is lost for it: what waits in memory waits on disk, and comes back from there. */
  private findMemory(level: 'soft' | 'normal'): void {
    const { world } = this
    world.host.handle({ kind: 'memory-level', level: this.hasCalmedDown ? 'normal' : level, step: 0 })
    if (!this.hasCalmedDown)
      world.stage.after(memoryLevelMs, () => this.findMemory(level === 'soft' ? 'normal' : 'soft'))
  }

  private verdictOn(clientId: string): ReturnType<HostTraits['verdict']> {
    const { random } = this
    const banned = this.operators.refusalOf(clientId)
    if (banned !== undefined) return { verdict: { allowed: false, reason: banned }, afterMs: 0 }
    const isAtOnce = !this.profile.slowVerdicts || clientId === 'witness' || this.hasCalmedDown
    if (isAtOnce) return { verdict: { allowed: true }, afterMs: 0 }
    const isAllowed = random.chance(0.9)
    return {
      verdict: isAllowed ? { allowed: true } : { allowed: false, reason: reasonCodes.notAuthorized },
      afterMs: random.chance(0.5) ? 0 : random.between(0, 3_000),
    }
  }

  private planActs(actor: Actor): void {
    const { client } = actor
    client.whenEnded = () => {
      const { host } = this.world
      // Whose shard dies loses the connection without a word.
      const wasOfDeadShard = host.shardDiedAtMs === this.world.stage.nowMs
      const isBrokersWill = host.isRunning && !host.isStopping && !wasOfDeadShard
      if (isBrokersWill && !this.operators.hasSentAway(client.id)) checkAccusation(this.world, client)
    }
    const next = (): void => {
      if (this.hasCalmedDown) return
      actor.act()
      this.world.stage.after(this.random.between(20, 2_500), next)
    }
    this.world.stage.after(this.random.between(0, 2_000), next)
  }

  /** Subscribes to all wills and comes back at once whenever the broker does. */
  private placeWitness(): void {
    const { world } = this
    const { stage, host } = world
    const witness = world.client('witness', {
      cleanStart: false,
      sessionExpirySeconds: 0xffff_ffff,
      network: calmNetwork,
    })
    const comeBack = (): void => {
      if (host.isRunning && !host.isStopping && !witness.hasOpenConnection) witness.connect()
      const { wills } = host.watch
      wills.hasWitness = witness.session?.subscriptions.some((held) => held.grantedStep !== Infinity) === true
      if (witness.isConnected && !wills.hasWitness) witness.subscribe('wills/#', { qos: 1 })
      stage.after(100, comeBack)
    }
    witness.whenMessage = (message) => {
      host.watch.wills.heard(message)
    }
    stage.after(0, comeBack)
  }

  private planFaults(): void {
    const { profile, random } = this
    if (profile.restarts) this.planMany(random.between(1, 4), () => this.restartBroker())
    if (profile.restarts && this.world.host.shards.length > 1) {
      this.planMany(random.between(1, 5), () => this.restartShard(random))
      if (this.twists.nearDeaths) this.planNearDeaths()
    }
    if (profile.roughDisk) this.planMany(random.between(0, 2), () => this.failDisk())
    if (profile.unruly) this.planMany(random.between(1, 8), () => sendUnruly(this.world, () => this.hasCalmedDown))
  }

  private planOperators(): void {
    const { operators, random, twists } = this
    if (twists.denials === 'changing') this.planMany(random.between(1, 8), () => operators.changeRules())
    if (!twists.operators) return
    this.planMany(random.between(1, 5), () => operators.kickSomebody())
    this.planMany(random.between(0, 2), () => operators.banSomebody())
  }

  private planOperatorActs(): void {
    const { dice, operatorsAct } = this.twists
    for (let count = operatorsAct ? dice.between(3, 15) : 0; count > 0; count--) {
      this.world.stage.after(dice.between(500, this.activeMs), () => {
        if (!this.hasCalmedDown) this.operators.actForSomebody(dice, this.twists.mountpoint)
      })
    }
  }

  private planMany(count: number, fault: () => Eventually<void>): void {
    for (let at = 0; at < count; at++) this.world.stage.after(this.random.between(500, this.activeMs), fault)
  }

  private restartBroker(): Eventually<void> {
    const { random, world } = this
    const { host, stage } = world
    if (!host.isRunning || host.isStopping || this.hasCalmedDown) return undefined
    const awayMs = random.between(10, 3_000)
    if (random.chance(0.2)) {
      host.stop()
      this.startWhenStopped(awayMs)
      return undefined
    }
    return whenReady(host.die(random.pick(['kill', 'power-loss'] as const)), () => {
      // The machine may come back with a clock that is behind.
      if (random.chance(0.2)) host.traits.clockOffsetMs -= random.between(0, 20_000)
      stage.after(awayMs, () => (host.isRunning ? undefined : host.start()))
    })
  }

  private restartShard(dice: Random, whenBack: () => void = () => undefined): Eventually<void> {
    const { host, stage } = this.world
    if (!host.isRunning || host.isStopping || this.hasCalmedDown) return undefined
    const own = dice.between(0, host.shards.length - 1)
    const awayMs = dice.between(10, 3_000)
    return whenReady(host.killShard(own), () => {
      stage.after(awayMs, () => whenReady(host.restartShard(own), whenBack))
    })
  }

  /** A second shard dies soon after the first, or when the first is just coming back. */
  private planNearDeaths(): void {
    const { stage } = this.world
    const { dice } = this.twists
    for (let count = dice.between(1, 3); count > 0; count--) {
      const another = (): void => void stage.after(dice.between(0, 60), () => this.restartShard(dice))
      const isAtReturn = dice.chance(0.5)
      stage.after(dice.between(500, this.activeMs), () => {
        if (!isAtReturn) another()
        return this.restartShard(dice, isAtReturn ? another : undefined)
      })
    }
  }

  private startWhenStopped(awayMs: number): void {
    const { host, stage } = this.world
    stage.after(awayMs, () => {
      if (host.isRunning) this.startWhenStopped(100)
      else return host.start()
      return undefined
    })
  }

  private failDisk(): undefined {
    const { disk, stage } = this.world
    if (this.hasCalmedDown) return
    disk.fail()
    stage.after(this.random.between(100, 6_000), () => disk.mend())
  }

  private calmDown(): void {
    this.hasCalmedDown = true
    this.world.stage.tell('story', () => 'all trouble ends')
    this.world.disk.mend()
    this.world.disk.maxStepMs = 0
    this.operators.calmDown()
    this.bringBack()
  }

  private bringBack(): void {
    const { host } = this.world
    for (const { client } of this.actors) {
      client.options.network = calmNetwork
      client.thinkMs = () => 0
      client.resumeReading()
      if (host.isRunning && !host.isStopping && !client.hasOpenConnection) client.connect({ will: undefined })
    }
  }

  private isQuiet(): boolean {
    const { world } = this
    if (!world.host.isRunning || !world.host.isOpen || !world.disk.isFree) return false
    return this.actors.every(({ client }) => {
      const view = world.view.client(client.id)
      return (
        client.isConnected &&
        client.unfinished === 0 &&
        view?.isConnected === true &&
        view.inflight === 0 &&
        view.waiting === 0
      )
    })
  }

  private checkQuiet(): void {
    const { world } = this
    if (!world.host.isOpen) world.stage.fail('not all shards know of each other long after all trouble has ended')
    for (const { client } of this.actors) {
      const view = world.view.client(client.id)
      if (!client.isConnected) world.stage.fail(`${client.id} could not come back after all trouble had ended`)
      if (client.unfinished > 0)
        world.stage.fail(
          `${client.unfinished} messages of ${client.id} are unanswered long after all trouble has ended`,
        )
      if (view === undefined || view.inflight + view.waiting + view.unreleased > 0) {
        world.stage.fail(
          `the broker still has ${view?.inflight} under way, ${view?.waiting} waiting and ${view?.unreleased} unreleased for ${client.id}, long after all trouble has ended`,
        )
      }
    }
  }

  private *waitForQuiet(): Generator<number, void> {
    for (let second = 0; second < patienceSeconds && !this.isQuiet(); second++) {
      yield 1_000
      this.bringBack()
    }
    this.checkQuiet()
  }

  /** All was delivered and acknowledged: after a restart nobody hears anything again, and the sweep finds what is left. */
  private *restartOnceMore(): Generator<number, void> {
    const { host, stage } = this.world
    const before = this.actors.map(({ client }) => ({ heard: client.messages.length, connections: client.connections }))
    host.stop()
    this.startWhenStopped(0)
    yield 10_000
    yield* this.waitForQuiet()
    yield 1_000
    this.actors.forEach(({ client }, at) => {
      const { heard, connections } = before[at]
      // QoS 0, which nobody acknowledges, may have been on its way still when the broker was asked to stop.
      const again = client.messages.slice(heard).find(({ qos, connection }) => qos > 0 || connection > connections)
      if (again !== undefined)
        stage.fail(
          `${client.id} heard "${again.payload.trimEnd()}" again after a restart, though it had acknowledged everything`,
        )
    })
  }

  /** Of each shard a fresh client asks what there is. */
  private *probe(): Generator<number, void> {
    const probes = placeProbes(this.world)
    yield 1_000
    askProbes(probes, this.twists)
    yield 5_000
  }
}
