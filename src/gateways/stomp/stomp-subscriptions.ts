// Subscriptions of a STOMP client, and its unacknowledged messages.

import {
  type PacketId,
  parseTopicFilter,
  type PublishPacket,
  reasonCodes,
  type TopicFilter,
  writeFilter,
} from '../../protocol/index.ts'
import type { MqttConnection } from '../gateway.ts'
import type { Settled } from './publications.ts'
import type { StompFrame, StompVersion } from './frames.ts'

/** Maximum of one client. */
const maxSubscriptions = 1_024
const noLocalHeader = 'no-local'

type AckMode = 'auto' | 'client' | 'client-individual'

interface Subscription {
  /** The client's ID. In 1.0 it may be absent. */
  readonly id: string | undefined
  readonly filter: TopicFilter
  readonly ackMode: AckMode
  /** Subscription identifier at the broker. */
  readonly identifier: number
}

interface Unacknowledged {
  readonly subscription: Subscription
  /** Undefined: a QoS 0 message, which the broker does not expect to be acknowledged. */
  readonly packetId: PacketId | undefined
}

interface StompMessage {
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

export class Subscriptions {
  readonly #mqtt: () => MqttConnection | undefined
  /** By the identifier for the broker. */
  readonly #known = new Map<number, Subscription>()
  readonly #waiting = new Map<PacketId, { readonly identifier: number; readonly settled: Settled }>()
  /** By message ID, oldest first. */
  readonly #unacknowledged = new Map<string, Unacknowledged>()
  #nextIdentifier = 1
  #nextPacketId = 0
  #nextMessageId = 1

  constructor(mqtt: () => MqttConnection | undefined) {
    this.#mqtt = mqtt
  }

  /** A problem is for ERROR. `settled` is called after the response of the broker. */
  subscribe({ headers }: StompFrame, version: StompVersion, settled: Settled): string | undefined {
    const id = headers.get('id')
    if (id === undefined && version !== '1.0') return 'SUBSCRIBE without id'
    const filter = parseTopicFilter(headers.get('destination') ?? '')
    if (filter === undefined)
      return `${headers.get('destination') ?? 'SUBSCRIBE without destination:'} is not a topic filter`
    const ackMode = headers.get('ack') ?? 'auto'
    if (ackMode !== 'auto' && ackMode !== 'client' && ackMode !== 'client-individual')
      return `ack: ${ackMode} is unknown`
    for (const known of this.#known.values()) {
      if (known.filter === filter) return `${writeFilter(filter)} is subscribed to already`
      if (id !== undefined && known.id === id) return `the subscription ${id} exists already`
    }
    if (this.#known.size >= maxSubscriptions) return `a client has at most ${maxSubscriptions} subscriptions`
    const identifier = this.#nextIdentifier++
    const packetId = this.#takePacketId()
    this.#known.set(identifier, { id, filter, ackMode, identifier })
    this.#waiting.set(packetId, { identifier, settled })
    const noLocal = headers.get(noLocalHeader) === 'true' && !filter.startsWith('$share/')
    const qos = ackMode === 'auto' ? 0 : 1
    this.#mqtt()?.send({
      type: 'subscribe',
      packetId,
      subscriptions: [{ filter, qos, noLocal, retainAsPublished: true, retainHandling: 0 }],
      properties: { subscriptionIdentifier: identifier },
    })
    return undefined
  }

  unsubscribe({ headers }: StompFrame, settled: Settled): string | undefined {
    const id = headers.get('id')
    const destination = headers.get('destination')
    // `$queue/filter` is stored as the shared subscription that it stands for.
    const filter = parseTopicFilter(destination ?? '')
    const known = [...this.#known.values()].find((one) => (id === undefined ? one.filter === filter : one.id === id))
    if (known === undefined) return `there is no subscription ${id ?? destination ?? 'without id and destination'}`
    const packetId = this.#takePacketId()
    this.#known.delete(known.identifier)
    this.#waiting.set(packetId, { identifier: known.identifier, settled })
    this.#mqtt()?.send({ type: 'unsubscribe', packetId, filters: [known.filter], properties: undefined })
    return undefined
  }

  handleAck(packetId: PacketId, reasonCode: number): void {
    const waiting = this.#waiting.get(packetId)
    if (waiting === undefined) return
    this.#waiting.delete(packetId)
    const isRefused = reasonCode >= reasonCodes.unspecifiedError
    const filter = this.#known.get(waiting.identifier)?.filter ?? ''
    if (isRefused) this.#known.delete(waiting.identifier)
    const why = reasonCode === reasonCodes.notAuthorized ? 'not authorized to subscribe to' : 'the broker refused'
    waiting.settled(isRefused ? `${why} ${filter} (reason code ${reasonCode})` : undefined)
  }

  /**
   * Returns the MESSAGE frames, one for each subscription. The message is acknowledged to the broker after the client
   * has acknowledged them.
   */
  deliver(packet: PublishPacket, version: StompVersion): readonly StompMessage[] {
    const identifiers = packet.properties?.subscriptionIdentifiers ?? []
    const matching = identifiers.flatMap((identifier) => this.#known.get(identifier) ?? [])
    // Unsubscribed meanwhile.
    if (matching.length === 0 && packet.qos > 0) this.#mqtt()?.acknowledge('puback', packet.packetId)
    const body = Buffer.from(packet.chunk.subarray(packet.payloadStart, packet.frameEnd))
    let packetId = packet.qos > 0 ? packet.packetId : undefined
    return matching.map((subscription) => {
      const messageId = String(this.#nextMessageId++)
      const isAcknowledged = subscription.ackMode !== 'auto'
      if (isAcknowledged) {
        this.#unacknowledged.set(messageId, { subscription, packetId })
        packetId = undefined
      }
      return { headers: toHeaders(packet, subscription, { messageId, isAcknowledged, version }), body }
    })
  }

  /** Handles ACK and NACK: a NACK also ends the delivery, because MQTT has no packet for it. */
  acknowledge({ command, headers }: StompFrame, version: StompVersion): string | undefined {
    const messageId = version === '1.2' ? headers.get('id') : headers.get('message-id')
    const known = messageId === undefined ? undefined : this.#unacknowledged.get(messageId)
    if (messageId === undefined || known === undefined)
      return `${command} of ${messageId ?? 'no message'}, which waits for none`
    if (known.subscription.ackMode === 'client-individual') {
      this.#settle(messageId, known)
      return undefined
    }
    // All up to this one [STOMP 1.2, "ack"].
    for (const [id, one] of this.#unacknowledged) {
      if (one.subscription === known.subscription) this.#settle(id, one)
      if (id === messageId) break
    }
    return undefined
  }

  #settle(messageId: string, { packetId }: Unacknowledged): void {
    this.#unacknowledged.delete(messageId)
    if (packetId !== undefined) this.#mqtt()?.acknowledge('puback', packetId)
  }

  #takePacketId(): PacketId {
    do this.#nextPacketId = this.#nextPacketId >= 0xffff ? 1 : this.#nextPacketId + 1
    while (this.#waiting.has(this.#nextPacketId))
    return this.#nextPacketId
  }
}

function toHeaders(
  { topic, properties, payloadStart, frameEnd, retain }: PublishPacket,
  { id, filter }: Subscription,
  { messageId, isAcknowledged, version }: { messageId: string; isAcknowledged: boolean; version: StompVersion },
): readonly (readonly [string, string])[] {
  return [
    ['destination', topic?.name ?? ''],
    ['message-id', messageId],
    ['subscription', id ?? filter],
    ...(isAcknowledged && version === '1.2' ? [['ack', messageId] as const] : []),
    ['content-length', String(frameEnd - payloadStart)],
    ...(properties?.contentType === undefined ? [] : [['content-type', properties.contentType] as const]),
    ...(retain ? [['retain', 'true'] as const] : []),
    // Of a repeated header the first value counts, so a message cannot replace those above.
    ...(properties?.userProperties ?? []),
  ]
}
