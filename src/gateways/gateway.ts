// Interfaces of gateways on both sides:
//
//   datagram --> gateway protocol --> MqttConnection --> the shard: a client like any other
//
// A gateway client has an MQTT 5.0 connection within the process. So authentication, access rules, limits, lists and metrics are those of
// every client. The protocols have no sockets; the clock is a parameter.

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
import type { PeerAddress } from '../transports/index.ts'
import type { ShardPlace } from './shard-place.ts'

/** The connection of a gateway client to this broker, with MQTT 5.0. */
export interface MqttConnection {
  send(packet: ControlPacket): void
  acknowledge(type: AckType, packetId: PacketId): void
  publish(fields: PublishFields): void
  /** Bytes that the broker has not read: above `maxUnsentBytes` a gateway refuses publications. */
  readonly unsentBytes: number
  /** Stops reading from the broker until `resume`; for the broker, the client is slow. */
  pause(): void
  resume(): void
  /** Called when properties of the client that lists show have changed. If its session belongs to another shard, that shard has a copy. */
  reportClientChange(): void
  /** Sends a last packet, if any, and closes. No callback follows. */
  end(goodbye: ControlPacket | undefined): void
}

export interface MqttConnectionCallbacks {
  handlePacket(packet: Packet): void
  /** The broker has read: `unsentBytes` has decreased. */
  handleWritten?(): void
  /** The broker has closed the connection. */
  handleClosed(): void
}

/** Limit of `unsentBytes`. It is reached when the broker stops reading: a rate limit, a failing disk, little memory. */
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
export function toPublishFields(publication: GatewayPublication): PublishFields {
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

/** `unproven`: the address has not proven that it receives what is sent to it. `banned`: it may not use the broker. */
export type DropReason =
  | 'malformed'
  | 'unconnected'
  | 'limit'
  | 'too-large'
  | 'queue-full'
  | 'not-registered'
  | 'banned'
  | 'unproven'

export interface GatewayCounters {
  received: number
  sent: number
  retransmitted: number
  readonly dropped: Record<DropReason, number>
}

export function createGatewayCounters(): GatewayCounters {
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
      banned: 0,
      unproven: 0,
    },
  }
}

export interface GatewayDependencies {
  nowMs(): number
  /** Returns a number from 0 up to 1, for times and identifiers that need not be secret. */
  random(): number
  /** Returns an unpredictable integer from 0 up to `limit`. */
  randomBelow(limit: number): number
  /** Sends one datagram, which may be lost. Stream gateways do not use it. */
  send(bytes: Buffer, peer: PeerAddress): void
  /** Returns false if a connection limit or the limit of new connections per second is reached. */
  hasSpace(): boolean
  /** `client`: state beyond the session, for lists; the protocol changes it. */
  openMqtt(peer: PeerAddress, callbacks: MqttConnectionCallbacks, client?: GatewayClient): MqttConnection
  /** Sets the time at which `tick` is called, instead of the earlier one. Infinity: never. */
  wakeAt(timeMs: number): void
  /** Limits per address, for all sockets of the listener together. Stream gateways do not use them. */
  readonly addresses: AddressLimits
  /** Whether a ban concerns this address. Asked for each datagram: a ban applies at once, also to a device that is known. */
  isBanned(address: string): boolean
  /** This shard, and the number of shards. */
  readonly place: ShardPlace
  /** Passes a datagram, which may be lost, to the shard of its client. */
  forward(shard: number, bytes: Buffer, peer: PeerAddress): void
  /**
   * Stores a value across restarts, by a name within this listener; undefined deletes it. The value is durable when a later
   * `runWhenDurable` calls back.
   */
  storeValue(name: string, value: string | undefined): void
  /** Calls back when all values stored so far are durable. Never, if the disk fails. */
  runWhenDurable(done: () => void): void
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
  /** Returns the last response to a command. */
  | { readonly kind: 'lwm2m-lookup'; readonly path: string; readonly action: string }
  /** `command`: as in the payload of an MQTT command. */
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
  /** Sends a request of the API to one client. Undefined: the listener on this shard has no such client. */
  request?(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined
  /** Called before the first datagram, with the stored values by name. */
  restore?(stored: ReadonlyMap<string, string>): void
  /** Ends all connections. Stored values remain. */
  close(): void
}

/** A gateway over UDP. */
export interface DatagramGateway extends GatewayProtocol {
  /** `isForwarded`: another shard received the datagram and passed it to this shard. */
  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded?: boolean): void
}

/** A gateway over TCP or TLS. */
export interface StreamGateway extends GatewayProtocol {
  accept(stream: GatewayStream): GatewayStreamCallbacks
}

/** One connection of a device. */
export interface GatewayStream {
  readonly peer: PeerAddress
  write(bytes: Buffer): void
  /** Bytes that the operating system has not accepted yet. */
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
  /** The client sends nothing more, but may read answers. Then the client ends the stream. */
  handleInputEnded(): void
  handleClosed(): void
}
