// The administrators of a random scenario: they change permissions, and disconnect clients.

import type { Command } from '../../src/core/index.ts'
import { reasonCodes, type ReasonCode, type TopicFilter } from '../../src/protocol/index.ts'
import { filters, topics, type Actor } from './scenario-clients.ts'
import type { Random } from './random.ts'
import { ScenarioRules } from './scenario-rules.ts'
import type { ScenarioFeatures } from './scenario-features.ts'
import { Publication, type Client, type World } from './world.ts'

const denied = {
  publish: ['t/a', 't/#', 'work/x', 'work/#', 'state/#', 'wills/#'],
  receive: ['t/a', 't/#', 'work/x', 'work/#', 'work/#', 'state/#'],
  subscribe: ['t/#', 't/a', 'work/#', 'state/#'],
} as const
const actions = ['publish', 'receive', 'receive', 'subscribe'] as const

/** Maximum time after which a disconnected client notices. */
const noticeMs = 10_000

export class Administrators {
  readonly rules: ScenarioRules
  /** Messages that they published for clients. */
  readonly publications: Publication[]
  private readonly world: World
  private readonly actors: readonly Actor[]
  private readonly sentAwayAtMs: Map<string, number>
  private lastCommand: number
  private published: number

  constructor(world: World, actors: readonly Actor[]) {
    this.world = world
    this.actors = actors
    this.rules = new ScenarioRules(world)
    this.sentAwayAtMs = new Map()
    this.lastCommand = 0
    this.published = 0
    this.publications = []
  }

  /** Denies actions before the broker starts. */
  begin(features: ScenarioFeatures): void {
    const { host, stage } = this.world
    if (features.denials === 'none' && !features.delaysAuthorization && !features.administrators) return
    host.traits.permissions = this.rules
    host.traits.mayDo = (request) => this.rules.learn(request)
    host.watch.mayReceive = (clientId, topic) => !this.rules.isDenied('receive', clientId, topic)
    if (features.denialEnds) this.rules.whenDisconnected = (clientId) => this.noteSentAway(clientId)
    if (features.delaysAuthorization) this.rules.authorizationMs = () => stage.random.between(0, 500)
    const count = features.denials === 'none' ? 0 : stage.random.between(1, 6)
    for (let at = 0; at < count; at++) this.denySomething()
  }

  denySomething(): undefined {
    const { random } = this.world.stage
    const { id, version } = random.pick(this.actors).client
    const picked = random.pick(actions)
    // MQTT 3.1 has no SUBACK with an error code: its client does not know which subscriptions were granted.
    const action = picked === 'subscribe' && version === 3 ? 'receive' : picked
    this.rules.deny(action, id, random.pick(denied[action]))
  }

  changeRules(): undefined {
    const { random } = this.world.stage
    const { inForce } = this.rules
    if (inForce.length > 0 && random.chance(0.5)) this.rules.grant(random.pick(inForce))
    else this.denySomething()
  }

  kickClient(): undefined {
    const { host, stage } = this.world
    const { id } = stage.random.pick(this.actors).client
    if (!host.isOpen || host.isStopping) return
    stage.record('operator', () => `kicks ${id}`)
    this.noteSentAway(id)
    this.command({ name: 'kick', clientId: id })
  }

  /** Publishes, subscribes or unsubscribes for a connected client. */
  actForClient(generator: Random, mountpoint: string): void {
    const { host, stage } = this.world
    const { client } = generator.pick(this.actors)
    if (!host.isServing(client.id)) return
    const did = generator.fraction()
    if (did < 0.5) this.publishFor(client, generator, mountpoint)
    else if (!host.isOpen) return
    else if (client.isConnected && did < 0.8) {
      const filter = generator.pick(filters)
      const qos = generator.pick([0, 1, 2] as const)
      stage.record('operator', () => `subscribes ${client.id} to ${filter} at QoS ${qos}`)
      const { granted, refused } = client.beSubscribed(filter, qos)
      this.command({ name: 'subscribe', clientId: client.id, filter: filter as TopicFilter, qos }, granted, refused)
    } else if (client.isConnected) {
      const filter = generator.pick(filters)
      stage.record('operator', () => `unsubscribes ${client.id} from ${filter}`)
      const done = client.beUnsubscribed(filter)
      this.command({ name: 'unsubscribe', clientId: client.id, filter: filter as TopicFilter }, done)
    }
  }

  private publishFor(client: Client, generator: Random, mountpoint: string): void {
    const { stage } = this.world
    const topic = generator.pick(topics)
    const payload = `operator:${++this.published}`
    const qos = generator.pick([0, 1, 2] as const)
    stage.record('operator', () => `publishes "${payload}" to ${topic} at QoS ${qos} for ${client.id}`)
    const publication = new Publication(client.id, { topic, payload, qos })
    publication.isByAdministrator = true
    publication.timesSent = 1
    publication.firstSentStep = stage.step
    publication.firstSentAtMs = stage.nowMs
    this.publications.push(publication)
    const acknowledged = (reasonCode: number): void => {
      publication.reasonCode = reasonCode
      publication.acknowledgedStep = stage.step
      publication.acknowledgedAtMs = stage.nowMs
    }
    this.command(
      {
        name: 'publish',
        clientId: client.id,
        topic: mountpoint + topic,
        payload: Buffer.from(payload),
        qos,
        retain: false,
        properties: undefined,
      },
      (matched) => acknowledged(matched === 0 ? reasonCodes.noMatchingSubscribers : reasonCodes.success),
      () => acknowledged(reasonCodes.unspecifiedError),
    )
  }

  /** Looks for the result of the command repeatedly: it arrives between two looks, and not before the command. */
  private command(
    command: Command,
    done: (matched: number) => void = () => undefined,
    failed: () => void = () => undefined,
  ): void {
    const { host, stage } = this.world
    const requestId = ++this.lastCommand
    const look = (from: number): void => {
      const { events } = host
      for (let at = from; at < events.length; at++) {
        const event = events[at]
        if (event.event !== 'command-done' || event.requestId !== requestId) continue
        return event.result.done ? done(event.result.matched) : failed()
      }
      // A failed shard does not respond.
      if (stage.nowMs < requestedAtMs + noticeMs) stage.after(20, () => look(events.length))
    }
    const requestedAtMs = stage.nowMs
    const from = host.events.length
    host.handle({ kind: 'command', requestId, command })
    look(from)
  }

  banClient(): undefined {
    const { stage } = this.world
    const { id } = stage.random.pick(this.actors).client
    this.noteSentAway(id)
    this.rules.deny('stay', id, '')
    stage.after(stage.random.between(100, 10_000), () => this.liftBan(id))
  }

  /** All clients may reconnect, and no denied action disconnects a client that sends a message again. */
  endFaults(): void {
    this.rules.whenDisconnected = undefined
    for (const denial of this.rules.inForce) if (denial.action === 'stay') this.rules.grant(denial)
  }

  /** Undefined: the client may connect. */
  refusalOf(clientId: string): ReasonCode | undefined {
    return this.rules.isDenied('stay', clientId, '') ? reasonCodes.banned : undefined
  }

  /** Recent enough to be the reason why the connection of the client ended. */
  hasDisconnected(clientId: string): boolean {
    return (this.sentAwayAtMs.get(clientId) ?? -Infinity) + noticeMs >= this.world.nowMs
  }

  private noteSentAway(clientId: string): void {
    this.sentAwayAtMs.set(clientId, this.world.stage.nowMs)
    const { connections } = this.actors.find(({ client }) => client.id === clientId)?.client ?? { connections: 0 }
    this.rules.ended.add(`${clientId} ${connections}`)
  }

  private liftBan(clientId: string): void {
    const ban = this.rules.inForce.find((denial) => denial.action === 'stay' && denial.clientId === clientId)
    if (ban !== undefined) this.rules.grant(ban)
  }
}
