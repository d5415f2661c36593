// Interfaces of gateways on both sides:
//
//   datagram --> gateway protocol --> MqttConnection --> the shard: a client like any other
//
// A gateway client has an MQTT 5.0 connection within the process. So authentication, access rules, limits, lists and metrics are those of
// every client. The protocols have no sockets; the clock is a parameter.

import type { StreamCredentials } from '../transports/index.ts'
import type {
  AckType,
  ControlPacket,
  MessageProperties,
  Packet,
  PacketId,
  PublishFields,
  QoS,
  Topic,
} from '../protocol/index.ts'
import type { GatewayClient } from '../core/index.ts'
import type { AddressLimits } from './address-limits.ts'
import type { ShardPlace } from './shard-place.ts'

/** Source of a datagram, and destination of responses. */
export interface PeerAddress {
  /** Address as text, without brackets. */
  readonly address: string
  readonly port: number
  /** Over DTLS. */
  readonly secure?: SecurePeer | undefined
}

/** The association of a datagram. Two associations may have the same address and port only one after the other. */
export interface SecurePeer {
  /** Unique for the association. */
  readonly id: string
  /** The same for each association of the device; undefined: it has shown no credentials. */
  readonly identity: string | undefined
  readonly credentials: StreamCredentials
}

/** Key for maps of peers: another association is another peer. */
export function peerKey({ address, port, secure }: PeerAddress): string {
  return secure === undefined ? `${address}|${port}` : `${address}|${port}|${secure.id}`
}

export function isSamePeer(one: PeerAddress | undefined, other: PeerAddress): boolean {
  return one?.address === other.address && one.port === other.port && one.secure?.id === other.secure?.id
}

/** The peer as it is stored across a restart, which ends its association: the device returns with the same identity. */
export function keptPeer({ address, port, secure }: PeerAddress): PeerAddress {
  if (secure === undefined) return { address, port }
  const { identity, credentials } = secure
  const proven = { certificate: undefined, pskIdentity: credentials.pskIdentity }
  return { address, port, secure: { id: '', identity, credentials: proven } }
}

/** Returns whether a datagram from another address may be of the device that is known at `known` [F3]. */
export function mayBeSameDevice(known: PeerAddress, peer: PeerAddress): boolean {
  const [before, now] = [known.secure?.identity, peer.secure?.identity]
  return before === undefined && now === undefined ? known.address === peer.address : before === now
}

/** The connection of a gateway client to this broker, with MQTT 5.0. */
export interface MqttConnection {
  send(packet: ControlPacket): void
  acknowledge(type: AckType, packetId: PacketId): void
  publish(fields: PublishFields): void
  /** Bytes that the broker has not read: above `maxUnsentBytes` a gateway refuses publications. */
  readonly unsentBytes: number
  /** Stops reading from the broker until `resume`: it sees a slow client. */
  pause(): void
  resume(): void
  /** The properties of the client for lists have changed. The session may belong to another shard, which has a copy of them. */
  noteClientChanged(): void
  /** Sends a last packet, if any, and closes. No callback follows. */
  end(goodbye: ControlPacket | undefined): void
}

export interface MqttConnectionCallbacks {
  handlePacket(packet: Packet): void
  /** The broker has read: `unsentBytes` has decreased. */
  handleWritten?(): void
  /** The broker has closed it. */
  handleClosed(): void
}

/** Backpressure of the broker (a rate limit, a failing disk, short memory) affects the gateway client here. */
export const maxUnsentBytes = 1_048_576

export interface GatewayPublication {
  readonly topic: Topic
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly dup?: boolean
  /** 0 if `qos` is 0. */
  readonly packetId: PacketId
  readonly expirySeconds?: number | undefined
  readonly properties?: MessageProperties | undefined
}

/** Returns the PUBLISH of a gateway client, without fields that its protocol does not have. */
export function publishFieldsOf(publication: GatewayPublication): PublishFields {
  const { topic, payload, qos, retain, dup = false, packetId, expirySeconds, properties } = publication
  return {
    topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos,
    retain,
    dup,
    packetId,
    properties,
    messageExpiryIntervalSeconds: expirySeconds,
    subscriptionIdentifiers: undefined,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  }
}

export type DropReason = 'malformed' | 'unconnected' | 'limit' | 'too-large' | 'queue-full' | 'not-registered'

export interface GatewayCounters {
  received: number
  sent: number
  retransmitted: number
  readonly dropped: Record<DropReason, number>
}

export function newGatewayCounters(): GatewayCounters {
  return {
    received: 0,
    sent: 0,
    retransmitted: 0,
    dropped: {
      malformed: 0,
      unconnected: 0,
      limit: 0,
      'too-large': 0,
      'queue-full': 0,
      'not-registered': 0,
    },
  }
}

export interface GatewayDependencies {
  nowMs(): number
  /** From 0 up to 1, for times and numbers that need not be secret. */
  random(): number
  /** Sends one datagram. It may be lost. Not for streams. */
  send(bytes: Buffer, peer: PeerAddress): void
  /** Returns false if the node has the maximum of connections. */
  hasSpace(): boolean
  /** `client`: state beyond the session, for lists; the protocol changes it. */
  openMqtt(peer: PeerAddress, callbacks: MqttConnectionCallbacks, client?: GatewayClient): MqttConnection
  /** `tick` must be called at this time, which replaces the earlier one. Infinity: never. */
  wakeAt(timeMs: number): void
  /** Limits per address, for all sockets of the listener together. Not used for streams. */
  readonly addresses: AddressLimits
  /** This shard, and the number of shards. */
  readonly place: ShardPlace
  /** Passes a datagram to the shard of its client. It may be lost. */
  forward(shard: number, bytes: Buffer, peer: PeerAddress): void
  /**
   * Stores a value across restarts, by a name within this listener; undefined deletes it. It is durable when a later
   * `whenKept` calls back, which never happens if the disk fails.
   */
  keep(name: string, value: string | undefined): void
  whenKept(done: () => void): void
  readonly counters: GatewayCounters
}

/** A request of the API to one client. */
export type GatewayRequest =
  | {
      readonly kind: 'coap-request'
      readonly method: 'get' | 'post' | 'put' | 'delete'
      readonly token: string
      /** Content format of the payload; undefined: there is none. */
      readonly format: number | undefined
      readonly payload: Uint8Array
      readonly timeoutMs: number
    }
  /** The last response to a command. */
  | { readonly kind: 'lwm2m-lookup'; readonly path: string; readonly action: string }
  /** `command`: as over MQTT. */
  | { readonly kind: 'lwm2m-command'; readonly command: Readonly<Record<string, unknown>> }

export type GatewayResponse =
  | {
      readonly kind: 'coap-response'
      readonly messageId: number
      /** `2.05` */
      readonly code: string
      readonly payload: Uint8Array
    }
  /** `data` of the response; undefined: there is none. */
  | { readonly kind: 'lwm2m-response'; readonly response: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'accepted' }
  /** The client did not respond in time, or rejected the message. */
  | { readonly kind: 'no-response' }
  /** A sentence. */
  | { readonly kind: 'refused'; readonly problem: string }

/** One listener of a gateway. */
export interface GatewayProtocol {
  tick(): void
  /** Number of connected clients. */
  readonly clients: number
  /** Sends a request of the API to one client. Undefined: there is no such client here. */
  request?(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined
  /** Called before the first datagram, with the stored values by name. */
  restore?(kept: ReadonlyMap<string, string>): void
  /** Ends all connections. Stored values remain. */
  close(): void
}

/** Over UDP. */
export interface DatagramGateway extends GatewayProtocol {
  /** `isForwarded`: another shard has passed it on. */
  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded?: boolean): void
}

/** Over TCP or TLS. */
export interface StreamGateway extends GatewayProtocol {
  accept(stream: GatewayStream): GatewayStreamCallbacks
}

/** One connection of a device. */
export interface GatewayStream {
  readonly peer: PeerAddress
  write(bytes: Buffer): void
  /** Bytes that the system has not accepted yet. */
  readonly unsentBytes: number
  pause(): void
  resume(): void
  /** Closes after everything written was sent. */
  end(): void
}

export interface GatewayStreamCallbacks {
  /** The receiver owns the chunk. */
  handleBytes(chunk: Buffer): void
  /** `unsentBytes` has decreased. */
  handleWritten(): void
  handleClosed(): void
}
