// A scenario from a seed: two or three brokers in a ring of bridges, each of which forwards all messages to the next (and in
// some scenarios also back), clients that publish at each, and faults meanwhile. At the end, the oracles check:
//
//   QoS 1 and 2   each acknowledged message is delivered at every broker
//   QoS 0 and 2   at most once per path: one, or two if bridges go both ways; once at its first broker
//   circulation   no bridge sends messages any more
//   version       every bridge uses 5.0 then, whatever is configured

import type { QoS } from '../../src/protocol/index.ts'
import { Stage } from '../simulator/stage.ts'
import { World } from '../simulator/world.ts'
import { Bridged } from './bridged-brokers.ts'
import { reconnectAll, durable, runScenario, type ClientPair, type ScenarioEnd } from './scenario.ts'

interface Member extends ClientPair {
  readonly name: string
  readonly bridged: Bridged
}

interface RingEnd {
  readonly carried: number
  readonly loops: number
}

export function runRingScenario(seed: number): ScenarioEnd<RingEnd> {
  return runScenario(seed, new RingScenario(seed))
}

class RingScenario {
  readonly #seed: number
  readonly #stage: Stage
  readonly #goesBothWays: boolean
  readonly #members: readonly Member[]
  #isCalm = false
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
    this.#stage = new Stage(seed, false)
    const { random } = this.#stage
    this.#goesBothWays = random.chance(0.4)
    const names = ['A', 'B', 'C'].slice(0, random.pick([2, 3]))
    const version = random.pick([3, 4, 4, 5])
    const back = this.#goesBothWays ? ', subscription = [{remote_topic = "#", local_topic = "", qos = 2}]' : ''
    const bridge = `proto_ver = ${version}, keepalive = 10s, backoff_max = 2s,
      forwards = [{local_topic = "#", remote_topic = ""}]${back}`
    const network = {
      minDelayMs: 0,
      maxDelayMs: random.pick([2, 20, 100]),
      splits: random.chance(0.5),
      capacityBytes: 16_384,
    }
    const diskStepMs = random.pick([0, 20])
    const worlds = names.map(
      (name) => new World({ shards: 1, stage: this.#stage, diskStepMs, host: { brokerName: name } }),
    )
    this.#members = names.map((name, at) => {
      const world = worlds[at]
      const remote = worlds[(at + 1) % worlds.length]
      const bridged = new Bridged({ bridge, brokerId: name, name, world, remote, network })
      const [author, subscriber] = [world.client(`author-${name}`, durable), world.client(`listener-${name}`, durable)]
      return { name, world, bridged, author, subscriber, publications: [] }
    })
  }

  get end(): RingEnd {
    const sum = (of: (member: Member) => number): number => this.#members.reduce((total, one) => total + of(one), 0)
    return {
      carried: sum(({ subscriber }) => subscriber.messages.length),
      loops: sum(({ bridged }) => bridged.status.counters.dropped.loop),
    }
  }

  run(): void {
    const { random } = this.#stage
    for (const { author, subscriber } of this.#members) for (const client of [author, subscriber]) client.connect()
    this.#pass(2)
    for (const { subscriber } of this.#members) subscriber.subscribe('#')
    this.#pass(8)
    for (const member of this.#members) this.#planActs(member)
    const activeMs = random.between(5_000, 15_000)
    for (let faults = random.between(0, 5); faults > 0; faults--) {
      this.#stage.after(random.between(0, activeMs), () => this.#goWrong())
    }
    this.#pass(activeMs / 1_000)
    this.#isCalm = true
    reconnectAll(this.#members)
    for (let round = 0; round < 60 && !this.#isQuiet(); round++) {
      this.#pass(10)
      reconnectAll(this.#members)
    }
  }

  fault(): string | undefined {
    if (!this.#isQuiet()) return this.#words(`not everything was settled: ${JSON.stringify(this.#statuses())}`)
    // The last QoS 0 messages are not awaited, and may still be in flight.
    this.#pass(5)
    const sent = (): number => this.#statuses().reduce((total, { counters }) => total + counters.sent, 0)
    const before = sent()
    this.#pass(60)
    if (sent() !== before) return this.#words(`${sent() - before} messages still go round`)
    const other = this.#statuses().find(({ version }) => version !== 5)
    if (other !== undefined) return this.#words(`${other.name} speaks ${other.version}`)
    for (const from of this.#members) {
      for (const to of this.#members) {
        const found = this.#judge(from, to)
        if (found !== undefined) return found
      }
    }
    return undefined
  }

  #judge(from: Member, to: Member): string | undefined {
    const deliveries = new Map<string, number>()
    for (const { payload, isRepeat } of to.subscriber.messages)
      if (!isRepeat) deliveries.set(payload, (deliveries.get(payload) ?? 0) + 1)
    const ways = from !== to && this.#goesBothWays ? 2 : 1
    for (const { qos, payload, isAcknowledged } of from.publications) {
      const times = deliveries.get(payload.toString()) ?? 0
      const what = `${payload.toString()} (QoS ${qos})`
      if (qos > 0 && isAcknowledged && times === 0) return this.#words(`${what} was not received at ${to.name}`)
      if (qos !== 1 && times > ways) return this.#words(`${what} was received ${times} times at ${to.name}`)
    }
    return undefined
  }

  #planActs({ world, author, subscriber, name, publications }: Member): void {
    const { random } = this.#stage
    const next = (): void => {
      if (this.#isCalm) return
      this.#stage.after(random.between(0, 1_000), next)
      if (!world.host.isRunning) return
      for (const client of [author, subscriber]) if (!client.hasOpenConnection) client.connect()
      for (let left = random.between(1, 4); left > 0; left--) {
        const qos = random.pick([0, 1, 2] as QoS[])
        publications.push(author.publish(random.pick(['a', 'b/c']), `${name}-${++this.#count}`, { qos }))
      }
    }
    this.#stage.after(0, next)
  }

  #goWrong(): void {
    const { random } = this.#stage
    const { bridged, world } = random.pick([...this.#members])
    const draw = random.fraction()
    if (draw < 0.5 && world.host.isRunning) {
      bridged.killLocal(random.pick(['kill', 'power-loss'] as const))
      this.#stage.after(random.between(0, 3_000), () => bridged.startLocal())
    } else if (draw < 0.75) bridged.stream?.fallIntoBlackHole()
    else bridged.stream?.destroy()
  }

  #isQuiet(): boolean {
    return this.#members.every(({ world, author, subscriber, bridged }, at) => {
      if (!world.host.isRunning || author.unfinished > 0) return false
      const { state, spooled, inFlight } = bridged.status
      const own = world.view.findClient(subscriber.id)
      const next = this.#members[(at + 1) % this.#members.length].world
      const remote = next.host.isRunning ? next.view.findClient(bridged.settings.clientId) : undefined
      const isDone = [own, remote].every((client) => client?.waiting === 0 && client.inflight === 0)
      return isDone && state === 'connected' && spooled === 0 && inFlight === 0
    })
  }

  #statuses(): ReturnType<Bridged['bridge']['readStatus']>[] {
    return this.#members.map(({ bridged }) => bridged.status)
  }

  #pass(seconds: number): void {
    this.#stage.pass(this.#stage.nowMs + seconds * 1_000)
  }

  #words(text: string): string {
    return `${text} [ring, seed ${this.#seed}]`
  }
}
