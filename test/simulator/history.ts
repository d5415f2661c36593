// All that happened in a scenario, as the clients remember it, found by what the oracles ask for.

import type { Actor } from './scenario-clients.ts'
import type { ClientSession } from './client-session.ts'
import type { DamageKind, RecordDamage } from './record-damage.ts'
import type { ScenarioProfile } from './profiles.ts'
import type { ScenarioRules } from './scenario-rules.ts'
import type { Client, Publication, ReceivedMessage, World } from './world.ts'

/** Payloads are numbers of their publisher and padding: this is the number. */
export const numbered = (one: { payload: string | Buffer }): string => one.payload.toString().trimEnd()

type Drop = ReturnType<typeof World.prototype.events<'message-dropped'>>[number]
type Decision = ReturnType<ScenarioRules['wasDenied']>

/** What a PUBLISH of these scenarios has beside its topic and payload: properties, packet id, header. */
const maxOverheadBytes = 60

export interface Told {
  readonly profile: ScenarioProfile
  readonly rules: ScenarioRules
  readonly byAdministrators?: readonly Publication[]
  readonly damage?: RecordDamage | undefined
}

export class History {
  readonly world: World
  readonly actors: readonly Actor[]
  readonly isCalm: boolean
  /** The broker died at least once. */
  readonly hasCrashed: boolean
  readonly publications: readonly Publication[]
  private readonly byPayload: ReadonlyMap<string, Publication>
  private readonly numbers: ReadonlyMap<Publication, number>
  private readonly dropped: ReadonlySet<string>
  /** Without what its shard knew no more of when it was back. */
  private readonly droppedForGood: ReadonlySet<string>
  private readonly rules: ScenarioRules
  private readonly damage: RecordDamage | undefined
  private readonly kept: ReadonlySet<ReceivedMessage>

  constructor(world: World, actors: readonly Actor[], from: Told) {
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
    // Where a shard has sent it again to one that had died, what was dropped may be the second of two.
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

  /** Greater for what its publisher sent later. */
  numberOf(publication: Publication): number {
    return this.numbers.get(publication) ?? -1
  }

  /** The message came to a session that outlives its connection. */
  isKept(message: ReceivedMessage): boolean {
    return this.kept.has(message)
  }

  /**
   * Sent again it was a new message, and what its publisher had sent behind it may have passed it. So is all that is sent
   * again at QoS 1 [MQTT-4.3.2-2]: it may be the first that a younger subscription gets. At QoS 2 it is where the broker
   * had not taken it: refused it (with an answer that was lost; the next one behind it was not refused any more), or where
   * it went to a session that knew nothing of it.
   */
  mayComeLate(publication: Publication): boolean {
    const { qos, timesSent } = publication
    if (timesSent < 2) return false
    return qos === 1 || this.timesAnew(publication) > 0
  }

  /**
   * How often it was sent again and was a new message then, at QoS 2: to another session, or after a refusal [MQTT5-4.3.3-9] that
   * its publisher did not hear (one shard may refuse what others have taken).
   */
  timesAnew({ topic, payload, timesSent, timesBegunAnew }: Publication): number {
    const wasRefused = this.world.host.watch.refused.has(`${topic} ${payload.toString('latin1')}`)
    return wasRefused ? timesSent - 1 : timesBegunAnew
  }

  /**
   * It may be missing: it has expired meanwhile, or one of the limits with a name was reached and the broker said so.
   * A session that is stored has one such limit, on disk; the queue in memory is the limit of the others.
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
   * Because the client did not keep up. If a shard fails before its commit, the sender of the message sends it again, and it finds the
   * session as it was before, perhaps with space in its queue.
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
   * It was passed over then, as expired: a broker that dies before its disk knows, and whose clock is behind when it is back, may
   * have it for a moment longer, behind what was sent later.
   */
  hadExpired({ properties, firstSentAtMs }: Publication, atMs: number): boolean {
    const expiry = properties?.messageExpiryIntervalSeconds
    return expiry !== undefined && firstSentAtMs + expiry * 1_000 <= atMs
  }

  /** What it may have of such messages did not change while it was under way. */
  hasFixedRights(client: Client, publication: Publication): boolean {
    return this.wasWithheld(client, publication) !== 'perhaps'
  }

  /** Whether its publisher might publish it, from when it was first sent until it was answered. */
  wasForbidden(publication: Publication, untilStep = publication.acknowledgedStep): Decision {
    const { publisher: clientId, topic: what, firstSentStep: fromStep, isByAdministrator } = publication
    if (isByAdministrator) return 'never'
    return this.rules.wasDenied({ action: 'publish', clientId, what, fromStep, untilStep })
  }

  /** Whether the client might not have it, from when it was first sent on. */
  wasWithheld(client: Client, publication: Publication, untilStep = Infinity): Decision {
    const { topic: what, firstSentStep: fromStep } = publication
    return this.rules.wasDenied({ action: 'receive', clientId: client.id, what, fromStep, untilStep })
  }

  /** Its publisher may not have it remembered any more. */
  isTakenBack(clientId: string, topic: string): boolean {
    return this.rules.isDenied('publish', clientId, topic)
  }

  /** Certainly allowed to its publisher and to this client, as long as it was under way. */
  wasAllowed(client: Client, publication: Publication): boolean {
    return this.wasTaken(publication) && this.wasWithheld(client, publication) === 'never'
  }

  /** Its publisher was disconnected for another packet, and the packets behind that were not handled. */
  wasCutOff({ publisher, connection }: Publication): boolean {
    return this.rules.ended.has(`${publisher} ${connection}`)
  }

  /**
   * MQTT 4.3.1: QoS 0 comes as far as the network brings it. If the connection broke before the broker had handled it (reading was
   * paused), it is not owed. A connection that its client ended with DISCONNECT lost nothing: all of that is to be read.
   */
  wasLostOnTheWay({ publisher, connection, payload }: Publication): boolean {
    if (this.world.host.watch.heard.has(payload.toString('latin1'))) return false
    return this.actors.some(({ client }) => client.id === publisher && client.cutShort.has(connection))
  }

  /** MQTT 3 has no reason code for a denied PUBLISH: it is acknowledged, and reaches no subscriber. */
  wasTaken(publication: Publication): boolean {
    return this.wasForbidden(publication) === 'never'
  }

  private isTooLarge(client: Client, { payload, topic }: Publication): boolean {
    const maximum = client.options.maximumPacketBytes ?? Infinity
    return payload.length + topic.length + maxOverheadBytes > maximum
  }
}

function nameOfDrop({ reason, clientId, message }: Drop): string {
  return `${reason} ${clientId} ${message.payload().toString()}`
}

function keptMessages(client: Client): ReceivedMessage[] {
  return client.messages.filter((message) => (client.sessions[message.session - 1]?.expirySeconds ?? 0) > 0)
}
