// Checks at the end of a scenario which messages the clients received. Each oracle reports a violation in one sentence, and does not
// know how the broker works.
//
// A subscription applies *certainly* to a publication if SUBACK arrived before its first transmission and nothing ended it,
// and *possibly* if SUBSCRIBE was sent before the delivery and it had not certainly ended before the publication.
// Certain subscriptions determine which messages must arrive, possible ones which messages may arrive.

import { isInternalName } from '../../src/core/index.ts'
import { matchesFilter, reasonCodes, splitSharedFilter, type QoS, type TopicFilter } from '../../src/protocol/index.ts'
import { abandonedSequence, type StoredRecord } from '../../src/records/index.ts'
import type { Actor } from './scenario-clients.ts'
import type { ClientSession, HeldSubscription } from './client-session.ts'
import { History, numbered, type HistorySource } from './history.ts'
import { checkExclusive } from './probes.ts'
import { checkCommonState, checkRetained } from './retained-oracles.ts'
import type { Client, Publication, ReceivedMessage, World } from './world.ts'

/** The reasons for which a broker may disconnect a client that follows the protocol. */
const innocentReasons: number[] = [
  reasonCodes.serverShuttingDown,
  reasonCodes.sessionTakenOver,
  reasonCodes.notAuthorized,
]

/** A correct client lost its connection while the broker ran: the broker must not have disconnected it for an error. */
export function checkDisconnect(world: World, client: Client): void {
  const reason = client.disconnected?.reasonCode
  if (client.connack?.reasonCode !== 0) return
  if (reason === undefined)
    world.stage.fail(`the broker closed the connection of ${client.id}, which follows the protocol, without DISCONNECT`)
  if (innocentReasons.includes(reason)) return
  world.stage.fail(
    `the broker disconnected ${client.id} with 0x${reason.toString(16)}, although it follows the protocol`,
  )
}

export function checkHistory(world: World, actors: readonly Actor[], from: HistorySource): void {
  const history = new History(world, actors, from)
  checkDeliveries(history)
  checkGroups(history)
  checkRetained(history)
  checkCommonState(history)
  checkExclusive(world, actors)
}

/** Checks delivered and missing messages, except those of shared groups and retained messages. */
export function checkDeliveries(history: History): void {
  checkSkipped(history)
  for (const { client, group } of history.actors) {
    for (const session of client.sessions) {
      checkReceived(history, client, session)
      checkOnce(history, client, session)
      if (group === undefined) checkOrder(history, client, session)
    }
    if (group === undefined) checkMissing(history, client)
  }
  checkReasonCodes(history)
  checkDropped(history)
}

/** Each received message was published and subscribed to, and has the properties that the subscriptions require. */
function checkReceived(history: History, client: Client, session: ClientSession): void {
  for (const message of history.messagesOf(client, session)) {
    const publication = history.publicationOf(message)
    if (publication === undefined) {
      // Messages of incorrect clients are ignored; an empty payload deletes a retained message.
      if (message.payload !== '' && /^(t|work|state)\//.test(message.topic))
        history.fail(`${client.id} received "${numbered(message)}" on ${message.topic}, which no client published`)
      continue
    }
    const tag = `"${numbered(message)}" on ${message.topic} at ${client.id}`
    if (message.topic !== publication.topic) history.fail(`${tag} was published to ${publication.topic}`)
    if (!message.bytes.equals(publication.payload)) history.fail(`${tag} is not what was published`)
    if (message.retain && !publication.retain) history.fail(`${tag} has RETAIN and is not retained`)
    if (history.wasForbidden(publication, message.step) === 'always')
      history.fail(`${tag} was published by ${publication.publisher}, which had no permission`)
    if (history.wasDenied(client, publication, message.step) === 'always')
      history.fail(`${tag} arrived at a client that may not receive it`)
    const possible = possibleFor(session, publication, message)
    if (possible.length === 0) history.fail(`${tag} arrived without a subscription`)
    // A client receives its own retained message when it subscribes: No Local applies to live messages.
    const isReplayed = message.retain && publication.retain
    if (!isReplayed && publication.publisher === client.id && possible.every((held) => held.request.noLocal)) {
      history.fail(`${tag} returned to its publisher, which had set No Local [MQTT5-3.8.3-3]`)
    }
    if (!publication.retain)
      checkHow(history, {
        message,
        publication,
        possible,
        certain: certainFor(client, session, publication, message),
        tag,
      })
  }
}

/** The core reads a part again if the read skipped records, so no message is missing, but the readers must not skip records. */
function checkSkipped(history: History): void {
  const [skipped] = history.world.events('queue-records-skipped')
  if (skipped !== undefined)
    history.fail(`a read of the queue of ${skipped.clientId} skipped existing records from ${skipped.fromSequence} on`)
}

interface Came {
  readonly message: ReceivedMessage
  readonly publication: Publication
  readonly possible: HeldSubscription[]
  readonly certain: HeldSubscription[]
  readonly tag: string
}

function checkHow(history: History, { message, publication, possible, certain, tag }: Came): void {
  const highest = (held: readonly HeldSubscription[]): number =>
    Math.max(...held.map((one) => Math.min(publication.qos, one.request.qos)))
  if (message.qos > highest(possible)) history.fail(`${tag} came at QoS ${message.qos}, more than was requested`)
  if (certain.length > 0 && message.qos < highest(certain)) {
    history.fail(`${tag} came at QoS ${message.qos}, less than was granted [MQTT-3.3.5-1]`)
  }
  const came = message.properties?.subscriptionIdentifiers ?? []
  for (const { identifier } of certain) {
    if (identifier !== undefined && message.isModern && !came.includes(identifier))
      history.fail(`${tag} lacks subscription identifier ${identifier} [MQTT5-3.3.4-3]`)
  }
  for (const identifier of came) {
    if (!possible.some((held) => held.identifier === identifier))
      history.fail(`${tag} has subscription identifier ${identifier}, which belongs to no matching subscription`)
  }
  const expiry = publication.properties?.messageExpiryIntervalSeconds
  // A clock that is behind after a restart gives stored messages more time.
  const behindSeconds = Math.ceil(-history.world.host.traits.clockOffsetMs / 1_000)
  const cameExpiry = message.properties?.messageExpiryIntervalSeconds
  if (message.isModern && cameExpiry !== undefined && cameExpiry > (expiry ?? -1) + behindSeconds) {
    history.fail(`${tag} came with ${cameExpiry} seconds until its expiry, more than it was published with`)
  }
  const properties = publication.properties?.userProperties
  const hasProperties = message.isModern && !publication.lostProperties
  if (hasProperties && JSON.stringify(message.properties?.userProperties) !== JSON.stringify(properties)) {
    history.fail(`${tag} lost its user properties [MQTT5-3.3.2-17]`)
  }
}

/** No subscriber receives a duplicate: redeliveries have DUP, and the application receives a QoS 2 message once. */
function checkOnce(history: History, client: Client, session: ClientSession): void {
  const received = new Map<Publication, { fresh: number; exact: number }>()
  for (const message of history.messagesOf(client, session)) {
    const publication = history.publicationOf(message)
    if (publication === undefined || message.isRepeat) continue
    const count = received.get(publication) ?? { fresh: 0, exact: 0 }
    if (!message.dup) count.fresh++
    if (message.qos === 2) count.exact++
    received.set(publication, count)
  }
  for (const [publication, { fresh, exact }] of received) {
    // A retained message is sent again for each SUBSCRIBE.
    const again = publication.retain
      ? session.subscriptions.filter((held) => matchesFilter(held.request.filter, publication.topic)).length
      : 0
    const tag = `"${numbered(publication)}" of ${publication.publisher} on ${publication.topic}`
    // At QoS 2 a publication counts once, however often it is sent. A QoS 1 message whose batch was lost in a crash may arrive
    // again.
    const { timesSent } = publication
    const timesAnew = history.timesAnew(publication)
    const sent = publication.qos === 1 || history.hasCrashed ? timesSent : 1 + timesAnew
    // A message that moved from a member of a shared group to another may return to the first as a new message.
    const isShared = publication.topic.startsWith('work/')
    if (fresh > sent + again && !isShared)
      history.fail(
        `${client.id} received ${tag} ${fresh} times without DUP, of which ${again} as retained; it was sent ${timesSent} times at QoS ${publication.qos}`,
      )
    if (exact > 1 + again + timesAnew && publication.qos === 2)
      history.fail(`${client.id} received ${tag} ${exact} times at QoS 2 [MQTT-4.3.3-1]`)
  }
}

/**
 * [MQTT-4.6.0-6] Messages of one publisher to one topic at one QoS arrive first in their order. So do QoS 1 and 2 together, which the
 * standard does not require. QoS 0 messages pass those that wait for acknowledgements of the client.
 */
function checkOrder(history: History, client: Client, session: ClientSession): void {
  const last = new Map<string, number>()
  const seen = new Set<Publication>()
  for (const message of history.messagesOf(client, session)) {
    const publication = history.publicationOf(message)
    if (publication === undefined || publication.retain || seen.has(publication)) continue
    seen.add(publication)
    const lanes = message.qos === 0 ? `${publication.qos} 0` : 'acknowledged'
    const who = `${publication.publisher}${publication.isByAdministrator ? ' by administrators' : ''}`
    const lane = `${who} ${publication.topic} ${lanes}`
    const number = history.numberOf(publication)
    const before = last.get(lane) ?? -1
    if (number <= before && !history.mayComeLate(publication) && !history.hadExpired(publication, message.atMs)) {
      history.fail(
        `${client.id} received "${numbered(message)}" on ${message.topic} after a later one of the same publisher [MQTT-4.6.0-6]`,
      )
    }
    last.set(lane, Math.max(number, before))
  }
}

/** An acknowledged message reaches every client that was subscribed and still is. */
function checkMissing(history: History, client: Client): void {
  for (const publication of missingMessages(history, client)) {
    if (history.damageOf(client, publication) !== undefined) continue
    history.fail(
      `${client.id} never received "${numbered(publication)}" on ${publication.topic} (QoS ${publication.qos}), although the broker had acknowledged it`,
    )
  }
}

/** Returns the messages that had to reach the client and did not, including those whose records are damaged. */
export function missingMessages(history: History, client: Client): Publication[] {
  const { session } = client
  if (session === undefined || session.mayBeGone) return []
  const received = new Set(history.messagesOf(client, session).map((message) => history.publicationOf(message)))
  return history.publications.filter(
    (publication) =>
      !received.has(publication) &&
      publication.payload.length > 0 &&
      mustReceive(history, client, session, publication),
  )
}

function mustReceive(history: History, client: Client, session: ClientSession, publication: Publication): boolean {
  const certain = certainFor(client, session, publication)
  const granted = certain.reduce<QoS>((highest, held) => (held.grantedQoS > highest ? held.grantedQoS : highest), 0)
  if (certain.length === 0 || history.isExcused(client, publication)) return false
  if (!history.wasAllowed(client, publication) || session.hadExpired(publication)) return false
  return publication.qos > 0 && granted > 0
    ? publication.isAcknowledged
    : history.isCalm &&
        publication.firstSentStep > client.connectedStep &&
        publication.timesSent > 0 &&
        !history.wasCutOff(publication) &&
        !history.wasLostOnTheWay(publication)
}

/** A message that the broker reports as dropped for a slow client does not arrive. */
function checkDropped(history: History): void {
  for (const { client, group } of history.actors) {
    if (group !== undefined) continue
    for (const message of client.messages) {
      const publication = history.publicationOf(message)
      if (publication === undefined || publication.retain || publication.timesSent > 1) continue
      if (history.wasDropped(client, publication))
        history.fail(`${client.id} received "${numbered(message)}", which the broker counts as dropped for it`)
    }
  }
}

/** The reason code "no matching subscribers" is used only if there are none. */
function checkReasonCodes(history: History): void {
  for (const publication of history.publications) {
    if (publication.reasonCode !== reasonCodes.noMatchingSubscribers) continue
    for (const { client } of history.actors) {
      const { session } = client
      if (session === undefined || session.mayBeGone || certainFor(client, session, publication).length === 0) continue
      if (!history.wasAllowed(client, publication) || session.hadExpired(publication)) continue
      history.fail(
        `the broker reported to ${publication.publisher} that no client subscribes to ${publication.topic}, and ${client.id} did`,
      )
    }
  }
}

/** A shared group receives each message once, and at least once if one of its members stays. */
function checkGroups(history: History): void {
  const groups = new Set(history.actors.map((actor) => actor.group).filter((group) => group !== undefined))
  for (const group of groups) {
    const members = history.actors.filter((actor) => actor.group === group).map((actor) => actor.client)
    for (const publication of history.publications) {
      if (!publication.topic.startsWith('work/')) continue
      const received = members.flatMap((member) =>
        member.messages.filter((message) => !message.isRepeat && history.publicationOf(message) === publication),
      )
      // Clean sessions may end with their messages; then another member receives them.
      const exact = received.filter((message) => message.qos === 2 && history.isKept(message)).length
      if (publication.qos === 2 && exact > 1 + history.timesAnew(publication))
        history.fail(`group ${group} received "${numbered(publication)}" ${exact} times at QoS 2`)
      if (received.length > 0 || publication.qos === 0 || !publication.isAcknowledged) continue
      if (mustReachGroup(history, members, publication)) {
        history.fail(
          `group ${group} never received "${numbered(publication)}" on ${publication.topic}, although the broker had acknowledged it`,
        )
      }
    }
  }
}

/**
 * A member that was subscribed before the publication and stayed could receive the message. QoS 1 messages of members that left, or whose
 * session ended, go to that member if they were stored. A QoS 2 message that was sent to another member goes to no other
 * [MQTT5-4.8.2-5].
 */
function mustReachGroup(history: History, members: readonly Client[], publication: Publication): boolean {
  const stayed = members.filter(neverLeft)
  const mightHave = stayed.some(
    (member) =>
      member.session !== undefined &&
      certainFor(member, member.session, publication).length > 0 &&
      history.wasAllowed(member, publication),
  )
  if (!mightHave || members.some((member) => history.isExcused(member, publication))) return false
  const others = members.filter((member) => !stayed.includes(member))
  if (publication.qos === 2 && others.length > 0) return false
  if (publication.qos === 2 && !members.every((member) => history.hasFixedRights(member, publication))) return false
  return (
    stayed.every(({ session }) => session !== undefined && acknowledgesAll(session)) &&
    others.every(
      (member) =>
        !history.wasDropped(member, publication) &&
        member.sessions.every((session) => acknowledgesAll(session) && session.expirySeconds > 0),
    )
  )
}

/** All messages of this session are acknowledged, so a sent message can move. */
function acknowledgesAll({ subscriptions }: ClientSession): boolean {
  return subscriptions.every(({ grantedQoS }) => grantedQoS > 0)
}

function neverLeft(member: Client): boolean {
  const { session } = member
  return (
    member.sessions.length === 1 &&
    session !== undefined &&
    session.expirySeconds > 0 &&
    !session.mayBeGone &&
    session.subscriptions.every((held) => held.grantedStep !== Infinity || held.endSentStep === Infinity) &&
    session.subscriptions.every((held) => held.endSentStep === Infinity)
  )
}

/** No records of delivered messages remain, also not on disk. */
export function checkRemains(world: World, actors: readonly Actor[], records: readonly StoredRecord[]): void {
  const known = new Set(actors.map((actor) => actor.client.id))
  const payloadReferences = new Map<number, number>()
  for (const record of records) if (record.kind === 'payload') payloadReferences.set(record.id, 0)
  for (const record of records) {
    if ('clientId' in record && record.clientId !== undefined && isInternalName(record.clientId))
      world.stage.fail(`the disk still has a ${record.kind} record of an internal session, and nothing is in flight`)
    if (record.kind === 'queued' || record.kind === 'outgoing' || record.kind === 'incoming') {
      if (known.has(record.clientId) && !isGivenUp(world, record))
        world.stage.fail(
          `the disk still has a ${record.kind} record of ${record.clientId}, which has nothing in flight`,
        )
      if (record.kind === 'queued' && typeof record.message === 'number')
        payloadReferences.set(record.message, (payloadReferences.get(record.message) ?? 0) + 1)
    }
    if (record.kind === 'session' && record.expirySeconds === 0)
      world.stage.fail(`the disk keeps a session of ${record.clientId} that ends with its connection`)
  }
  for (const [id, references] of payloadReferences) {
    if (references === 0) world.stage.fail(`the disk still has payload ${id}, which no queue refers to`)
  }
  for (const { client } of actors) {
    const isKept = records.some((record) => record.kind === 'session' && record.clientId === client.id)
    const { session } = client
    if (session !== undefined && isKept !== session.expirySeconds > 0) {
      world.stage.fail(
        `the disk ${isKept ? 'has' : 'lacks'} a session of ${client.id}, whose expiry is ${session.expirySeconds} s`,
      )
    }
  }
}

/**
 * [MQTT-4.3.3-2] [MQTT5-4.3.3-10] The packet identifier of a QoS 2 message that was sent once, and that its client may not receive or
 * cannot accept any more, stays in use until the client acknowledges it: the client would take another message for the same.
 */
function isGivenUp(world: World, record: StoredRecord): boolean {
  if (record.kind !== 'outgoing' || record.sequence !== abandonedSequence) return false
  const { clientId, packetId } = record
  const mountpoint = world.host.traits.listener?.mountpoint ?? ''
  return world
    .events('message-dropped')
    .filter((event) => event.clientId === clientId && (event.reason === 'not-allowed' || event.reason === 'too-large'))
    .some(({ message }) => {
      const what = `${message.topic.name.slice(mountpoint.length)} ${message.readPayload().toString('latin1')}`
      return world.host.watch.isUnacknowledged(clientId, packetId, what)
    })
}

const matches = (held: HeldSubscription, topic: string): boolean => {
  const { filter } = held.request
  if (filter.startsWith('$exclusive/')) return matchesFilter(filter.slice('$exclusive/'.length), topic)
  const shared = splitSharedFilter(filter)
  return matchesFilter(shared === undefined ? filter : (shared.filter satisfies TopicFilter), topic)
}

function possibleFor(session: ClientSession, publication: Publication, message: ReceivedMessage): HeldSubscription[] {
  return session.subscriptions.filter(
    (held) =>
      !held.isRefused &&
      matches(held, publication.topic) &&
      held.sentStep <= message.step &&
      held.endedStep >= publication.firstSentStep,
  )
}

/** Without a message: subscriptions that apply until the end of the scenario. */
function certainFor(
  client: Client,
  session: ClientSession,
  publication: Publication,
  message?: ReceivedMessage,
): HeldSubscription[] {
  const until = message?.step ?? Infinity
  return session.subscriptions.filter(
    (held) =>
      !held.isRefused &&
      held.grantedStep < publication.firstSentStep &&
      (held.endSentStep >= until || held.endSentStep === Infinity) &&
      matches(held, publication.topic) &&
      !(held.request.noLocal && publication.publisher === client.id),
  )
}
