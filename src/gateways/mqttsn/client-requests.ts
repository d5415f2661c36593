// Requests of an MQTT-SN client to the broker: topic registration, publications, subscriptions. Each has the client's
// message ID on both sides.

import {
  type AckPacket,
  hasWildcard,
  parseTopicFilter,
  parseTopicName,
  type QoS,
  reasonCodes,
  TopicTable,
} from '../../protocol/index.ts'
import { maxUnsentBytes, type MqttConnection, publishFieldsOf } from '../gateway.ts'
import { returnCodes, shortTopicId, shortTopicName, topicKinds, type SnFlags, type SnRequest } from './packets.ts'
import { fingerprintOf, type Publication, ReleasedPublications } from './released-publications.ts'
import type { SnClientDependencies } from './sn-client-dependencies.ts'
import type { TopicIds } from './topic-ids.ts'
import { writeAck, writeSuback, writeTopicAck } from './write-packet.ts'

/** Maximum publications of the client without a response of the broker. */
const maxPublications = 256
const cachedTopics = 64

export interface ClientRequestDependencies {
  readonly gateway: Pick<SnClientDependencies, 'settings' | 'counters' | 'nowMs' | 'send'>
  topicIds(): TopicIds
  /** Undefined: not connected. */
  mqtt(): MqttConnection | undefined
}

export class ClientRequests {
  readonly #dependencies: ClientRequestDependencies
  readonly #topics = new TopicTable(cachedTopics)
  /** Unanswered publications, by message ID. */
  readonly #publications = new Map<number, Publication>()
  readonly #released = new ReleasedPublications()
  readonly #subscriptions = new Map<number, number>()

  constructor(dependencies: ClientRequestDependencies) {
    this.#dependencies = dependencies
  }

  /** The connection to the broker was replaced: there will be no responses. */
  forget(): void {
    this.#publications.clear()
    this.#subscriptions.clear()
  }

  handleAnswer({ type, packetId, reasonCode }: AckPacket): void {
    const publication = this.#publications.get(packetId)
    // PUBREL of a message that was taken by the connection before.
    if (type === 'pubcomp' && publication === undefined)
      return this.#dependencies.gateway.send(writeAck('pubcomp', packetId))
    if (publication === undefined) return
    const { topicId } = publication
    const isRefused = reasonCode >= reasonCodes.unspecifiedError
    if (type === 'puback' || (type === 'pubrec' && isRefused)) {
      this.#publications.delete(packetId)
      const returnCode = isRefused ? returnCodeOf(reasonCode) : returnCodes.accepted
      return this.#dependencies.gateway.send(writeTopicAck('puback', topicId, packetId, returnCode))
    }
    if (type === 'pubrec') return this.#dependencies.gateway.send(writeAck('pubrec', packetId))
    this.#publications.delete(packetId)
    this.#released.add(packetId, publication, this.#dependencies.gateway.nowMs())
    this.#dependencies.gateway.send(writeAck('pubcomp', packetId))
  }

  handleSuback(messageId: number, reasonCode: number): void {
    const topicId = this.#subscriptions.get(messageId)
    this.#subscriptions.delete(messageId)
    if (topicId === undefined) return
    if (reasonCode >= reasonCodes.unspecifiedError) {
      return this.#dependencies.gateway.send(writeSuback(0, 0, messageId, returnCodeOf(reasonCode)))
    }
    this.#dependencies.gateway.send(writeSuback(reasonCode as QoS, topicId, messageId, returnCodes.accepted))
  }

  handleRegister(messageId: number, name: string): void {
    const refuse = (returnCode: number): void =>
      this.#dependencies.gateway.send(writeTopicAck('regack', 0, messageId, returnCode))
    if (parseTopicName(name) === undefined) return refuse(returnCodes.notSupported)
    const topicId = this.#dependencies.topicIds().register(name)
    if (topicId === undefined) return refuse(returnCodes.congestion)
    this.#dependencies.topicIds().setKnown(name)
    this.#dependencies
      .topicIds()
      .whenKept(() =>
        this.#dependencies.gateway.send(writeTopicAck('regack', topicId, messageId, returnCodes.accepted)),
      )
  }

  handlePublish({ flags, topicId, messageId, payload }: SnRequest & { type: 'publish' }): void {
    const refuse = (returnCode: number): void =>
      this.#dependencies.gateway.send(writeTopicAck('puback', topicId, messageId, returnCode))
    if (flags.topicKind === 3) return refuse(returnCodes.notSupported)
    const text = this.#topicNameOf(flags, topicId)
    if (text === undefined) return refuse(returnCodes.invalidTopicId)
    const name = parseTopicName(text)
    if (name === undefined) return refuse(returnCodes.notSupported)
    const qos: QoS = flags.qos === -1 ? 0 : flags.qos
    const mqtt = this.#dependencies.mqtt()
    if (mqtt === undefined) return
    if (mqtt.unsentBytes > maxUnsentBytes) {
      this.#dependencies.gateway.counters.dropped['queue-full']++
      return qos === 0 ? undefined : refuse(returnCodes.congestion)
    }
    if (qos > 0) {
      if (messageId === 0) return refuse(returnCodes.notSupported)
      // The original is in progress: its response answers the duplicate as well.
      if (this.#publications.has(messageId) && qos === 1) return
      if (!this.#publications.has(messageId) && this.#publications.size >= maxPublications)
        return refuse(returnCodes.congestion)
      const publication = { topicId, fingerprint: qos === 2 ? fingerprintOf(payload) : '' }
      if (qos === 2 && this.#released.has(messageId, publication, this.#dependencies.gateway.nowMs()))
        return this.#dependencies.gateway.send(writeAck('pubrec', messageId))
      this.#publications.set(messageId, publication)
    }
    const topic = this.#topics.named(name)
    const isAgain = flags.dup && qos > 0
    const packetId = qos === 0 ? 0 : messageId
    mqtt.publish(publishFieldsOf({ topic, payload, qos, retain: flags.retain, dup: isAgain, packetId }))
  }

  #topicNameOf({ topicKind }: SnFlags, topicId: number): string | undefined {
    if (topicKind === topicKinds.predefined) return this.#dependencies.gateway.settings.predefined.nameOf(topicId)
    if (topicKind === topicKinds.short) return shortTopicName(topicId)
    return this.#dependencies.topicIds().nameOf(topicId)
  }

  handleSubscribe({ flags, messageId, topic, topicId }: SnRequest & { type: 'subscribe' }): void {
    const refuse = (returnCode: number): void =>
      this.#dependencies.gateway.send(writeSuback(0, 0, messageId, returnCode))
    if (flags.topicKind === 3 || messageId === 0) return refuse(returnCodes.notSupported)
    const text = flags.topicKind === topicKinds.predefined ? this.#topicNameOf(flags, topicId) : topic
    if (text === undefined) return refuse(returnCodes.invalidTopicId)
    const filter = parseTopicFilter(text)
    if (filter === undefined) return refuse(returnCodes.notSupported)
    const id = this.#idForSubscriber(flags, topicId, text)
    if (id === undefined) return refuse(returnCodes.congestion)
    this.#subscriptions.set(messageId, id)
    const qos: QoS = flags.qos === -1 ? 0 : flags.qos
    const request = { filter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    this.#dependencies
      .mqtt()
      ?.send({ type: 'subscribe', packetId: messageId, subscriptions: [request], properties: undefined })
  }

  /** Topic ID in SUBACK; 0 if messages will have several, or a short name. */
  #idForSubscriber({ topicKind }: SnFlags, topicId: number, text: string): number | undefined {
    if (topicKind === topicKinds.predefined) return topicId
    if (topicKind === topicKinds.short || hasWildcard(text) || text.startsWith('$share/')) return 0
    if (shortTopicId(text) !== undefined) return 0
    const id = this.#dependencies.topicIds().register(text)
    if (id !== undefined) this.#dependencies.topicIds().setKnown(text)
    return id
  }

  handleUnsubscribe({ flags, messageId, topic, topicId }: SnRequest & { type: 'unsubscribe' }): void {
    const text = flags.topicKind === topicKinds.predefined ? this.#topicNameOf(flags, topicId) : topic
    const filter = text === undefined ? undefined : parseTopicFilter(text)
    if (filter === undefined || messageId === 0) return this.#dependencies.gateway.send(writeAck('unsuback', messageId))
    this.#dependencies
      .mqtt()
      ?.send({ type: 'unsubscribe', packetId: messageId, filters: [filter], properties: undefined })
  }

  /** Also of one that is not known here: the session of the client may hold its id. */
  handlePubrel(messageId: number): void {
    this.#dependencies.mqtt()?.acknowledge('pubrel', messageId)
  }
}

export function isCongestion(reasonCode: number): boolean {
  const { serverUnavailable, serverBusy, quotaExceeded, connectionRateExceeded } = reasonCodes
  return [serverUnavailable, serverBusy, quotaExceeded, connectionRateExceeded].includes(reasonCode as never)
}

function returnCodeOf(reasonCode: number): number {
  return isCongestion(reasonCode) ? returnCodes.congestion : returnCodes.notSupported
}
