import type {
  AccessRule,
  CertificateField,
  ProxyProtocolConfig,
  QuicConfig,
  WebSocketConfig,
} from '../../config/index.ts'
import type { ListenerTraits, PeerNumber } from '../../core/index.ts'
import type { TlsSettings } from '../../transports/index.ts'

/** One listener of the node. Every shard opens it for itself; the kernel deals out the connections. */
export interface ShardListener extends ListenerTraits {
  /** Of this listener alone and never given again: by it shards tell each other what they mean. */
  readonly number: number
  readonly kind: 'tcp' | 'ssl' | 'ws' | 'wss' | 'quic' | 'udp' | 'dtls'
  /** As in the configuration: `default` for `listeners.tcp.bind`. */
  readonly name: string
  readonly host: string
  /** Never 0: the main thread has resolved it. */
  readonly port: number
  /** Connections through this listener; one more is accepted and closed at once. Undefined: no limit. */
  readonly maxConnections: number | undefined
  /** Made by `createSharedPlaces`: where all shards count its connections together. */
  readonly connectionSlots?: SharedArrayBuffer | undefined
  /** Made by `createListenerTable`; the shard writes its own row. Undefined: nobody looks. */
  readonly counts?: SharedArrayBuffer | undefined
  /** Nobody but this machine can reach it: what is not configured otherwise may be generous here. */
  readonly isLoopback: boolean
  /** The only shard that opens it; the others know it for the connections that are carried to them. Undefined: all do. */
  readonly onlyOnShard?: PeerNumber | undefined
  /** Other shards listen on the same port: SO_REUSEPORT is set. */
  readonly sharesPort: boolean
  /** New connections in a second on this shard; may be a fraction. Undefined: no limit. */
  readonly maxConnectionRate?: number | undefined
  readonly accessRules?: readonly AccessRule[]
  readonly proxyProtocol?: ProxyProtocolConfig | undefined
  /** ssl, wss, quic. File names are absolute. */
  readonly tls?: TlsSettings
  /** Of this listener alone, the same on all shards: what session tickets are sealed with is made of it. 32 random bytes. */
  readonly ticketSecret?: Uint8Array
  /** ws, wss. */
  readonly webSocket?: WebSocketConfig
  readonly quic?: QuicConfig
  readonly peerCertificateAsUsername?: CertificateField | undefined
  readonly peerCertificateAsClientId?: CertificateField | undefined
}
