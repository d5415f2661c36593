// The clients of a random scenario and their actions.
//
//   t/...       all clients publish and subscribe, with overlapping filters
//   work/...    only shared groups subscribe to these topics
//   state/<id>  retained messages of one client each, and state/all of all clients

import { reasonCodes, type ProtocolVersion, type QoS } from '../../src/protocol/index.ts'
import type { Client, ConnectOptions } from './world.ts'
import { calmNetwork, type NetworkTraits } from './network.ts'
import type { ScenarioProfile } from './profiles.ts'
import type { Random } from './random.ts'
import type { ScenarioFeatures } from './scenario-features.ts'
import type { World } from './world.ts'

export interface Actor {
  readonly client: Client
  /** The shared group of a worker. */
  readonly group: string | undefined
  act(): void
}

export const topics = ['t/a', 't/b', 't/a/b', 't//c'] as const
export const filters = ['t/a', 't/+', 't/#', 't/a/#', 't/+/b', '+/a'] as const
/** All clients publish to this topic if the scenario has the feature. */
export const commonTopic = 'state/all'
export const exclusiveFilters = ['$exclusive/t/a', '$exclusive/t/#'] as const
const groups = ['$share/one/work/#', '$share/two/work/+'] as const
const moreGroups = [...groups, '$share/three/work/#'] as const

interface Script {
  readonly profile: ScenarioProfile
  readonly features: ScenarioFeatures
}

export function castActor(world: World, from: Script & { readonly number: number }): Actor {
  const { random } = world.stage
  const version = random.pick([3, 4, 5, 5] as const)
  const isDurable = random.chance(0.65)
  const client = world.client(`client-${from.number}`, {
    ...connectOptions(random, { version, isDurable, features: from.features }),
    network: from.profile.roughNetwork ? roughNetwork(random) : calmNetwork,
  })
  const { generator, slowClients, mixedGroups, otherVersions, steadyMember } = from.features
  const { localClients, locals } = world.host
  if (locals.length > 0 && !isDurable && !otherVersions && !steadyMember)
    localClients.set(client.id, from.number % locals.length)
  const part = from.features.steadyMember ? partInGroup(from.number) : undefined
  if (part === 'steady') Object.assign(client.options, steadyOptions)
  if (part === 'brief')
    Object.assign(client.options, { ...briefOptions, sessionExpirySeconds: generator.pick([1, 5, 20]) })
  const isSlow = slowClients && generator.chance(0.5)
  if (isSlow) client.options.receiveMaximum = 1
  const maxThinkMs = random.pick([0, 0, 50, 400]) * (isSlow ? 10 : 1)
  client.thinkMs = () => (maxThinkMs === 0 ? 0 : random.between(0, maxThinkMs))
  const group = random.chance(0.3) ? pickGroup(random, mixedGroups ? generator : undefined) : undefined
  return new PlayedActor(world, client, { ...from, group: part === undefined ? group : groups[0], part })
}

const steadyOptions: ConnectOptions = { version: 5, cleanStart: false, sessionExpirySeconds: 0xffff_ffff }
const briefOptions: ConnectOptions = { version: 5, cleanStart: false }

/** In the group of the feature `steadyMember`; both members are disconnected most of the time. */
type Part = 'steady' | 'brief' | undefined

function partInGroup(number: number): Part {
  if (number === 1) return 'steady'
  return number <= 3 ? 'brief' : undefined
}

function pickGroup(random: Random, generator: Random | undefined): string {
  const group = random.pick(groups)
  return generator === undefined ? group : generator.pick(moreGroups)
}

function connectOptions(
  random: Random,
  { version, isDurable, features }: { version: ProtocolVersion; isDurable: boolean; features: ScenarioFeatures },
): ConnectOptions {
  const keepAliveSeconds = random.pick([0, 5, 10])
  const pings = true
  if (version < 5) return { version, cleanStart: !isDurable, keepAliveSeconds, pings }
  return {
    version,
    cleanStart: !isDurable || random.chance(0.1),
    keepAliveSeconds,
    pings,
    sessionExpirySeconds: isDurable
      ? random.pick(features.briefSessions ? [1, 5, 20, 3_600] : [20, 3_600, 3_600, 0xffff_ffff])
      : 0,
    receiveMaximum: random.pick([1, 2, 5, 100]),
    topicAliasMaximum: random.pick([0, 1, 10]),
    usesAliases: random.chance(0.5),
    ...(features.smallPackets && random.chance(0.5) ? { maximumPacketBytes: random.pick([100, 300]) } : {}),
  }
}

class PlayedActor implements Actor {
  readonly client: Client
  readonly group: string | undefined
  private readonly part: Part
  private readonly world: World
  private readonly random: Random
  private readonly script: Script
  private readonly filters: Set<string>
  private published: number
  private wills: number

  constructor(
    world: World,
    client: Client,
    from: Script & { readonly group: string | undefined; readonly part: Part },
  ) {
    this.world = world
    this.random = world.stage.random
    this.client = client
    this.group = from.group
    this.part = from.part
    this.script = from
    this.filters = new Set()
    this.published = 0
    this.wills = 0
  }

  /** The session and its subscriptions continue. */
  private get isSteady(): boolean {
    return this.part === 'steady'
  }

  act(): void {
    const { client, random } = this
    if (this.part !== undefined && this.staysAway()) return
    if (!client.hasOpenConnection) {
      if (random.chance(0.6)) this.connect()
      else if (random.chance(0.3)) this.publishSome()
      return
    }
    if (!client.isConnected) return
    const draw = random.fraction()
    if (draw < 0.5) this.publishSome()
    else if (draw < 0.75) this.subscribe()
    else if (draw < 0.8) this.unsubscribe()
    else if (draw < 0.85) this.leave()
    else if (this.script.profile.roughNetwork) this.suffer()
  }

  private staysAway(): boolean {
    const { client, script, filters } = this
    if (!client.hasOpenConnection) return script.features.generator.chance(0.8)
    if (!client.isConnected || filters.size === 0 || script.features.generator.chance(0.7)) return false
    this.leave()
    return true
  }

  /** The client sometimes has a will. Each will has a number, so that the monitor recognizes it. */
  private connect(): void {
    if (this.world.host.localClients.has(this.client.id)) return void this.client.connect({ will: undefined })
    const { client, random } = this
    // More messages may be in flight than the Receive Maximum allows.
    const mayChange =
      this.script.features.otherVersions && !this.isSteady && client.version > 3 && client.session?.outgoing.size === 0
    if (mayChange) client.options.version = random.pick([4, 5])
    if (random.chance(0.5)) {
      client.connect({ will: undefined })
      return
    }
    const willDelayIntervalSeconds = random.pick([0, 0, 1, 5, 30])
    client.connect({
      will: {
        topic: `wills/${client.id}`,
        payload: `will ${++this.wills} of ${client.id}`,
        qos: 1,
        properties: client.version < 5 ? undefined : { willDelayIntervalSeconds },
      },
    })
  }

  private publishSome(): void {
    const count = this.random.between(1, 4)
    for (let at = 0; at < count; at++) this.publishOne()
  }

  private publishOne(): void {
    const { client, random } = this
    const qos = random.pick([0, 1, 1, 2, 2] as const)
    const payload = `${client.id}:${++this.published}${random.chance(0.1) ? ' '.repeat(random.between(1, 600)) : ''}`
    const draw = random.fraction()
    if (draw < 0.15) {
      // An empty payload deletes the retained message.
      const properties = random.chance(0.2) ? this.expiry() : {}
      const { generator, commonState: isCommon } = this.script.features
      const topic = isCommon && generator.chance(0.5) ? commonTopic : `state/${client.id}`
      client.publish(topic, random.chance(0.2) ? '' : payload, { qos, retain: true, ...properties })
    } else if (draw < 0.4) client.publish(`work/${random.pick(['x', 'y'])}`, payload, { qos })
    else client.publish(random.pick(topics), payload, { qos, ...this.someProperties() })
  }

  private someProperties(): {
    properties?: { messageExpiryIntervalSeconds?: number; userProperties?: [string, string][] }
  } {
    if (this.client.version < 5 || this.random.chance(0.7)) return {}
    if (this.random.chance(0.5)) return this.expiry()
    return { properties: { userProperties: [['from', this.client.id]] } }
  }

  private expiry(): { properties?: { messageExpiryIntervalSeconds: number } } {
    if (this.client.version < 5) return {}
    return { properties: { messageExpiryIntervalSeconds: this.random.between(1, 20) } }
  }

  private subscribe(): void {
    const { client, random } = this
    if (this.group !== undefined) {
      if (this.filters.has(this.group) && random.chance(0.8)) return
      this.filters.add(this.group)
      const { generator, mixedGroups } = this.script.features
      client.subscribe(this.group, { qos: mixedGroups ? generator.pick([0, 1, 2]) : 2 })
      return
    }
    const filter = this.pickFilter()
    this.filters.add(filter)
    const qos: QoS = random.pick([0, 1, 2, 2])
    if (client.version < 5) {
      client.subscribe(filter, { qos })
      return
    }
    client.subscribe(filter, {
      qos,
      noLocal: random.chance(0.2),
      retainAsPublished: random.chance(0.3),
      retainHandling: random.pick([0, 0, 1, 2]),
      ...(random.chance(0.4) ? { identifier: random.between(1, 300) } : {}),
    })
  }

  private pickFilter(): string {
    const { random } = this
    if (random.chance(0.15)) return 'state/#'
    if (this.script.features.exclusive && this.client.version > 3 && random.chance(0.4))
      return random.pick(exclusiveFilters)
    return random.pick(filters)
  }

  private unsubscribe(): void {
    if (this.filters.size === 0 || this.isSteady) return
    const filter = this.random.pick([...this.filters])
    this.filters.delete(filter)
    this.client.unsubscribe(filter)
  }

  private leave(): void {
    const { client, random } = this
    const draw = random.fraction()
    const how = this.otherExpiry()
    if (draw < 0.6) client.disconnect(how)
    else if (draw < 0.7 && client.version === 5)
      client.disconnect({ reasonCode: reasonCodes.disconnectWithWill, ...how })
    else client.drop()
  }

  /** [MQTT5-3.14.2-2] Only a session that survives its connection may get another expiry. */
  private otherExpiry(): { properties?: { sessionExpiryIntervalSeconds: number } } {
    const { client, random } = this
    const isKept = client.version === 5 && (client.session?.expirySeconds ?? 0) > 0
    if (this.isSteady || !this.script.features.briefSessions || !isKept || random.chance(0.5)) return {}
    return { properties: { sessionExpiryIntervalSeconds: random.pick([0, 1, 3_600]) } }
  }

  private suffer(): void {
    const { client, random, world } = this
    const draw = random.fraction()
    if (draw < 0.4) client.drop(random.pick([0, 0, 500, 3_000]))
    else if (draw < 0.5) client.vanish()
    else if (draw < 0.7) this.connect()
    else {
      client.stopReading()
      world.stage.after(random.between(100, 4_000), () => client.resumeReading())
    }
  }
}

/** Bytes arrive in pieces, sometimes delayed; the network sometimes has little capacity. */
function roughNetwork(random: Random): NetworkTraits {
  return {
    minDelayMs: 0,
    maxDelayMs: random.pick([2, 20, 300]),
    splits: random.chance(0.7),
    capacityBytes: random.pick([64, 1_024, 16_384]),
  }
}
