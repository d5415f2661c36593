// Checks each packet that the broker reads and writes against the protocol: which packet may be first, which acknowledgements are due
// and in which order, which packet identifiers are in use, how many messages may be in flight, when a PUBLISH has DUP. The monitor
// knows only whether a packet is legal, not the reasons of the broker.

import { remoteSessionLostProperty, type Batch } from '../../src/core/index.ts'
import {
  type ConnackPacket,
  type ConnectPacket,
  type Packet,
  type PacketId,
  type QoS,
} from '../../src/protocol/index.ts'
import type { StoredMessage } from '../../src/records/index.ts'
import type { Stage } from './stage.ts'
import { WillMonitor } from './will-monitor.ts'

/** One PUBLISH that the broker sends. */
export interface PublishSeen {
  readonly topic: string
  readonly payload: string
  readonly qos: QoS
  readonly dup: boolean
  readonly packetId: PacketId
  /** The message was published with RETAIN: it may be sent again to a new subscription, without DUP. */
  readonly isOfRetained: boolean
  readonly expiresAtMs: number
  /** The packet waited for the disk. */
  readonly wasDecidedBefore: boolean
}

/** The packets were decided in the turn that ends now. */
const turnMs = 10

/** Settings and state of the broker that the checks need. */
interface Limits {
  readonly maxInflightMessages: number
  readonly retryIntervalMs: number
  readonly nowMs: number
  /** The broker knows that its disk fails. */
  readonly isFailing: boolean
}

type ResponseType = 'puback' | 'pubrec' | 'pubcomp' | 'suback' | 'unsuback'

interface InWindow {
  readonly what: string
  readonly qos: QoS
  readonly isOfRetained: boolean
  /** published --PUBREC received--> received --PUBREL sent--> released; `unsure` since a crash: published or received. */
  stage: 'published' | 'received' | 'released' | 'unsure'
  /** Belongs to a session that this one has perhaps replaced. */
  isDoubtful: boolean
}

/** The in-flight state of one session, over all its connections. */
class SessionWatch {
  /** The options of the client's last CONNECT. */
  expiryMs: number
  readonly window = new Map<PacketId, InWindow>()
  hasRestarted = false
  /** QoS 2 messages that were sent. */
  readonly leftExactlyOnce = new Set<string>()
  /** Packet identifiers of packets that were sent since the last restart of the broker. */
  readonly idsInThisLife = new Set<PacketId>()
  /** QoS 1 messages in flight when the broker ended: it forgets their packet identifiers, but not that they may have been sent. */
  readonly sentBeforeRestart = new Set<string>()
  /** Sequence numbers of messages of shared subscriptions. */
  private readonly given = new Map<string, number>()
  /** Shared messages that returned to this member by way of another one and were not sent since: these are new messages. */
  readonly givenAgain = new Set<string>()
  /** The session may have expired from this time of the world on; Infinity while its client is connected. */
  overAtMs = Infinity
  /** A CONNECT without a response arrived when the session had perhaps expired: then it created another session. */
  mayBeAnother = false

  constructor(expiryMs: number) {
    this.expiryMs = expiryMs
  }

  left(nowMs: number): void {
    if (this.overAtMs === Infinity) this.overAtMs = nowMs + this.expiryMs
  }

  /** In-flight state does not continue in another session. */
  isFoundAgain(): void {
    this.overAtMs = Infinity
    if (!this.mayBeAnother) return
    this.mayBeAnother = false
    this.sentBeforeRestart.clear()
    for (const entry of this.window.values()) entry.isDoubtful = true
  }

  restart(promised: ReadonlySet<string>, nowMs: number): void {
    this.hasRestarted = true
    this.idsInThisLife.clear()
    this.left(nowMs)
    for (const [packetId, entry] of this.window) {
      if (entry.qos === 1) {
        this.window.delete(packetId)
        if (!entry.isOfRetained && promised.has(entry.what) && !this.givenAgain.has(entry.what))
          this.sentBeforeRestart.add(entry.what)
      } else if (entry.stage === 'received') entry.stage = 'unsure'
    }
  }

  isGiven(
    what: string,
    { sharedFilter, sequence }: { readonly sharedFilter: string; readonly sequence: number },
  ): void {
    const name = `${sharedFilter} ${what}`
    const before = this.given.get(name)
    this.given.set(name, sequence)
    if (before === undefined || before === sequence) return
    this.givenAgain.add(what)
    this.sentBeforeRestart.delete(what)
  }

  wasSent(what: string): boolean {
    return [...this.window.values()].some((entry) => entry.what === what && entry.qos === 1)
  }

  takeBack(): void {
    for (const entry of this.window.values()) if (entry.qos === 2) entry.stage = 'published'
  }
}

/** A bridge reports that the remote broker lost its session: acknowledged messages must be sent again. */
function hasLostSession(connect: ConnectPacket): boolean {
  const [[name]] = remoteSessionLostProperty
  return connect.properties?.userProperties?.some(([key]) => key === name) === true
}

const inMs = (expirySeconds: number): number => (expirySeconds === 0xffff_ffff ? Infinity : expirySeconds * 1_000)

function expiryMsOf({ version, cleanStart, properties }: ConnectPacket): number {
  if (version < 5) return cleanStart ? 0 : Infinity
  return inMs(properties?.sessionExpiryIntervalSeconds ?? 0)
}

export class StreamWatch {
  name: string
  connect: ConnectPacket | undefined
  connectAtMs = 0
  /** The broker wants to close the connection after its last packet. */
  isEnding = false
  session: SessionWatch | undefined
  hasDisconnected = false
  /** The connection has ended, so the packet never leaves. The broker assumes that it left, so it is recorded and not checked. */
  isGone = false
  readonly dueAcknowledgements: { type: ResponseType; packetId: PacketId; what?: string }[] = []
  readonly duePubrels: PacketId[] = []
  readonly sentHere = new Set<PacketId>()
  /** The last QoS 0 message: its authorization may still be pending. */
  inHand: string | undefined = undefined
  receiveMaximum = 65_535

  constructor(name: string) {
    this.name = name
  }
}

const responseTo: Partial<Record<Packet['type'], ResponseType>> = {
  pubrel: 'pubcomp',
  subscribe: 'suback',
  unsubscribe: 'unsuback',
}

const wordsOf = ({ topic, payload }: StoredMessage, mountpoint: string): string =>
  `${topic.slice(mountpoint.length)} ${Buffer.from(payload).toString('latin1')}`

export class PacketMonitor {
  readonly wills: WillMonitor
  /** Whether a message may be sent to a client now. */
  mayReceive: (clientId: string, topic: string) => boolean
  private readonly stage: Stage
  private readonly limits: () => Limits
  private readonly sessions = new Map<string, SessionWatch>()
  /** Payloads of QoS 0 messages that the broker has handled. */
  readonly handled = new Set<string>()
  /** QoS 2 messages that were refused once, or perhaps: by a broker that could not write, before its connection ended. */
  readonly refused = new Set<string>()
  /** Acknowledged messages: the broker must have them after a restart. */
  private readonly promised = new Set<string>()
  /** Payloads that are stored once for several sessions. */
  private readonly payloads = new Map<number, string>()

  constructor(stage: Stage, limits: () => Limits) {
    this.wills = new WillMonitor(stage)
    this.mayReceive = () => true
    this.stage = stage
    this.limits = limits
  }

  /** Waits for the disk. */
  stored(changes: Batch['changes'], mountpoint: string): void {
    for (const change of changes) {
      if (change?.change !== 'put') continue
      const { record } = change
      if (record.kind === 'payload') this.payloads.set(record.id, wordsOf(record.message, mountpoint))
      if (record.kind !== 'queued' || record.sharedFilter === undefined) continue
      const { message, clientId, sharedFilter, sequence } = record
      const what = typeof message === 'number' ? this.payloads.get(message) : wordsOf(message, mountpoint)
      if (what !== undefined) this.sessions.get(clientId)?.isGiven(what, { sharedFilter, sequence })
    }
  }

  /** The broker, or the shard of these clients, ended: afterwards it has only stored state. */
  restarted(isOfIt: (clientId: string) => boolean): void {
    for (const [clientId, session] of this.sessions)
      if (isOfIt(clientId)) session.restart(this.promised, this.stage.nowMs)
  }

  /**
   * Whether a QoS 2 packet with this identifier may have been sent without a PUBREC. After a crash the broker only knows the packet
   * identifiers of the packets that it was about to send.
   */
  isUnacknowledged(clientId: string, packetId: PacketId, what: string): boolean {
    const session = this.sessions.get(clientId)
    const entry = session?.window.get(packetId)
    if (entry?.what === what) return entry.qos === 2 && (entry.stage === 'published' || entry.stage === 'unsure')
    return session?.hasRestarted === true && !session.leftExactlyOnce.has(what) && !session.idsInThisLife.has(packetId)
  }

  cameIn(stream: StreamWatch, packet: Packet): void {
    if (packet.type === 'connect') {
      stream.connect ??= packet
      stream.connectAtMs ||= this.stage.nowMs
      stream.name = `${stream.connect.clientId} (${stream.name})`
      return
    }
    if (packet.type === 'publish') {
      const payload = packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd)
      if (packet.qos === 0) {
        stream.inHand = payload
        return
      }
      const what = `${packet.topic?.name} ${payload}`
      // A message that is sent again is another one, with another acknowledgement.
      this.promised.delete(what)
      for (const session of this.sessions.values()) session.sentBeforeRestart.delete(what)
      stream.dueAcknowledgements.push({ type: packet.qos === 1 ? 'puback' : 'pubrec', packetId: packet.packetId, what })
      return
    }
    if (packet.type === 'disconnect' && stream.connect !== undefined) {
      this.wills.noteDisconnect(stream.connect, packet)
      const { session } = stream
      const expirySeconds = packet.properties?.sessionExpiryIntervalSeconds
      if (session !== undefined && expirySeconds !== undefined) session.expiryMs = inMs(expirySeconds)
    }
    const type = responseTo[packet.type]
    if (type !== undefined && 'packetId' in packet) stream.dueAcknowledgements.push({ type, packetId: packet.packetId })
    else if (packet.type === 'puback' || packet.type === 'pubrec' || packet.type === 'pubcomp')
      this.noteAcknowledgement(stream, packet)
  }

  /** The broker continues to read: it has handled earlier packets. */
  readsOn(stream: StreamWatch): void {
    if (stream.inHand === undefined) return
    this.handled.add(stream.inHand)
    stream.inHand = undefined
  }

  /** The connection has ended, or the broker is closing it. */
  ended(stream: StreamWatch): void {
    const { connect, session } = stream
    stream.isEnding = true
    if (connect === undefined) return
    if (session !== undefined) {
      session.left(this.stage.nowMs)
      this.wills.ended(connect)
      if (this.limits().isFailing) for (const response of stream.dueAcknowledgements) this.noteRefused(response)
      return
    }
    this.wills.perhapsReturned(connect.clientId, stream.connectAtMs)
    const known = this.sessions.get(connect.clientId)
    if (known !== undefined && (connect.cleanStart || known.overAtMs <= this.stage.nowMs)) known.mayBeAnother = true
  }

  publishLeaves(stream: StreamWatch, seen: PublishSeen): void {
    const session = this.mustBeOpen(stream, 'publish')
    if (!seen.wasDecidedBefore && !this.mayReceive(stream.connect?.clientId ?? '', seen.topic))
      this.accuse(stream, `the broker sent ${stream.name} "${seen.payload}" on ${seen.topic}, which it may not receive`)
    if (seen.qos === 0) {
      if (seen.dup) this.accuse(stream, `the broker set DUP on a QoS 0 message to ${stream.name}`)
      return
    }
    const what = `${seen.topic} ${seen.payload}`
    const known = session.window.get(seen.packetId)
    const before = known?.isDoubtful === true && !seen.dup ? undefined : known
    if (before === undefined) this.checkFresh(stream, session, seen, what)
    else this.checkRepeated(stream, before, seen, what)
    stream.sentHere.add(seen.packetId)
    session.idsInThisLife.add(seen.packetId)
    if (seen.qos === 2) session.leftExactlyOnce.add(what)
    session.window.set(seen.packetId, {
      what,
      qos: seen.qos,
      stage: before?.stage ?? 'published',
      isOfRetained: seen.isOfRetained,
      isDoubtful: false,
    })
    this.checkWindow(stream, session)
  }

  ackLeaves(stream: StreamWatch, type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp', packetId: PacketId): void {
    const session = this.mustBeOpen(stream, type)
    if (type === 'pubrel') this.checkRelease(stream, session, packetId)
    else this.checkResponse(stream, type, packetId)
  }

  packetLeaves(stream: StreamWatch, packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        this.connackLeaves(stream, packet)
        return
      case 'puback':
      case 'pubrec':
      case 'pubrel':
      case 'pubcomp':
        if (packet.type === 'pubrec' && packet.reasonCode >= 0x80) this.noteRefused(stream.dueAcknowledgements[0])
        this.ackLeaves(stream, packet.type, packet.packetId)
        return
      case 'suback':
      case 'unsuback':
        this.mustBeOpen(stream, packet.type)
        this.checkResponse(stream, packet.type, packet.packetId)
        return
      case 'disconnect':
        if (stream.hasDisconnected) this.accuse(stream, `the broker sent DISCONNECT twice to ${stream.name}`)
        if ((stream.connect?.version ?? 4) < 5)
          this.accuse(
            stream,
            `the broker sent DISCONNECT to ${stream.name}, whose version has no DISCONNECT of a server`,
          )
        stream.hasDisconnected = true
        return
      case 'pingresp':
      case 'auth':
        if (packet.type === 'pingresp') this.mustBeOpen(stream, packet.type)
        return
      default:
        this.accuse(stream, `the broker sent ${packet.type} to ${stream.name}, which only clients send`)
    }
  }

  private noteRefused(response: { type: ResponseType; what?: string } | undefined): void {
    if (response?.type === 'pubrec' && response.what !== undefined) this.refused.add(response.what)
  }

  private connackLeaves(stream: StreamWatch, connack: ConnackPacket): void {
    const { connect } = stream
    // [MQTT-3.1.2-2] A CONNECT of an unknown version is refused without being decoded.
    if (connect === undefined && connack.reasonCode !== 0 && !connack.sessionPresent) {
      stream.hasDisconnected = true
      return
    }
    if (connect === undefined)
      return this.accuse(stream, `the broker sent CONNACK to ${stream.name}, which sent no CONNECT`)
    if (stream.session !== undefined) this.accuse(stream, `the broker sent CONNACK twice to ${stream.name}`)
    if (connack.reasonCode !== 0) {
      if (connack.sessionPresent)
        this.accuse(stream, `the broker refused ${stream.name} and reported a session [MQTT-3.2.2-4]`)
      stream.hasDisconnected = true
      return
    }
    if (connack.sessionPresent && connect.cleanStart)
      this.accuse(stream, `${stream.name} requested a clean start and got an old session [MQTT-3.2.2-1]`)
    const clientId =
      connect.clientId === '' ? (connack.properties?.assignedClientIdentifier ?? stream.name) : connect.clientId
    const known = this.sessions.get(clientId)
    // MQTT 3.1 has no flag session present, so only the request of the client is known.
    const isResumed = connect.version === 3 ? !connect.cleanStart && known !== undefined : connack.sessionPresent
    const session = isResumed && known !== undefined ? known : new SessionWatch(expiryMsOf(connect))
    session.isFoundAgain()
    session.expiryMs = expiryMsOf(connect)
    this.sessions.set(clientId, session)
    stream.session = session
    if (hasLostSession(connect)) session.takeBack()
    if (stream.isGone) this.wills.perhapsReturned(clientId, stream.connectAtMs)
    else {
      const { connectAtMs: sinceMs, isEnding } = stream
      this.wills.letIn(connect, { sinceMs, sessionPresent: isResumed, isEnding })
    }
    stream.receiveMaximum = connect.properties?.receiveMaximum ?? 65_535
  }

  private mustBeOpen(stream: StreamWatch, type: string): SessionWatch {
    if (stream.session === undefined) this.accuse(stream, `the broker sent ${type} to ${stream.name} before CONNACK`)
    if (stream.hasDisconnected) this.accuse(stream, `the broker sent ${type} to ${stream.name} after DISCONNECT`)
    return stream.session ?? new SessionWatch(0)
  }

  private accuse(stream: StreamWatch, sentence: string): void {
    if (!stream.isGone) this.stage.fail(sentence)
  }

  private checkFresh(stream: StreamWatch, session: SessionWatch, seen: PublishSeen, what: string): void {
    const tag = `${what} to ${stream.name} with packet id ${seen.packetId}`
    if (seen.packetId === 0) this.accuse(stream, `the broker sent ${tag}: packet identifier 0`)
    // A message of a shared group may return to a member by way of another one.
    if (seen.dup && !session.hasRestarted && !session.wasSent(what))
      this.accuse(stream, `the broker set DUP on ${tag}, which it had not sent before [MQTT-3.3.1-1]`)
    const wasSent = session.sentBeforeRestart.has(what) && seen.qos === 1
    if (!seen.dup && wasSent && !seen.isOfRetained)
      this.accuse(stream, `the broker sent ${tag} again without DUP, after its restart [MQTT-3.3.1-1]`)
    // A second transmission completes it: a later message with the same content is another message.
    if (seen.dup) session.sentBeforeRestart.delete(what)
    session.givenAgain.delete(what)
    if (!seen.dup && seen.expiresAtMs + turnMs < this.limits().nowMs)
      this.accuse(stream, `the broker sent ${tag} after its expiry [MQTT5-3.3.2-5]`)
  }

  private checkRepeated(stream: StreamWatch, before: InWindow, seen: PublishSeen, what: string): void {
    const tag = `packet id ${seen.packetId} to ${stream.name}`
    if (before.what !== what)
      this.accuse(stream, `the broker used ${tag} for "${what}" while "${before.what}" had it [MQTT-2.3.1-4]`)
    if (before.stage === 'received' || before.stage === 'released') {
      this.accuse(stream, `the broker sent PUBLISH with ${tag} again after PUBREC [MQTT-4.3.3-1]`)
    }
    if (!seen.dup) this.accuse(stream, `the broker sent "${what}" with ${tag} again without DUP [MQTT-3.3.1-1]`)
    const mayRetry = (stream.connect?.version ?? 4) < 5 && this.limits().retryIntervalMs > 0
    if (stream.sentHere.has(seen.packetId) && !mayRetry) {
      this.accuse(stream, `the broker sent "${what}" with ${tag} twice on one connection [MQTT5-4.4.0-1]`)
    }
  }

  private checkWindow(stream: StreamWatch, session: SessionWatch): void {
    const limit = Math.min(stream.receiveMaximum, this.limits().maxInflightMessages)
    if (session.window.size <= limit) return
    let underWay = 0
    for (const packetId of session.window.keys()) if (stream.sentHere.has(packetId)) underWay++
    if (underWay > limit)
      this.accuse(
        stream,
        `the broker has ${underWay} messages in flight to ${stream.name}, whose limit is ${limit} [MQTT5-3.3.4-9]`,
      )
  }

  private noteAcknowledgement(stream: StreamWatch, packet: Packet & { packetId: PacketId }): void {
    const session = stream.session
    const entry = session?.window.get(packet.packetId)
    const isFailure = 'reasonCode' in packet && packet.reasonCode >= 0x80
    if (packet.type === 'pubrec' && !isFailure) {
      stream.duePubrels.push(packet.packetId)
      if (entry?.stage === 'published' || entry?.stage === 'unsure') entry.stage = 'received'
      return
    }
    if (entry === undefined || session === undefined) return
    const isDone = packet.type === 'puback' ? entry.qos === 1 : packet.type === 'pubrec' || entry.stage !== 'published'
    if (!isDone) return
    session.sentBeforeRestart.delete(entry.what)
    session.window.delete(packet.packetId)
  }

  private checkRelease(stream: StreamWatch, session: SessionWatch, packetId: PacketId): void {
    const dueAt = stream.duePubrels.indexOf(packetId)
    const entry = session.window.get(packetId)
    if (dueAt > 0)
      this.accuse(
        stream,
        `the broker sent PUBREL ${packetId} to ${stream.name} before PUBREL ${stream.duePubrels[0]}, whose PUBREC arrived first [MQTT-4.6.0-4]`,
      )
    if (dueAt === 0) stream.duePubrels.shift()
    else if (entry === undefined ? !session.hasRestarted : entry.qos === 1 || entry.stage === 'published') {
      this.accuse(stream, `the broker sent PUBREL ${packetId} to ${stream.name}, which sent no PUBREC`)
    }
    if (entry !== undefined && entry.qos === 2) entry.stage = 'released'
  }

  private checkResponse(stream: StreamWatch, type: ResponseType, packetId: PacketId): void {
    const { dueAcknowledgements, name } = stream
    const first = dueAcknowledgements[0]
    if (first?.type === type && first.packetId === packetId) {
      dueAcknowledgements.shift()
      if (first.what !== undefined) this.promised.add(first.what)
      return
    }
    const isDue = dueAcknowledgements.some((due) => due.type === type && due.packetId === packetId)
    if (!isDue) this.accuse(stream, `the broker sent ${type} ${packetId} to ${name}, which is not due`)
    this.accuse(
      stream,
      `the broker sent ${type} ${packetId} to ${name} before ${first?.type} ${first?.packetId}, whose packet arrived first [MQTT-4.6.0-2]`,
    )
  }
}
