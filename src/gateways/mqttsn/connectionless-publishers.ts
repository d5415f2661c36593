// Publishes messages of QoS -1, which belong to no connection, as clients of their own, with the access rules of these clients:
//
//   over UDP                     NegQoS-Client
//   over DTLS, by the identity   NegQoS-Client-<digest of the identity>     with the credentials of this identity

import { hash } from 'node:crypto'
import { createConnectPacket } from '../../mqtt-client/index.ts'
import type { GatewayClient } from '../../core/index.ts'
import { type Packet, reasonCodes } from '../../protocol/index.ts'
import {
  type GatewayDependencies,
  type GatewayPublication,
  maxUnsentBytes,
  type MqttConnection,
  toPublishFields,
} from '../gateway.ts'
import type { PeerAddress } from '../../transports/index.ts'
import type { MqttSnSettings } from './model/mqttsn-settings.ts'

export const connectionlessClientId = 'NegQoS-Client'
const maxEarlyMessages = 1_000
/** Maximum identities with a connection; the one that was opened first is closed. */
const maxPublishers = 256
const digestLength = 16

export class ConnectionlessPublishers {
  readonly #settings: MqttSnSettings
  readonly #dependencies: GatewayDependencies
  /** By client ID. */
  readonly #publishers = new Map<string, ConnectionlessPublisher>()

  constructor(settings: MqttSnSettings, dependencies: GatewayDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
  }

  /** Returns false if too many messages are waiting. */
  publish(message: GatewayPublication, peer: PeerAddress): boolean {
    const clientId = selectClientId(peer)
    const publisher = this.#publishers.get(clientId) ?? this.#open(clientId, peer)
    return publisher.publish(message, peer)
  }

  close(): void {
    for (const publisher of this.#publishers.values()) publisher.close()
    this.#publishers.clear()
  }

  #open(clientId: string, peer: PeerAddress): ConnectionlessPublisher {
    const [oldest] = this.#publishers
    if (this.#publishers.size >= maxPublishers && oldest !== undefined) {
      this.#publishers.delete(oldest[0])
      oldest[1].close()
    }
    const publisher: ConnectionlessPublisher = new ConnectionlessPublisher(this.#settings, this.#dependencies, {
      clientId,
      peer,
      onClosed: () => {
        if (this.#publishers.get(clientId) === publisher) this.#publishers.delete(clientId)
      },
    })
    this.#publishers.set(clientId, publisher)
    return publisher
  }
}

function selectClientId({ secure }: PeerAddress): string {
  if (secure === undefined) return connectionlessClientId
  const digest = hash('sha256', secure.identity ?? '', 'hex').slice(0, digestLength)
  return `${connectionlessClientId}-${digest}`
}

class ConnectionlessPublisher implements GatewayClient {
  readonly #mqtt: MqttConnection
  #peer: PeerAddress
  #early: GatewayPublication[] | undefined = []

  constructor(
    { override }: MqttSnSettings,
    dependencies: GatewayDependencies,
    {
      clientId,
      peer,
      onClosed,
    }: { readonly clientId: string; readonly peer: PeerAddress; readonly onClosed: () => void },
  ) {
    this.#peer = peer
    const callbacks = { handlePacket: (packet: Packet) => this.#handlePacket(packet), handleClosed: onClosed }
    this.#mqtt = dependencies.openMqtt(peer, callbacks, this)
    const { username, password: text } = override
    const password = text === undefined ? undefined : Buffer.from(text)
    this.#mqtt.send(createConnectPacket({ version: 5, clientId, cleanStart: true, username, password }))
  }

  // For lists and rules by address: those of the latest message

  get address(): string {
    return this.#peer.address
  }

  get port(): number {
    return this.#peer.port
  }

  /** Returns false if too many messages are waiting. */
  publish(message: GatewayPublication, peer: PeerAddress): boolean {
    if (this.#early !== undefined) {
      if (this.#early.length >= maxEarlyMessages) return false
      this.#early.push({ ...message, payload: Buffer.from(message.payload) })
      return true
    }
    if (this.#mqtt.unsentBytes > maxUnsentBytes) return false
    if (this.#peer.address !== peer.address) {
      this.#peer = peer
      this.#mqtt.reportClientChange()
    }
    this.#mqtt.publish(toPublishFields(message))
    return true
  }

  close(): void {
    this.#mqtt.end({ type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined })
  }

  #handlePacket(packet: Packet): void {
    if (packet.type !== 'connack' || packet.reasonCode !== reasonCodes.success) return
    const early = this.#early ?? []
    this.#early = undefined
    for (const message of early) this.#mqtt.publish(toPublishFields(message))
  }
}
