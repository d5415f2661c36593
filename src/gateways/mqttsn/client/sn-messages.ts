// The messages of one MQTT-SN client in both directions: its deliveries, its requests, and the topic IDs of both.

import {
  type AckPacket,
  type AckType,
  type PacketId,
  type PublishPacket,
  reasonCodes,
  type SubackPacket,
} from '../../../protocol/index.ts'
import type { MqttConnection } from '../../gateway.ts'
import { ClientRequests, type RequestingClient } from './client-requests.ts'
import type { SnRequest } from '../codec/sn-packets.ts'
import { Deliveries, type DeliveryClient } from '../deliveries/deliveries.ts'
import type { SnClientDependencies } from '../model/sn-client-dependencies.ts'
import type { StoredMessage, StoredMessages } from '../model/stored-messages.ts'
import { TopicIds } from '../model/topic-ids.ts'

/** The properties of the client that its messages need. They may change. */
interface MessagingClient {
  /** Undefined: not connected. */
  readonly mqtt: MqttConnection | undefined
  readonly isCleanSession: boolean
  /** While the client is asleep, nothing is sent. */
  readonly isAsleep: boolean
}

/** Most clients are idle, and there are many, so objects that only a busy client needs are created on first use. */
export class SnMessages implements DeliveryClient, RequestingClient {
  readonly #dependencies: SnClientDependencies
  readonly #client: MessagingClient
  #topicIds: TopicIds | undefined
  #deliveries: Deliveries | undefined
  #requests: ClientRequests | undefined

  constructor(dependencies: SnClientDependencies, client: MessagingClient) {
    this.#dependencies = dependencies
    this.#client = client
  }

  get topicIds(): TopicIds {
    return (this.#topicIds ??= new TopicIds(this.#dependencies.settings.predefined))
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    return this.#deliveries?.dueAtMs ?? Infinity
  }

  /** True if no message is waiting or unacknowledged. */
  get isDelivered(): boolean {
    return this.#deliveries?.isEmpty ?? true
  }

  /** Returns false if the client does not respond. */
  tick(): boolean {
    return this.#deliveries?.tick() ?? true
  }

  /** The client falls asleep. */
  pause(): void {
    this.#deliveries?.pause()
  }

  resume(): void {
    this.#deliveries?.resume()
  }

  /** The client has another address. */
  handleMove(): void {
    this.#deliveries?.handleAddressChange()
  }

  // Sessions

  /** Takes over topic IDs of the session, which the client may have lost. */
  adoptTopicIds(topicIds: TopicIds): void {
    this.#topicIds = topicIds
    topicIds.setAllUnknown()
    this.#deliveries = undefined
  }

  /** The client has lost its topic IDs. */
  forgetTopicIds(): void {
    this.#topicIds?.setAllUnknown()
  }

  deleteTopicIds(): void {
    if (this.#topicIds !== undefined) this.#dependencies.deleteTopicIds(this.#topicIds)
    this.#topicIds = undefined
  }

  /** Restores topic IDs, and QoS 0 messages that waited before the restart, by their numbers. */
  restore(topicIds: TopicIds | undefined, messages: ReadonlyMap<number, StoredMessage>): void {
    if (topicIds !== undefined) this.#topicIds = topicIds
    if (messages.size > 0) this.#openDeliveries().restore(messages)
  }

  registerTopics(): void {
    this.#openDeliveries().registerAll()
  }

  /** A new connection to the broker replaces the earlier one: the broker sends unacknowledged messages again. */
  restart(): void {
    this.#deliveries = undefined
    this.#requests?.clear()
  }

  // Packets of the client

  /** Returns true if the packet responds to a delivery. */
  handle(request: SnRequest): boolean {
    return !this.#openRequests().handle(request) && this.#openDeliveries().handle(request)
  }

  // Packets of the broker

  deliver(packet: PublishPacket, topic: string): void {
    this.#openDeliveries().add(packet, topic)
  }

  /** Handles the response to a publication. Returns true if deliveries waited for it. */
  handleAck(packet: AckPacket): boolean {
    this.#openRequests().handleAck(packet)
    return this.#deliveries?.flushAfterPublication() === true
  }

  handlePubrel(packetId: PacketId): void {
    this.#openDeliveries().handlePubrel(packetId)
  }

  handleSuback({ packetId, reasonCodes: [reasonCode = reasonCodes.unspecifiedError] }: SubackPacket): void {
    this.#requests?.handleSuback(packetId, reasonCode)
  }

  // Calls of deliveries and requests

  get mqtt(): MqttConnection | undefined {
    return this.#client.mqtt
  }

  get storedMessages(): StoredMessages | undefined {
    return this.#client.isCleanSession ? undefined : this.#dependencies.messages
  }

  get publications(): ClientRequests | undefined {
    return this.#requests
  }

  acknowledge(type: AckType, packetId: PacketId): void {
    this.#client.mqtt?.acknowledge(type, packetId)
  }

  #openDeliveries(): Deliveries {
    if (this.#deliveries !== undefined) return this.#deliveries
    const deliveries = new Deliveries(this.#dependencies, this)
    if (this.#client.isAsleep) deliveries.pause()
    return (this.#deliveries = deliveries)
  }

  #openRequests(): ClientRequests {
    return (this.#requests ??= new ClientRequests(this.#dependencies, this))
  }
}
