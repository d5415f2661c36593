// Requests of an MQTT-SN client to the broker: topic registration, publications, subscriptions. Each has the client's
// message ID on both sides.

import {
  type AckPacket,
  hasWildcard,
  parseTopicFilter,
  parseTopicName,
  type QoS,
  reasonCodes,
  hasFilterPrefix,
} from '../../../protocol/index.ts'
import { maxUnsentBytes, type MqttConnection, toPublishFields } from '../../gateway.ts'
import { isCongestion } from '../../restored-connections.ts'
import {
  returnCodes,
  toShortTopicId,
  toShortTopicName,
  type SnFlags,
  type SnRequest,
  type SnReturnCode,
  type SnSubscription,
  topicKinds,
} from '../codec/sn-packets.ts'
import { computeFingerprint, type Publication, ReleasedPublications } from './released-publications.ts'
import type { SnClientDependencies } from '../model/sn-client-dependencies.ts'
import type { TopicIds } from '../model/topic-ids.ts'
import type { SnCodec, SnOutcome } from '../codec/sn-codec.ts'
import { sn2ReasonCodes } from '../codec/sn2-packet-types.ts'

/** Maximum publications of the client without a response of the broker. */
const maxPublications = 256
const defaultOptions = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
/** The client uses the predefined ID. */
const aliasExists = { returnCode: returnCodes.accepted, reasonCode: sn2ReasonCodes.topicAliasExists }

/** The properties of the client that requests need. They may change. */
export interface RequestingClient {
  readonly topicIds: TopicIds
  /** Undefined: not connected. */
  readonly mqtt: MqttConnection | undefined
}

type Gateway = Pick<SnClientDependencies, 'settings' | 'codec' | 'counters' | 'nowMs' | 'send' | 'topics'>

interface OpenPublication extends Publication {
  /** PUBREC was sent. */
  isReceived: boolean
}

export class ClientRequests {
  readonly #gateway: Gateway
  readonly #client: RequestingClient
  /** Unacknowledged publications, by message ID. Each of these is created when it is needed: many clients send QoS 0 only. */
  #publications: Map<number, OpenPublication> | undefined
  #latestPublication = 0
  #released: ReleasedPublications | undefined
  /** Topic IDs of pending subscriptions, by message ID. */
  #subscriptions: Map<number, number> | undefined

  constructor(gateway: Gateway, client: RequestingClient) {
    this.#gateway = gateway
    this.#client = client
  }

  /** The connection to the broker was replaced: there will be no responses. */
  clear(): void {
    this.#publications = undefined
    this.#subscriptions = undefined
  }

  /** Returns false if it is not a request to the broker. */
  handle(request: SnRequest): boolean {
    if (request.type === 'register') this.#handleRegister(request.messageId, request.topic)
    else if (request.type === 'publish') this.#handlePublish(request)
    else if (request.type === 'subscribe') this.#handleSubscribe(request)
    else if (request.type === 'unsubscribe') this.#handleUnsubscribe(request)
    // Also for an unknown message ID, because the session of the client may have it.
    else if (request.type === 'pubrel') this.#client.mqtt?.acknowledge('pubrel', request.messageId)
    else return false
    return true
  }

  /** The latest publication without PUBACK or PUBREC; undefined: none. */
  get latestUnacknowledged(): number | undefined {
    return this.isUnacknowledged(this.#latestPublication) ? this.#latestPublication : undefined
  }

  isUnacknowledged(messageId: number): boolean {
    return this.#publications?.get(messageId)?.isReceived === false
  }

  get #codec(): SnCodec {
    return this.#gateway.codec
  }

  #send(bytes: Buffer | undefined): void {
    if (bytes !== undefined) this.#gateway.send(bytes)
  }

  handleAck({ type, packetId, reasonCode }: AckPacket): void {
    const publication = this.#publications?.get(packetId)
    // PUBREL of a message that an earlier connection accepted.
    if (type === 'pubcomp' && publication === undefined) return this.#send(this.#codec.ack('pubcomp', packetId))
    if (publication === undefined) return
    const { topicId } = publication
    if (type !== 'pubcomp' && reasonCode >= reasonCodes.unspecifiedError) {
      this.#publications?.delete(packetId)
      const qos = type === 'puback' ? 1 : 2
      return this.#send(this.#codec.refusePublish({ qos, topicId, messageId: packetId, ...toOutcome(reasonCode) }))
    }
    if (type === 'puback') {
      this.#publications?.delete(packetId)
      return this.#send(this.#codec.puback(topicId, packetId))
    }
    if (type === 'pubrec') {
      publication.isReceived = true
      return this.#send(this.#codec.ack('pubrec', packetId))
    }
    this.#publications?.delete(packetId)
    this.#released ??= new ReleasedPublications()
    this.#released.add(packetId, publication, this.#gateway.nowMs())
    this.#send(this.#codec.ack('pubcomp', packetId))
  }

  handleSuback(messageId: number, reasonCode: number): void {
    const topicId = this.#subscriptions?.get(messageId)
    this.#subscriptions?.delete(messageId)
    if (topicId === undefined) return
    if (reasonCode >= reasonCodes.unspecifiedError)
      return this.#send(this.#codec.suback(0, 0, messageId, toOutcome(reasonCode)))
    this.#send(this.#codec.suback(reasonCode as QoS, topicId, messageId, { returnCode: returnCodes.accepted }))
  }

  #handleRegister(messageId: number, name: string): void {
    const refuse = (returnCode: SnReturnCode): void => this.#send(this.#codec.regack(0, messageId, { returnCode }))
    if (parseTopicName(name) === undefined) return refuse(returnCodes.notSupported)
    const { settings } = this.#gateway
    const predefined = this.#codec.version === 2 ? settings.predefined.findId(name) : undefined
    if (predefined !== undefined) return this.#send(this.#codec.regack(predefined, messageId, aliasExists))
    const { topicIds } = this.#client
    const topicId = topicIds.register(name)
    if (topicId === undefined) return refuse(returnCodes.congestion)
    topicIds.setKnown(name)
    const accepted = { returnCode: returnCodes.accepted }
    topicIds.runWhenDurable(() => this.#send(this.#codec.regack(topicId, messageId, accepted)))
  }

  #handlePublish({ flags, topicId, messageId, payload, topic: topicName }: SnRequest & { type: 'publish' }): void {
    const qos: QoS = flags.qos === -1 ? 0 : flags.qos
    const refuse = (returnCode: SnReturnCode): void =>
      this.#send(this.#codec.refusePublish({ qos, topicId, messageId, returnCode }))
    if (flags.topicKind === 3 && topicName === undefined) return refuse(returnCodes.notSupported)
    const text = topicName ?? this.#findTopicName(flags, topicId)
    if (text === undefined) return refuse(returnCodes.invalidTopicId)
    const name = parseTopicName(text)
    if (name === undefined) return refuse(returnCodes.notSupported)
    const { mqtt } = this.#client
    if (mqtt === undefined) return
    if (mqtt.unsentBytes > maxUnsentBytes) {
      this.#gateway.counters.dropped['queue-full']++
      return qos === 0 ? undefined : refuse(returnCodes.congestion)
    }
    if (qos > 0) {
      if (messageId === 0) return refuse(returnCodes.notSupported)
      // The original is in progress: its response is also the response to the duplicate.
      this.#publications ??= new Map()
      const isInProgress = this.#publications.has(messageId)
      if (isInProgress && qos === 1) return
      if (!isInProgress && this.#publications.size >= maxPublications) return refuse(returnCodes.congestion)
      const publication = { topicId, fingerprint: qos === 2 ? computeFingerprint(payload) : '', isReceived: false }
      if (qos === 2 && this.#released?.has(messageId, publication, this.#gateway.nowMs()) === true)
        return this.#send(this.#codec.ack('pubrec', messageId))
      this.#publications.set(messageId, publication)
      this.#latestPublication = messageId
    }
    const topic = this.#gateway.topics.internName(name)
    const isAgain = flags.dup && qos > 0
    const packetId = qos === 0 ? 0 : messageId
    mqtt.publish(toPublishFields({ topic, payload, qos, retain: flags.retain, dup: isAgain, packetId }))
  }

  #findTopicName({ topicKind }: SnFlags, topicId: number): string | undefined {
    if (topicKind === topicKinds.predefined) return this.#gateway.settings.predefined.findName(topicId)
    if (topicKind === topicKinds.short) return toShortTopicName(topicId)
    return this.#client.topicIds.findName(topicId)
  }

  #handleSubscribe(request: SnRequest & { type: 'subscribe' }): void {
    const { flags, messageId, topicId, options = defaultOptions } = request
    const refuse = (returnCode: SnReturnCode): void => this.#send(this.#codec.suback(0, 0, messageId, { returnCode }))
    if (flags.topicKind === 3 || messageId === 0) return refuse(returnCodes.notSupported)
    const text = this.#findFilterText(request)
    if (text === undefined) return refuse(returnCodes.invalidTopicId)
    const filter = parseTopicFilter(text)
    if (filter === undefined) return refuse(returnCodes.notSupported)
    const id = this.#resolveSubscriberTopicId(flags, topicId, text)
    if (id === undefined) return refuse(returnCodes.congestion)
    this.#subscriptions ??= new Map()
    this.#subscriptions.set(messageId, id)
    const qos: QoS = flags.qos === -1 ? 0 : flags.qos
    const subscriptions = [{ filter, qos, ...options }]
    this.#client.mqtt?.send({ type: 'subscribe', packetId: messageId, subscriptions, properties: undefined })
  }

  #findFilterText({ flags, topic, topicId, isAlias = false }: SnSubscription): string | undefined {
    return isAlias || flags.topicKind === topicKinds.predefined ? this.#findTopicName(flags, topicId) : topic
  }

  /** Topic ID in SUBACK; 0 if messages will have several, or a short name. */
  #resolveSubscriberTopicId({ topicKind }: SnFlags, topicId: number, text: string): number | undefined {
    const { version, hasShortNames } = this.#codec
    // [2.0, 3.8.4-3] In 2.0, SUBACK has no predefined topic alias.
    const isPredefined = version === 2 && this.#gateway.settings.predefined.findId(text) !== undefined
    if (topicKind === topicKinds.predefined) return isPredefined ? 0 : topicId
    if (isPredefined || topicKind === topicKinds.short || hasWildcard(text) || hasFilterPrefix(text)) return 0
    if (hasShortNames && toShortTopicId(text) !== undefined) return 0
    const id = this.#client.topicIds.register(text)
    if (id !== undefined) this.#client.topicIds.setKnown(text)
    return id
  }

  #handleUnsubscribe(request: SnRequest & { type: 'unsubscribe' }): void {
    const { messageId } = request
    const text = this.#findFilterText(request)
    const filter = text === undefined ? undefined : parseTopicFilter(text)
    if (filter === undefined || messageId === 0) return this.#send(this.#codec.ack('unsuback', messageId))
    this.#client.mqtt?.send({ type: 'unsubscribe', packetId: messageId, filters: [filter], properties: undefined })
  }
}

export function toOutcome(reasonCode: number): SnOutcome {
  return { returnCode: isCongestion(reasonCode) ? returnCodes.congestion : returnCodes.notSupported, reasonCode }
}
