// All events of a scenario as the clients stored them, with the queries of the oracles.

import type { Actor } from './scenario-clients.ts'
import type { ClientSession } from './client-session.ts'
import type { DamageKind, RecordDamage } from './record-damage.ts'
import type { ScenarioProfile } from './profiles.ts'
import type { ScenarioRules } from './scenario-rules.ts'
import type { Client, Publication, ReceivedMessage, World } from './world.ts'

/** Payloads are a number of their publisher and padding: returns the number. */
export const numbered = (one: { payload: string | Buffer }): string => one.payload.toString().trimEnd()

type Drop = ReturnType<typeof World.prototype.events<'message-dropped'>>[number]
type Decision = ReturnType<ScenarioRules['wasDenied']>

/** Size of a PUBLISH of these scenarios without topic and payload: properties, packet identifier, header. */
const maxOverheadBytes = 60

export interface HistorySource {
  readonly profile: ScenarioProfile
  readonly rules: ScenarioRules
  readonly byAdministrators?: readonly Publication[]
  readonly damage?: RecordDamage | undefined
}

export class History {
  readonly world: World
  readonly actors: readonly Actor[]
  readonly isCalm: boolean
  /** The broker crashed at least once. */
  readonly hasCrashed: boolean
  readonly publications: readonly Publication[]
  private readonly byPayload: ReadonlyMap<string, Publication>
  private readonly numbers: ReadonlyMap<Publication, number>
  private readonly dropped: ReadonlySet<string>
  /** Without drops that the shard had forgotten when it restarted. */
  private readonly droppedForGood: ReadonlySet<string>
  private readonly rules: ScenarioRules
  private readonly damage: RecordDamage | undefined
  private readonly kept: ReadonlySet<ReceivedMessage>

  constructor(world: World, actors: readonly Actor[], from: HistorySource) {
    this.world = world
    this.actors = actors
    this.isCalm = from.profile.name === 'calm'
    this.hasCrashed = from.profile.restarts
    this.rules = from.rules
    this.damage = from.damage
    this.publications = [...actors.flatMap(({ client }) => client.publications), ...(from.byAdministrators ?? [])]
    this.byPayload = new Map(this.publications.map((publication) => [publication.payload.toString(), publication]))
    this.numbers = new Map(this.publications.map((publication, number) => [publication, number]))
    const drops = world.events('message-dropped')
    this.dropped = new Set(drops.map(nameOfDrop))
    // If a shard sends a message again to a shard that failed, the dropped message may be the second of two.
    const isLast = (drop: Drop): boolean => !drop.message.isRepeat && !world.host.undoneDrops.has(drop)
    this.droppedForGood = new Set(drops.filter(isLast).map(nameOfDrop))
    this.kept = new Set(actors.flatMap(({ client }) => keptMessages(client)))
  }

  fail(sentence: string): never {
    return this.world.stage.fail(sentence)
  }

  messagesOf(client: Client, session: ClientSession): ReceivedMessage[] {
    return client.messages.filter((message) => message.session === session.number)
  }

  publicationOf(message: ReceivedMessage): Publication | undefined {
    return message.payload === '' ? undefined : this.byPayload.get(message.payload)
  }

  /** Greater for messages that the publisher sent later. */
  numberOf(publication: Publication): number {
    return this.numbers.get(publication) ?? -1
  }

  /** The session that received the message survives its connection. */
  isKept(message: ReceivedMessage): boolean {
    return this.kept.has(message)
  }

  /**
   * If the message was sent again it is a new one, and messages that its publisher had sent after it may arrive before it. This is so for
   * all messages that are sent again at QoS 1 [MQTT-4.3.2-2]: it may be the first one for a later subscription. At QoS 2 it is so if
   * the broker had refused it (the response was lost, and the next message was not refused), or if it went to a session
   * that did not know it.
   */
  mayComeLate(publication: Publication): boolean {
    const { qos, timesSent } = publication
    if (timesSent < 2) return false
    return qos === 1 || this.timesAnew(publication) > 0
  }

  /**
   * How often a QoS 2 message was sent again as a new one: to another session, or after a refusal [MQTT5-4.3.3-9] that the publisher
   * did not receive (one shard may refuse a message that others have accepted).
   */
  timesAnew({ topic, payload, timesSent, timesBegunAnew }: Publication): number {
    const wasRefused = this.world.host.watch.refused.has(`${topic} ${payload.toString('latin1')}`)
    return wasRefused ? timesSent - 1 : timesBegunAnew
  }

  /**
   * The message may be missing: it has expired, or the broker reported that a named limit was reached. For a persistent session that is
   * the limit on disk; for others it is the limit of the queue in memory.
   */
  isExcused(client: Client, publication: Publication): boolean {
    if (this.hasExpired(publication)) return true
    if (this.isTooLarge(client, publication)) return true
    const limit = client.session?.isStored === true ? 'storage-full' : 'queue-full'
    return this.dropped.has(`${limit} ${client.id} ${publication.payload.toString()}`)
  }

  /** Damage of the stored message of this client, which may therefore be missing. */
  damageOf(client: Client, { payload }: Publication): DamageKind | undefined {
    return this.damage?.kindOf(client.id, payload.toString())
  }

  /**
   * The client was too slow. If a shard fails before its commit, the sender of the message sends it again, and the session may then have
   * space in its queue.
   */
  wasDropped(client: Client, { payload }: Publication): boolean {
    return ['storage-full', 'queue-full'].some((limit) =>
      this.droppedForGood.has(`${limit} ${client.id} ${payload.toString()}`),
    )
  }

  hasExpired(publication: Publication): boolean {
    return this.hadExpired(publication, this.world.nowMs)
  }

  /**
   * The message was skipped as expired at that time. A broker that crashes before the commit, with a clock that is behind after the
   * restart, may send it later, after messages that were published later.
   */
  hadExpired({ properties, firstSentAtMs }: Publication, atMs: number): boolean {
    const expiry = properties?.messageExpiryIntervalSeconds
    return expiry !== undefined && firstSentAtMs + expiry * 1_000 <= atMs
  }

  /** The permission of the client for the message did not change after its publication. */
  hasFixedRights(client: Client, publication: Publication): boolean {
    return this.wasDenied(client, publication) !== 'perhaps'
  }

  /** Whether the publisher was denied the message, from its first transmission to its acknowledgement. */
  wasForbidden(publication: Publication, untilStep = publication.acknowledgedStep): Decision {
    const { publisher: clientId, topic: what, firstSentStep: fromStep, isByAdministrator } = publication
    if (isByAdministrator) return 'never'
    return this.rules.wasDenied({ action: 'publish', clientId, what, fromStep, untilStep })
  }

  /** Whether the client was denied the message, from its first transmission on. */
  wasDenied(client: Client, publication: Publication, untilStep = Infinity): Decision {
    const { topic: what, firstSentStep: fromStep } = publication
    return this.rules.wasDenied({ action: 'receive', clientId: client.id, what, fromStep, untilStep })
  }

  /** The publisher may no longer have a retained message on this topic. */
  mayNotRetain(clientId: string, topic: string): boolean {
    return this.rules.isDenied('publish', clientId, topic)
  }

  /** Publisher and client certainly had permission all the time. */
  wasAllowed(client: Client, publication: Publication): boolean {
    return this.wasAccepted(publication) && this.wasDenied(client, publication) === 'never'
  }

  /** The publisher was disconnected for another packet, and the packets after that were not handled. */
  wasCutOff({ publisher, connection }: Publication): boolean {
    return this.rules.ended.has(`${publisher} ${connection}`)
  }

  /**
   * MQTT 4.3.1: a QoS 0 message may be lost in the network. If the connection broke before the broker had handled it (reading was
   * paused), it need not arrive. A connection that its client ended with DISCONNECT loses nothing: the broker reads everything.
   */
  wasLostOnTheWay({ publisher, connection, payload }: Publication): boolean {
    if (this.world.host.watch.handled.has(payload.toString('latin1'))) return false
    return this.actors.some(({ client }) => client.id === publisher && client.cutShort.has(connection))
  }

  /** MQTT 3 has no reason code for a denied PUBLISH: it is acknowledged and reaches no subscriber. */
  wasAccepted(publication: Publication): boolean {
    return this.wasForbidden(publication) === 'never'
  }

  private isTooLarge(client: Client, { payload, topic }: Publication): boolean {
    const maximum = client.options.maximumPacketBytes ?? Infinity
    return payload.length + topic.length + maxOverheadBytes > maximum
  }
}

function nameOfDrop({ reason, clientId, message }: Drop): string {
  return `${reason} ${clientId} ${message.readPayload().toString()}`
}

function keptMessages(client: Client): ReceivedMessage[] {
  return client.messages.filter((message) => (client.sessions[message.session - 1]?.expirySeconds ?? 0) > 0)
}
