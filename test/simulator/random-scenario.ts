// A scenario from a seed. The generator chooses clients, their actions and faults. Then all faults end, all clients reconnect, and the
// oracles check the deliveries when all queues are empty.
//
//   |---- activeMs: actions and faults ----|---- calm: all clients reconnect, queues drain ----| probe, oracles

import { reasonCodes } from '../../src/protocol/index.ts'
import { castActor, type Actor } from './scenario-clients.ts'
import type { HostTraits } from './broker-host.ts'
import { whenReady, type Eventually, type RecordStore } from './record-store.ts'
import { calmNetwork } from './network.ts'
import { Administrators } from './administrators.ts'
import { checkDisconnect, checkHistory, checkRemains } from './oracles.ts'
import { profileOf, type ScenarioProfile } from './profiles.ts'
import { subscribeProbes, placeProbes } from './probes.ts'
import type { Random } from './random.ts'
import { drawFeatures, type ScenarioFeatures } from './scenario-features.ts'
import { sendUnruly } from './unruly.ts'
import { World } from './world.ts'

export interface ScenarioOptions {
  readonly seed: number
  readonly profile?: ScenarioProfile | undefined
  readonly isRecorded?: boolean
  readonly recordStore?: RecordStore | undefined
  /** See `WorldOptions`. */
  readonly readsSlowly?: boolean
  /** See `HostTraits`. */
  readonly acknowledgesEarly?: boolean
  /** Default: 1. */
  readonly shards?: number
  /** Number of local shards, which come and go; default: 0. Clients with clean sessions that never have a will are on them. */
  readonly locals?: number
}

/** Duration of each memory level. */
const memoryLevelMs = 900

/** Time after the end of all faults in which all queues must drain. */
const timeoutSeconds = 120

export class RandomScenario {
  readonly world: World
  readonly profile: ScenarioProfile
  readonly actors: Actor[]
  readonly features: ScenarioFeatures
  private readonly administrators: Administrators
  private readonly random: Random
  private readonly activeMs: number
  private haveFaultsEnded: boolean

  constructor(options: ScenarioOptions) {
    this.profile = options.profile ?? profileOf(options.seed)
    const { roughDisk, restarts } = this.profile
    this.world = new World({
      seed: options.seed,
      isRecorded: options.isRecorded ?? false,
      settles: false,
      starts: false,
      shards: options.shards ?? 1,
      locals: options.locals ?? 0,
      ...(options.recordStore === undefined ? {} : { recordStore: options.recordStore }),
      readsSlowly: options.readsSlowly ?? false,
      diskStepMs: roughDisk || restarts ? 20 : 0,
    })
    this.random = this.world.stage.random
    this.actors = []
    this.features = drawFeatures(this.random, options.seed)
    this.administrators = new Administrators(this.world, this.actors)
    this.world.host.traits.acknowledgesEarly = options.acknowledgesEarly ?? false
    this.activeMs = 0
    this.haveFaultsEnded = false
    this.setUp()
    this.activeMs = this.random.between(10_000, 40_000)
  }

  /** Yields the time to pass. The caller lets it pass, with or without promises. */
  *run(): Generator<number, void> {
    const { world } = this
    world.stage.record('scenario', () => `seed ${world.stage.seed}, ${this.profile.name}, ${this.activeMs} ms`)
    world.stage.after(0, () => world.host.start())
    const count = this.random.between(3, 6)
    const { profile, features } = this
    for (let number = 1; number <= count; number++) this.actors.push(castActor(world, { number, profile, features }))
    this.administrators.begin(this.features)
    for (const actor of this.actors) this.planActs(actor)
    this.placeWitness()
    this.planFaults()
    this.planAdministrators()
    this.planOperatorActs()
    yield this.activeMs
    this.endFaults()
    yield* this.waitForQuiet()
    yield* this.probe()
    checkHistory(world, this.actors, {
      profile: this.profile,
      rules: this.administrators.rules,
      byAdministrators: this.administrators.publications,
    })
    const dropped = new Set(world.events('message-dropped').map(({ message }) => message.readPayload().toString()))
    world.host.watch.wills.check(-world.host.traits.clockOffsetMs, (payload) => dropped.has(payload))
    yield* this.restartOnceMore()
  }

  /** Checks the stored records after the end of the scenario. */
  checkRecords(): Eventually<void> {
    return whenReady(this.world.recordStore.readAll(), (records) => checkRemains(this.world, this.actors, records))
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
      queueFullPolicy: this.features.dropsOldest ? 'drop-oldest' : 'drop-newest',
      // `test/core/limits.test.ts` tests the other value: which messages arrive then depends on times.
      storedMessagesOverflow: 'reject-publish',
      exclusiveSubscriptionAvailable: this.features.exclusive,
    }
    const { maxBytesInMemory } = this.features
    if (maxBytesInMemory !== undefined) {
      host.settings.maxWillBytesInMemory = maxBytesInMemory
      host.settings.maxRetainedBytesInMemory = maxBytesInMemory
    }
    host.traits.maxTurnMs = profile.roughNetwork || profile.roughDisk ? 3 : 0
    host.traits.maxLinkMs = profile.roughNetwork || profile.roughDisk ? 20 : 0
    if (this.features.slowLinkMs > 0) host.traits.maxLinkMs = this.features.slowLinkMs
    if (this.features.mountpoint !== '') host.traits.listener = { mountpoint: this.features.mountpoint }
    // A client that sends very many messages must not hide from the oracles that messages for other clients were dropped.
    host.traits.maxDropEvents = Infinity
    host.traits.decision = (request) => this.decisionOn(request.clientId)
    if (world.stage.seed % 2 === 1) this.findMemory('normal')
  }

  /** Changes the memory level. No message is lost, because queued messages in memory are also on disk. */
  private findMemory(level: 'soft' | 'normal'): void {
    const { world } = this
    world.host.handle({ kind: 'memory-level', level: this.haveFaultsEnded ? 'normal' : level, step: 0 })
    if (!this.haveFaultsEnded)
      world.stage.after(memoryLevelMs, () => this.findMemory(level === 'soft' ? 'normal' : 'soft'))
  }

  private decisionOn(clientId: string): ReturnType<HostTraits['decision']> {
    const { random } = this
    const banned = this.administrators.refusalOf(clientId)
    if (banned !== undefined) return { decision: { allowed: false, reason: banned }, afterMs: 0 }
    const isAtOnce = !this.profile.slowDecisions || clientId === 'witness' || this.haveFaultsEnded
    if (isAtOnce) return { decision: { allowed: true }, afterMs: 0 }
    const isAllowed = random.chance(0.9)
    return {
      decision: isAllowed ? { allowed: true } : { allowed: false, reason: reasonCodes.notAuthorized },
      afterMs: random.chance(0.5) ? 0 : random.between(0, 3_000),
    }
  }

  private planActs(actor: Actor): void {
    const { client } = actor
    client.whenEnded = () => {
      const { host } = this.world
      // A client of a failed shard loses its connection without DISCONNECT.
      const wasOfDeadShard = host.shardDiedAtMs === this.world.stage.nowMs
      const isBrokersWill = host.isRunning && !host.isStopping && !wasOfDeadShard
      if (isBrokersWill && !this.administrators.hasDisconnected(client.id)) checkDisconnect(this.world, client)
    }
    const next = (): void => {
      if (this.haveFaultsEnded) return
      actor.act()
      this.world.stage.after(this.random.between(20, 2_500), next)
    }
    this.world.stage.after(this.random.between(0, 2_000), next)
  }

  /** Subscribes to all wills, and reconnects at once when the broker starts. */
  private placeWitness(): void {
    const { world } = this
    const { stage, host } = world
    const witness = world.client('witness', {
      cleanStart: false,
      sessionExpirySeconds: 0xffff_ffff,
      network: calmNetwork,
    })
    const reconnect = (): void => {
      if (host.isRunning && !host.isStopping && !witness.hasOpenConnection) witness.connect()
      const { wills } = host.watch
      wills.hasWitness = witness.session?.subscriptions.some((held) => held.grantedStep !== Infinity) === true
      if (witness.isConnected && !wills.hasWitness) witness.subscribe('wills/#', { qos: 1 })
      stage.after(100, reconnect)
    }
    witness.whenMessage = (message) => {
      host.watch.wills.noteReceived(message)
    }
    stage.after(0, reconnect)
  }

  private planFaults(): void {
    const { profile, random } = this
    if (profile.restarts) this.planMany(random.between(1, 4), () => this.restartBroker())
    if (profile.restarts && this.world.host.shards.length > 1) {
      this.planMany(random.between(1, 5), () => this.restartShard(random))
      if (this.features.nearDeaths) this.planNearDeaths()
    }
    if (profile.restarts && this.world.host.locals.length > 0)
      this.planMany(random.between(3, 12), () => this.replaceLocal(random))
    if (profile.roughDisk) this.planMany(random.between(0, 2), () => this.failDisk())
    if (profile.unruly) this.planMany(random.between(1, 8), () => sendUnruly(this.world, () => this.haveFaultsEnded))
  }

  private planAdministrators(): void {
    const { administrators, random, features } = this
    if (features.denials === 'changing') this.planMany(random.between(1, 8), () => administrators.changeRules())
    if (!features.administrators) return
    this.planMany(random.between(1, 5), () => administrators.kickClient())
    this.planMany(random.between(0, 2), () => administrators.banClient())
  }

  private planOperatorActs(): void {
    const { generator, administratorsAct } = this.features
    for (let count = administratorsAct ? generator.between(3, 15) : 0; count > 0; count--) {
      this.world.stage.after(generator.between(500, this.activeMs), () => {
        if (!this.haveFaultsEnded) this.administrators.actForClient(generator, this.features.mountpoint)
      })
    }
  }

  private planMany(count: number, fault: () => Eventually<void>): void {
    for (let at = 0; at < count; at++) this.world.stage.after(this.random.between(500, this.activeMs), fault)
  }

  private restartBroker(): Eventually<void> {
    const { random, world } = this
    const { host, stage } = world
    if (!host.isRunning || host.isStopping || this.haveFaultsEnded) return undefined
    const awayMs = random.between(10, 3_000)
    if (random.chance(0.2)) {
      host.stop()
      this.startWhenStopped(awayMs)
      return undefined
    }
    return whenReady(host.die(random.pick(['kill', 'power-loss'] as const)), () => {
      // The clock may be behind after the restart.
      if (random.chance(0.2)) host.traits.clockOffsetMs -= random.between(0, 20_000)
      stage.after(awayMs, () => (host.isRunning ? undefined : host.start()))
    })
  }

  private restartShard(generator: Random, whenBack: () => void = () => undefined): Eventually<void> {
    const { host, stage } = this.world
    if (!host.isRunning || host.isStopping || this.haveFaultsEnded) return undefined
    const own = generator.between(0, host.shards.length - 1)
    const awayMs = generator.between(10, 3_000)
    return whenReady(host.killShard(own), () => {
      stage.after(awayMs, () => whenReady(host.restartShard(own), whenBack))
    })
  }

  /** A local shard ends, and another one starts in its place. */
  private replaceLocal(generator: Random): Eventually<void> {
    const { host, stage } = this.world
    if (!host.isRunning || host.isStopping || this.haveFaultsEnded) return undefined
    const slot = generator.between(0, host.locals.length - 1)
    const awayMs = generator.between(0, 1_500)
    return whenReady(host.killLocal(slot), () => void stage.after(awayMs, () => host.startLocal(slot)))
  }

  /** A second shard fails soon after the first, or when the first one returns. */
  private planNearDeaths(): void {
    const { stage } = this.world
    const { generator } = this.features
    for (let count = generator.between(1, 3); count > 0; count--) {
      const another = (): void => void stage.after(generator.between(0, 60), () => this.restartShard(generator))
      const isAtReturn = generator.chance(0.5)
      stage.after(generator.between(500, this.activeMs), () => {
        if (!isAtReturn) another()
        return this.restartShard(generator, isAtReturn ? another : undefined)
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
    if (this.haveFaultsEnded) return
    disk.fail()
    stage.after(this.random.between(100, 6_000), () => disk.mend())
  }

  private endFaults(): void {
    this.haveFaultsEnded = true
    this.world.stage.record('scenario', () => 'all faults end')
    this.world.disk.mend()
    this.world.disk.maxStepMs = 0
    this.administrators.endFaults()
    this.reconnectAll()
  }

  private reconnectAll(): void {
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
      const view = world.view.findClient(client.id)
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
    if (!world.host.isOpen) world.stage.fail('not all shards are linked long after the end of all faults')
    for (const { client } of this.actors) {
      const view = world.view.findClient(client.id)
      if (!client.isConnected) world.stage.fail(`${client.id} could not reconnect after the end of all faults`)
      if (client.unfinished > 0)
        world.stage.fail(
          `${client.unfinished} messages of ${client.id} are unacknowledged long after the end of all faults`,
        )
      if (view === undefined || view.inflight + view.waiting + view.unreleased > 0) {
        world.stage.fail(
          `the broker still has ${view?.inflight} in flight, ${view?.waiting} waiting and ${view?.unreleased} unreleased for ${client.id}, long after the end of all faults`,
        )
      }
    }
  }

  private *waitForQuiet(): Generator<number, void> {
    for (let second = 0; second < timeoutSeconds && !this.isQuiet(); second++) {
      yield 1_000
      this.reconnectAll()
    }
    this.checkQuiet()
  }

  /** All messages were delivered and acknowledged: after a restart no client receives one again, and the scan finds no records. */
  private *restartOnceMore(): Generator<number, void> {
    const { host, stage } = this.world
    const before = this.actors.map(({ client }) => ({
      received: client.messages.length,
      connections: client.connections,
    }))
    host.stop()
    this.startWhenStopped(0)
    yield 10_000
    yield* this.waitForQuiet()
    yield 1_000
    this.actors.forEach(({ client }, at) => {
      const { received, connections } = before[at]
      // A QoS 0 message has no acknowledgement and may have been in the network when the broker was stopped.
      const again = client.messages.slice(received).find(({ qos, connection }) => qos > 0 || connection > connections)
      if (again !== undefined)
        stage.fail(
          `${client.id} received "${again.payload.trimEnd()}" again after a restart, although it had acknowledged everything`,
        )
    })
  }

  /** A new client on each shard subscribes to retained messages and exclusive filters. */
  private *probe(): Generator<number, void> {
    const probes = placeProbes(this.world)
    yield 1_000
    subscribeProbes(probes, this.features)
    yield 5_000
  }
}
