// A scenario from a seed: two brokers and a bridge, clients that publish on both sides, and faults meanwhile. Then all faults end, all
// clients reconnect, and at the end the oracles check the deliveries:
//
//   QoS 1 and 2   each acknowledged message was delivered on the other side
//   QoS 2         once
//   QoS 0         once at most
//   order         of one publisher, topic and QoS, by first arrival
//
// In some scenarios the remote broker is a Godwit that sends its name: the bridge then uses 5.0 whatever is configured.
// In some, the remote broker loses the session of the bridge from time to time. Then messages that it had accepted may arrive
// twice there, and its messages for the bridge are lost; messages acknowledged here still arrive.

import type { QoS } from '../../src/protocol/index.ts'
import { Stage } from '../simulator/stage.ts'
import { World } from '../simulator/world.ts'
import { Bridged } from './bridged-brokers.ts'
import { reconnectAll, durable, runScenario, type ClientPair, type ScenarioEnd } from './scenario.ts'

const topics = ['a', 'b/c'] as const

interface Side extends ClientPair {
  readonly name: 'local' | 'remote'
}

interface BridgeEnd {
  readonly carried: number
  readonly reconnects: number
}

export function runBridgeScenario(seed: number): ScenarioEnd<BridgeEnd> {
  return runScenario(seed, new BridgeScenario(seed))
}

class BridgeScenario {
  readonly #seed: number
  readonly #stage: Stage
  readonly #world: Bridged
  readonly #sides: readonly Side[]
  readonly #hasForgetfulRemote: boolean
  #isCalm = false
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
    this.#stage = new Stage(seed, false)
    const { random } = this.#stage
    const tight = random.chance(0.5)
    this.#hasForgetfulRemote = seed % 4 === 0
    const version = random.pick([4, 5, 5])
    const hasTwin = random.chance(0.3)
    const twin = hasTwin ? ', {local_topic = "out/b/#", remote_topic = "twin"}' : ''
    const settings = (): NonNullable<ConstructorParameters<typeof World>[0]>['settings'] => ({
      // Both copies of a message should be in flight at once, or are sent with QoS 1.
      receiveMaximum: random.pick(tight ? [hasTwin ? 2 : 1, 2, 3] : [20, 100]),
      maxAwaitingRelease: 100,
      maxInflightMessages: random.pick(tight ? [1, 2, 3] : [10, 1_024]),
      maxQueuedMessages: random.pick(tight ? [2, 5] : [1_024]),
    })
    const disk = { diskStepMs: random.pick([0, 20]) }
    const local = new World({ shards: 1, stage: this.#stage, settings: settings(), ...disk })
    const host = seed % 3 === 0 ? { brokerName: 'there' } : {}
    const remote = new World({ shards: 1, stage: this.#stage, settings: settings(), ...disk, host })
    this.#world = new Bridged({
      world: local,
      remote,
      network: {
        minDelayMs: 0,
        maxDelayMs: random.pick([2, 20, 300]),
        splits: random.chance(0.7),
        capacityBytes: random.pick([64, 1_024, 16_384]),
      },
      bridge: `proto_ver = ${version}, keepalive = 10s, clientid = c,
        forwards = [{local_topic = "out/#", remote_topic = ""}${twin}],
        subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]`,
    })
    this.#sides = [this.#side('local', local), this.#side('remote', remote)]
  }

  get end(): BridgeEnd {
    return {
      carried: this.#sides.reduce((sum, { subscriber }) => sum + subscriber.messages.length, 0),
      reconnects: this.#world.status.counters.connects,
    }
  }

  run(): void {
    const { random } = this.#stage
    for (const side of this.#sides) this.#planActs(side)
    const activeMs = random.between(5_000, 25_000)
    for (let faults = random.between(1, 6); faults > 0; faults--) {
      this.#stage.after(random.between(500, activeMs), () => this.#goWrong())
    }
    this.#world.local.passMs(activeMs)
    this.#isCalm = true
    reconnectAll(this.#sides)
    for (let round = 0; round < 60 && !this.#isQuiet(); round++) {
      this.#world.passSeconds(10)
      reconnectAll(this.#sides)
    }
  }

  fault(): string | undefined {
    if (!this.#isQuiet()) return this.#words(`not everything was settled: ${JSON.stringify(this.#world.status)}`)
    const [local, remote] = this.#sides
    return (
      this.#judge(local, remote, 'out') ?? (this.#hasForgetfulRemote ? undefined : this.#judge(remote, local, 'in'))
    )
  }

  #side(name: Side['name'], world: World): Side {
    const author = world.client(`author-${name}`, durable)
    const subscriber = world.client(`listener-${name}`, durable)
    author.connect()
    subscriber.connect()
    this.#world.passSeconds(2)
    subscriber.subscribe(name === 'local' ? 'in/#' : ['out/#', 'twin'])
    this.#world.passSeconds(2)
    return { name, world, author, subscriber, publications: [] }
  }

  #planActs(side: Side): void {
    const { random } = this.#stage
    const { author, publications, name } = side
    const next = (): void => {
      if (this.#isCalm) return
      this.#stage.after(random.between(0, 1_000), next)
      if (!side.world.host.isRunning) return
      if (!author.isConnected && !author.hasOpenConnection) author.connect()
      if (!side.subscriber.hasOpenConnection) side.subscriber.connect()
      for (let left = random.between(1, 8); left > 0; left--) {
        const topic = `${name === 'local' ? 'out' : 'in'}/${random.pick(topics)}`
        publications.push(author.publish(topic, `${name}-${++this.#count}`, { qos: random.pick([0, 1, 2] as QoS[]) }))
      }
    }
    this.#stage.after(0, next)
  }

  #goWrong(): void {
    const { random } = this.#stage
    const draw = random.fraction()
    if (this.#hasForgetfulRemote && random.chance(0.5)) return this.#forgetBridge()
    const death = random.pick(['kill', 'power-loss'] as const)
    const { remote, local } = this.#world
    if (draw < 0.3 && local.host.isRunning) {
      this.#world.killLocal(death)
      this.#stage.after(random.between(0, 3_000), () => this.#world.startLocal())
    } else if (draw < 0.6 && remote.host.isRunning) {
      remote.crash(death)
      this.#stage.after(random.between(0, 3_000), () => remote.start())
    } else if (draw < 0.8) this.#world.stream?.fallIntoBlackHole()
    else this.#world.stream?.destroy()
  }

  /** A client with the client ID of the bridge starts a new session: the remote broker loses the session of the bridge, and continues. */
  #forgetBridge(): void {
    const { remote } = this.#world
    if (!remote.host.isRunning) return
    const thief = remote.client('c', { cleanStart: true })
    thief.connect()
    this.#stage.after(500, () => {
      if (thief.hasOpenConnection) thief.disconnect()
    })
  }

  #isQuiet(): boolean {
    const { local, remote, status } = this.#world
    if (!local.host.isRunning || !remote.host.isRunning || status.state !== 'connected') return false
    const isDone = this.#sides.every(({ author, subscriber, world }) => {
      const view = world.view.findClient(subscriber.id)
      return author.unfinished === 0 && view !== undefined && view.waiting === 0 && view.inflight === 0
    })
    const session = remote.view.findClient('c')
    return isDone && status.spooled === 0 && status.inFlight === 0 && session?.waiting === 0 && session.inflight === 0
  }

  #judge(from: Side, to: Side, root: string): string | undefined {
    const deliveries = new Map<string, number>()
    const lastOf = new Map<string, number>()
    for (const message of to.subscriber.messages) {
      if (message.isRepeat || message.topic === 'twin' || !message.topic.startsWith(`${root}/`)) continue
      const before = deliveries.get(message.payload) ?? 0
      deliveries.set(message.payload, before + 1)
      if (before > 0) continue
      const line = `${message.topic} at QoS ${message.qos}`
      const number = Number(message.payload.split('-')[1])
      if (number < (lastOf.get(line) ?? 0) && !this.#hasForgetfulRemote)
        return this.#words(`${message.payload} on ${line} came late`)
      lastOf.set(line, number)
    }
    for (const publication of from.publications) {
      const { qos, topic } = publication
      const payload = publication.payload.toString()
      const times = deliveries.get(payload) ?? 0
      if (qos > 0 && publication.isAcknowledged && times === 0)
        return this.#words(`${payload} on ${topic} (QoS ${qos}) was lost`)
      if (qos === 2 && times > 1 && !this.#hasForgetfulRemote)
        return this.#words(`${payload} on ${topic} came ${times} times at QoS 2`)
      if (qos === 0 && times > 1) return this.#words(`${payload} on ${topic} came ${times} times at QoS 0`)
    }
    return undefined
  }

  #words(text: string): string {
    return `${text} [seed ${this.#seed}]`
  }
}
