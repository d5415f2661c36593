// The dependencies of an MQTT-SN client on its gateway: one object for each client, with its current address.

import type { TopicTable } from '../../protocol/index.ts'
import type { GatewayCounters, GatewayDependencies, MqttConnection, MqttConnectionCallbacks } from '../gateway.ts'
import type { PeerAddress } from '../../transports/index.ts'
import type { RestoredConnections } from '../restored-connections.ts'
import type { GatewayClient } from '../../core/index.ts'
import type { AddressProofs } from '../address-proofs.ts'
import type { StoredMessages } from './model/stored-messages.ts'
import { deleteTopicIds, createMessageStore } from './model/stored-sessions.ts'
import type { WirelessNode } from './codec/sn-packets.ts'
import type { MqttSnSettings } from './model/mqttsn-settings.ts'
import { SnClient } from './client/sn-client.ts'
import type { ConnectRequest, SnClientDependencies } from './model/sn-client-dependencies.ts'
import type { SnCodec } from './codec/sn-codec.ts'
import type { TopicIds } from './model/topic-ids.ts'

/** Source of a datagram: a device, or a wireless node behind a forwarder. */
export interface Peer extends PeerAddress {
  readonly key: string
  /** Undefined: no forwarder. */
  readonly node: WirelessNode | undefined
}

/** Dependencies that all clients of the gateway share. */
export interface ConnectedClientDependencies {
  readonly settings: MqttSnSettings
  readonly topics: TopicTable
  readonly dependencies: GatewayDependencies
  send(bytes: Buffer, peer: Peer): void
  sendUnasked(bytes: Buffer, peer: Peer): boolean
  reserveUnasked(pings: number, peer: Peer): boolean
  releaseUnasked(pings: number, peer: Peer): void
  sendReserved(bytes: Buffer, peer: Peer): void
  readonly proofs: AddressProofs
  readonly restored: RestoredConnections
  /** The `dueAtMs` of the client has changed. */
  scheduleClient(client: SnClient): void
  storeSleep(connected: ConnectedClient, sleep: Parameters<SnClientDependencies['storeSleep']>[0]): void
  onConnected(connected: ConnectedClient): void
  onEnded(connected: ConnectedClient): void
}

export class ConnectedClient implements SnClientDependencies, GatewayClient {
  readonly codec: SnCodec
  peer: Peer
  readonly client: SnClient
  isEnded = false
  readonly #gateway: ConnectedClientDependencies
  #messages: StoredMessages | undefined

  constructor(
    gateway: ConnectedClientDependencies,
    peer: Peer,
    { connect, codec }: { connect: ConnectRequest; codec: SnCodec },
  ) {
    this.#gateway = gateway
    this.codec = codec
    this.peer = peer
    this.client = new SnClient(connect, this)
  }

  /** The address of the client may change: over DTLS with its identity or its connection ID, otherwise its port while it sleeps. */
  moveTo(peer: Peer): void {
    const { peer: before } = this
    if (before.address === peer.address && before.port === peer.port && before.key === peer.key) return
    this.client.messages.handleMove()
    this.peer = peer
    const { mqtt, state } = this.client
    mqtt?.reportClientChange()
    // With the next packet, the broker checks whether the client may be connected from this address.
    if (before.address !== peer.address && state !== 'connecting') mqtt?.send({ type: 'pingreq' })
  }

  // For lists and rules by address

  get isSleeping(): boolean {
    return this.client.isSleeping
  }

  get protocolVersion(): 1 | 2 {
    return this.codec.version
  }

  get address(): string {
    return this.peer.address
  }

  get port(): number {
    return this.peer.port
  }

  get settings(): MqttSnSettings {
    return this.#gateway.settings
  }

  get counters(): GatewayCounters {
    return this.#gateway.dependencies.counters
  }

  get topics(): TopicTable {
    return this.#gateway.topics
  }

  nowMs(): number {
    return this.#gateway.dependencies.nowMs()
  }

  send(bytes: Buffer): void {
    this.#gateway.send(bytes, this.peer)
  }

  sendUnasked(bytes: Buffer): boolean {
    return this.#gateway.sendUnasked(bytes, this.peer)
  }

  reserveUnasked(pings: number): boolean {
    return this.#gateway.reserveUnasked(pings, this.peer)
  }

  releaseUnasked(pings: number): void {
    this.#gateway.releaseUnasked(pings, this.peer)
  }

  sendReserved(bytes: Buffer): void {
    this.#gateway.sendReserved(bytes, this.peer)
  }

  get isProven(): boolean {
    return this.#gateway.proofs.isProven(this.peer)
  }

  recordProof(): void {
    this.#gateway.proofs.recordProof(this.peer)
  }

  randomBelow(limit: number): number {
    return this.#gateway.dependencies.randomBelow(limit)
  }

  openMqtt(client: SnClient, isRestored: boolean): MqttConnection {
    const { dependencies, restored } = this.#gateway
    const open = (callbacks: MqttConnectionCallbacks) => dependencies.openMqtt(this.peer, callbacks, this)
    return isRestored ? restored.open(open, client) : open(client)
  }

  schedule(): void {
    this.#gateway.scheduleClient(this.client)
  }

  storeSleep(sleep: Parameters<SnClientDependencies['storeSleep']>[0]): void {
    this.#gateway.storeSleep(this, sleep)
  }

  runWhenDurable(done: () => void): void {
    this.#gateway.dependencies.runWhenDurable(done)
  }

  get messages(): StoredMessages {
    return (this.#messages ??= createMessageStore(this.#gateway.dependencies, this.client.clientId))
  }

  deleteMessages(): void {
    this.#messages?.deleteAll()
  }

  onConnected(): void {
    this.#gateway.onConnected(this)
  }

  deleteTopicIds(topicIds: TopicIds): void {
    if (topicIds.store !== undefined) deleteTopicIds(this.#gateway.dependencies, this.client.clientId, topicIds)
  }

  onEnded(): void {
    this.isEnded = true
    this.#gateway.onEnded(this)
  }
}
