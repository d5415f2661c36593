// One client's connection as everybody sees it. The driver makes it when a stream opens and finds its own end of the
// stream in `outlet`; outputs name it. What the broker thinks of it stands in `now`, which only `connections/` reads
// in full (see `state/connection-state.ts`) and changes.

import type { DeferredAck } from './deferred-ack.ts'
import type { ProtocolVersion, Topic } from '../../protocol/index.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { AuthorizationCache } from './authorization-cache.ts'

/** What a connection inherits from the listener that it came through. */
export interface ListenerTraits {
  readonly name: string
  /** Undefined where there is none. */
  readonly port?: number | undefined
  readonly isLoopback: boolean
  /** Put before every topic of its clients; '' or undefined: nothing. */
  readonly mountpoint?: string | undefined
  /** Where its clients belong; undefined: it says nothing of that. */
  readonly namespace?: string | undefined
  /** What one client may publish and send in a second; undefined: no limit. */
  readonly messagesPerSecond?: number | undefined
  readonly bytesPerSecond?: number | undefined
  /** No listener: the bridges of this broker come in here. Limits that are for strangers do not hold for them. */
  readonly isBridge?: boolean | undefined
  /** What its clients speak, where it is not MQTT: they come by a gateway. */
  readonly gateway?: GatewayProtocolName | undefined
}

/** What the gateway of a client knows of it beside its session. The gateway changes it while the client is connected. */
export interface GatewayClient {
  /** MQTT-SN: it has said that it will be silent, and what comes for it waits. */
  readonly isSleeping?: boolean | undefined
  /** LwM2M. */
  readonly endpointName?: string | undefined
  readonly lifetimeSeconds?: number | undefined
}

/** As in lists of clients: `MQTT-SN` and 1. */
export interface GatewayProtocolName {
  readonly name: 'MQTT-SN' | 'CoAP' | 'LwM2M' | 'STOMP'
  readonly version: number
}

/** What the transport knows of a client before it has said a word. */
export interface ConnectionOrigin {
  readonly port: number
  /** From a certificate, where the listener says so: counts instead of what CONNECT says. */
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly certificate: CertificateTraits | undefined
  /** TLS-PSK: the identity whose key the client has. */
  readonly pskIdentity: string | undefined
}

/** The certificate of a client, verified. */
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
  | 'awaiting-verdict'
  | 'awaiting-auth'
  | 'open'
  | 'closing'
  | 'closed'

export class Connection {
  /** The driver's end: whatever it needs to find the stream again. The core never looks inside. */
  readonly output: object
  readonly listener: ListenerTraits
  readonly peerAddress: string
  /** 0 where there is none. */
  peerPort: number
  /** Counted by the driver, in both directions, since it opened. */
  receivedBytes: number
  receivedPackets: number
  /** `receivedBytes` when memory was short and the connection was looked at last. */
  receivedAtLookBytes: number
  sentBytes: number
  sentPackets: number
  /** Undefined where the transport knows nothing more. */
  readonly origin: ConnectionOrigin | undefined
  /** Undefined: it came by no gateway, or through another shard. */
  gatewayClient: GatewayClient | undefined
  now: { readonly state: ConnectionStateName }
  version: ProtocolVersion
  /** While true the driver hands over no further packet of this connection; told in `outputs.readers` as well. */
  isPaused: boolean
  /** Why it is paused, as bits: see `outgoing/read-pause-reasons.ts`. 0: it is not. */
  readPauseReasons: number
  /** 0: never times out. */
  keepAliveMs: number
  /** When the last packet came, or the last part of one that is under way. */
  lastPacketAtMs: number
  /** Bytes that were handed to the driver and have not been reported as sent: an estimate between two reports. */
  unsentBytes: number
  /** Nothing at all may pass what waits for this batch (a CONNACK, a SUBACK). */
  sendsDeferredUntilBatch: number
  /** No acknowledgement may pass one that waits for this batch. */
  acksDeferredUntilBatch: number
  /** Answers, in order, of which the first waits for another shard; undefined: none. */
  deferredAcks: DeferredAck[] | undefined
  /** PUBLISH packets of QoS 1 and 2 from the client that we have not answered for good. */
  unacknowledgedPublishes: number
  /** The client's Maximum Packet Size; Infinity where it has not said one. */
  maximumPacketBytes: number
  /** Ours towards the client, undefined until the first is used. */
  outgoingAliases: Map<Topic, number> | undefined
  /** The client's Topic Alias Maximum, or our own bound if that is less. */
  outgoingAliasMaximum: number
  /** Bytes of the names of topics with an alias, in each direction. */
  incomingAliasNameBytes: number
  outgoingAliasNameBytes: number
  /** What aliases of both directions count for in memory. */
  aliasBytes: number
  /** Before every topic of its client, '' where nothing is: see `mountpoint.ts`. */
  mountpoint: string
  /** That its client belongs to, once it is let in; undefined: none. */
  namespace: string | undefined
  /** Its messages go out with nothing added or changed: neither aliases nor a mount point are there. */
  isPlain: boolean
  /** What its client publishes is taken as it comes: neither a mount point nor a meter is there. */
  hasPlainPublishes: boolean
  /**
   * It keeps to what CONNACK says (Receive Maximum), and a message may be refused (0x97) where it cannot be kept now. Else
   * its client is not read from for a while: it is of 3.1 or 3.1.1 and cannot be told, or it is a bridge, behind which
   * nobody would send it again.
   */
  canRefuseMessages: boolean
  /** A bridge of 3.1 or 3.1.1: all its subscriptions are as if they were no-local and retain-as-published. */
  hasNoLocal: boolean
  /** Another identity took over its client ID (`auth.client_id_binding = none`): its end is not the client's doing. */
  wasDisplaced: boolean
  /** mqtt.retry_interval: something was sent again on it, so that two answers may come to one packet. */
  hasRedelivered: boolean
  /** What its client may publish in a second; undefined: as much as it likes. */
  rateLimiter: RateLimiter | undefined
  /** What its client may publish, as far as that has been asked; undefined until the first time. */
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
    this.keepAliveMs = 0
    this.lastPacketAtMs = 0
    this.unsentBytes = 0
    this.sendsDeferredUntilBatch = 0
    this.acksDeferredUntilBatch = 0
    this.deferredAcks = undefined
    this.unacknowledgedPublishes = 0
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
    this.authorizationCache = undefined
  }
}
