// The connection of one client, as all modules see it. The driver creates it when a stream opens and finds the stream
// through `output`; outputs refer to it. The state of the connection is in `now`: `state/connection-state.ts` defines it, and only that
// file changes it.

import type { ClientFields, OptionalFields } from '../../config/index.ts'
import type { DeferredAck } from './deferred-ack.ts'
import type { ProtocolVersion, Topic } from '../../protocol/index.ts'
import type { RateLimiter, SendLimits } from './rate-limiter.ts'
import type { AuthorizationCache } from './authorization-cache.ts'

/** Properties that a connection inherits from its listener. */
export interface ListenerTraits extends OptionalFields<ClientFields> {
  readonly name: string
  /** Undefined if the listener has no port. */
  readonly port?: number | undefined
  readonly isLoopback: boolean
  /** Clients of the broker itself, which have no listener: see `messages/internal-clients.ts`. Limits of clients do not apply to them. */
  readonly isInternal?: boolean | undefined
  /** Authentication of its clients in place of the chain of the broker: `ListenerAuthentication` of the module access. */
  readonly authentication?: object | undefined
  /** Protocol of its clients if they use a gateway. */
  readonly gateway?: GatewayProtocolName | undefined
}

/** State of a client in its gateway beyond the session. The gateway changes it while the client is connected. */
export interface GatewayClient {
  /** MQTT-SN: the client announced a silence, and its messages are queued. */
  readonly isSleeping?: boolean | undefined
  /** If it is another one than that of the gateway: MQTT-SN 2.0. */
  readonly protocolVersion?: number | undefined
  /** LwM2M. */
  readonly endpointName?: string | undefined
  readonly lifetimeSeconds?: number | undefined
  /** Present address and port of a device, which may change while its connection stays open. Undefined: they do not change. */
  readonly address?: string | undefined
  readonly port?: number | undefined
}

/** Name and version in lists of clients, for example `MQTT-SN` and 1. */
export interface GatewayProtocolName {
  readonly name: 'MQTT-SN' | 'CoAP' | 'LwM2M' | 'STOMP'
  readonly version: number
}

/** Properties of a client that the transport knows before CONNECT. */
export interface ConnectionOrigin {
  readonly port: number
  /** From the certificate, if the listener is configured so. It replaces the client ID of CONNECT. */
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly certificate: CertificateTraits | undefined
  /** TLS-PSK: the identity of the client's key. */
  readonly pskIdentity: string | undefined
}

/** The verified certificate of a client. */
export interface CertificateTraits {
  readonly commonName: string | undefined
  /** RFC 4514, most specific first: `CN=device-7,O=Plant`. */
  readonly subject: string
  readonly serialNumber: string
  /** SHA-256, lower-case hex without colons. */
  readonly fingerprint: string
  readonly der: Uint8Array
}

export type ConnectionStateName =
  | 'awaiting-connect'
  | 'awaiting-authentication'
  | 'awaiting-auth'
  | 'open'
  | 'closing'
  | 'closed'

export class Connection {
  /** The driver's reference to the stream. The core never reads it. */
  readonly output: object
  readonly listener: ListenerTraits
  /** It changes for devices of gateways only: see `connect/follow-address.ts`. */
  peerAddress: string
  /** 0 if there is none. */
  peerPort: number
  /** Counted by the driver, in both directions, since it opened. */
  receivedBytes: number
  receivedPackets: number
  /** `receivedBytes` at the last visit while memory was short. */
  receivedAtLookBytes: number
  sentBytes: number
  sentPackets: number
  /** Undefined if the transport knows nothing more. */
  readonly origin: ConnectionOrigin | undefined
  /** Undefined if no gateway is used, or if the connection comes from another shard. */
  gatewayClient: GatewayClient | undefined
  now: { readonly state: ConnectionStateName }
  version: ProtocolVersion
  /** While true, the driver passes no further packets of this connection; also reported in `outputs.readerChanges`. */
  isPaused: boolean
  /** Reasons for the pause, as bits: see `outgoing/read-pause-reasons.ts`; 0: not paused. */
  readPauseReasons: number
  /** The client sends nothing more: the connection ends after the packets that wait were answered. */
  hasInputEnded: boolean
  /** 0: no keep alive. */
  keepAliveMs: number
  /** Time of the last packet, or of the last part of an incomplete one. */
  lastPacketAtMs: number
  /** Bytes handed to the driver and not reported as sent: an estimate between two reports. */
  unsentBytes: number
  /** No packet may overtake what waits for this batch (a CONNACK, a SUBACK). */
  sendsDeferredUntilBatch: number
  /** No acknowledgement may overtake one that waits for this batch. */
  acksDeferredUntilBatch: number
  /** Acknowledgements in order, of which the first waits for a peer; undefined if there are none. */
  deferredAcks: DeferredAck[] | undefined
  /** Number of QoS 1 and 2 PUBLISH packets from the client whose exchange is not complete. */
  unacknowledgedPublishes: number
  /** [MQTT5-3.1.2-29] The client accepts reason strings in all packets. */
  wantsProblemInformation: boolean
  /** The client's Maximum Packet Size; Infinity if it did not set one. */
  maximumPacketBytes: number
  /** Topic aliases towards the client; undefined until the first is used. */
  outgoingAliases: Map<Topic, number> | undefined
  /** The client's Topic Alias Maximum, or the broker's own limit if that is lower. */
  outgoingAliasMaximum: number
  /** Bytes of the topic names that have an alias, in both directions. */
  incomingAliasNameBytes: number
  outgoingAliasNameBytes: number
  /** Memory that aliases of both directions count for. */
  aliasBytes: number
  /** Prefix of every topic of its client, '' if there is none: see `mountpoint.ts`. */
  mountpoint: string
  /** Namespace of the client after it was accepted; undefined if it has none. */
  namespace: string | undefined
  /** Messages are sent unchanged: there are neither aliases nor a mount point. */
  isPlain: boolean
  /** Publications are accepted unchanged: there is neither a mount point nor a rate limit. */
  hasPlainPublishes: boolean
  /**
   * The client observes the Receive Maximum of CONNACK, and the broker may refuse a message with 0x97 if it cannot be
   * stored now. If false, the broker pauses reading instead: a 3.1 or 3.1.1 client cannot be told, and a bridge would
   * not send the message again.
   */
  canRefuseMessages: boolean
  /** A bridge with 3.1 or 3.1.1: its subscriptions behave as with No Local and Retain As Published. */
  hasNoLocal: boolean
  /**
   * Another identity took over the client ID (`auth.client_id_binding = none`), so the client did not end the
   * connection itself.
   */
  wasDisplaced: boolean
  /** With mqtt.retry_interval a packet was sent again, so two acknowledgements may arrive for it. */
  hasRedelivered: boolean
  /** Rate limit of the client's publications; undefined if there is none. */
  rateLimiter: RateLimiter | undefined
  /** Rate limits of what it is sent and subscribes to; undefined if there are none. */
  sendLimits: SendLimits | undefined
  /** Known permissions to publish; undefined before the first check. */
  authorizationCache: AuthorizationCache | undefined

  constructor(output: object, listener: ListenerTraits, peerAddress: string, origin?: ConnectionOrigin) {
    this.output = output
    this.listener = listener
    this.peerAddress = peerAddress
    this.peerPort = 0
    this.receivedBytes = 0
    this.receivedPackets = 0
    this.receivedAtLookBytes = 0
    this.sentBytes = 0
    this.sentPackets = 0
    this.origin = origin
    this.gatewayClient = undefined
    this.now = { state: 'awaiting-connect' }
    this.version = 4
    this.isPaused = false
    this.readPauseReasons = 0
    this.hasInputEnded = false
    this.keepAliveMs = 0
    this.lastPacketAtMs = 0
    this.unsentBytes = 0
    this.sendsDeferredUntilBatch = 0
    this.acksDeferredUntilBatch = 0
    this.deferredAcks = undefined
    this.unacknowledgedPublishes = 0
    this.wantsProblemInformation = true
    this.maximumPacketBytes = Infinity
    this.outgoingAliases = undefined
    this.outgoingAliasMaximum = 0
    this.incomingAliasNameBytes = 0
    this.outgoingAliasNameBytes = 0
    this.aliasBytes = 0
    this.mountpoint = ''
    this.namespace = undefined
    this.isPlain = true
    this.hasPlainPublishes = true
    this.canRefuseMessages = false
    this.hasNoLocal = false
    this.wasDisplaced = false
    this.hasRedelivered = false
    this.rateLimiter = undefined
    this.sendLimits = undefined
    this.authorizationCache = undefined
  }
}
