// What every gateway is made of, seen from both sides:
//
//   datagram --> gateway protocol --> MqttConnection --> the shard: a client like any other
//
// A gateway client has a connection of MQTT 5.0 within the process. Authentication, access rules, limits, lists and metrics
// are therefore those of every client. The protocols know no sockets and no clock but the one that is given here.

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

/** Where a datagram came from, and where answers go. */
export interface PeerAddress {
  /** As text, without brackets. */
  readonly address: string
  readonly port: number
  /** Over DTLS. */
  readonly secure?: SecurePeer | undefined
}

/** The association that a datagram came by. Two have the same address and port only one after the other. */
export interface SecurePeer {
  /** Of this association alone. */
  readonly id: string
  /** The same whenever the device comes again; undefined: it has shown nothing. */
  readonly identity: string | undefined
  readonly credentials: StreamCredentials
}

/** For maps of peers: what came by another association is of another one. */
export function peerKey({ address, port, secure }: PeerAddress): string {
  return secure === undefined ? `${address}|${port}` : `${address}|${port}|${secure.id}`
}

/** As it is kept across a restart, with which its association ends: when the device comes again, it has the same identity. */
export function keptPeer({ address, port, secure }: PeerAddress): PeerAddress {
  if (secure === undefined) return { address, port }
  const { identity, credentials } = secure
  const proven = { certificate: undefined, pskIdentity: credentials.pskIdentity }
  return { address, port, secure: { id: '', identity, credentials: proven } }
}

/** Whether a datagram from elsewhere may be of the device that is known at `known` [F3]. */
export function mayBeSameDevice(known: PeerAddress, peer: PeerAddress): boolean {
  const [before, now] = [known.secure?.identity, peer.secure?.identity]
  return before === undefined && now === undefined ? known.address === peer.address : before === now
}

/** The connection of a gateway client to this broker. It speaks MQTT 5.0. */
export interface MqttConnection {
  send(packet: ControlPacket): void
  acknowledge(type: AckType, packetId: PacketId): void
  publish(fields: PublishFields): void
  /** Bytes that the broker has not read yet: above `maxUnsentBytes` a gateway refuses what its client publishes. */
  readonly unsentBytes: number
  /** Nothing is read of the broker until `resume`: it treats the client as one that does not read. */
  pause(): void
  resume(): void
  /** Says a last word, if there is one, and closes. Nothing more is heard of it. */
  end(goodbye: ControlPacket | undefined): void
}

export interface MqttConnectionCallbacks {
  handlePacket(packet: Packet): void
  /** The broker has read something: `unsentBytes` is less. */
  handleWritten?(): void
  /** The broker has closed it. */
  handleClosed(): void
}

/** A broker that does not read (the rate of a client, a disk that fails, short memory) holds its gateway client up here. */
export const maxUnsentBytes = 1_048_576

export interface GatewayPublication {
  readonly topic: Topic
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly dup?: boolean
  /** 0 where `qos` is 0. */
  readonly packetId: PacketId
  readonly expirySeconds?: number | undefined
  readonly properties?: MessageProperties | undefined
}

/** The PUBLISH of a gateway client: what its protocol cannot say is left out. */
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
  /** Sends one datagram. It may be lost. Not for streams. */
  send(bytes: Buffer, peer: PeerAddress): void
  /** False: the node has as many connections as it may have. */
  hasRoom(): boolean
  /** `client`: what is shown of it beside its session; the protocol changes it. */
  openMqtt(peer: PeerAddress, callbacks: MqttConnectionCallbacks, client?: GatewayClient): MqttConnection
  /** `tick` is to be called at this time; it replaces what was said before. Infinity: at no time. */
  wakeAt(timeMs: number): void
  /** Of all sockets of the listener. Not for streams. */
  readonly addresses: AddressLimits
  /** This shard among all of them. */
  readonly place: ShardPlace
  /** Passes a datagram on to the shard that has its client. It may be lost. */
  forward(shard: number, bytes: Buffer, peer: PeerAddress): void
  /**
   * Keeps something across restarts, by a name that is this listener's own; undefined: no longer. It is on disk when what
   * is given to `whenKept` afterwards is called, which is never where the disk fails.
   */
  keep(name: string, value: string | undefined): void
  whenKept(done: () => void): void
  readonly counters: GatewayCounters
}

/** What the operator asks of one client. */
export type GatewayRequest =
  | {
      readonly kind: 'coap-request'
      readonly method: 'get' | 'post' | 'put' | 'delete'
      readonly token: string
      /** Of the payload; undefined: it has none. */
      readonly format: number | undefined
      readonly payload: Uint8Array
      readonly timeoutMs: number
    }
  /** The last answer to a command. */
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
  /** `data` of the answer; undefined: there is none. */
  | { readonly kind: 'lwm2m-answer'; readonly answer: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'accepted' }
  /** The client has not answered in time, or has rejected the message. */
  | { readonly kind: 'unanswered' }
  /** A sentence. */
  | { readonly kind: 'refused'; readonly problem: string }

/** One listener of a gateway. */
export interface GatewayProtocol {
  tick(): void
  /** Clients that are connected. */
  readonly clients: number
  /** Something for one client, of the operator. Undefined: there is no such client here. */
  request?(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined
  /** Before the first datagram: what was kept, by name. */
  restore?(kept: ReadonlyMap<string, string>): void
  /** Ends all connections. What is kept stays. */
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
  /** Bytes that the system has not taken yet. */
  readonly unsentBytes: number
  pause(): void
  resume(): void
  /** Closes once what was written has left. */
  end(): void
}

export interface GatewayStreamCallbacks {
  /** The chunk belongs to the receiver. */
  handleBytes(chunk: Buffer): void
  /** `unsentBytes` is less. */
  handleWritten(): void
  handleClosed(): void
}
