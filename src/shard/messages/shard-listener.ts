import type {
  CertificateNames,
  ListenerFields,
  OptionalFields,
  ProxyProtocolConfig,
  QuicConfig,
  TlsConfig,
  WebSocketConfig,
} from '../../config/index.ts'
import type { ListenerTraits, PeerNumber } from '../../core/index.ts'

/** One listener of the node. Every shard opens it, and the kernel distributes the connections. */
export interface ShardListener
  extends
    ListenerTraits,
    OptionalFields<Omit<ListenerFields, keyof ListenerTraits | 'maxConnections'>>,
    OptionalFields<CertificateNames> {
  /** Unique and never reused: shards use it in messages to each other. */
  readonly number: number
  readonly kind: 'tcp' | 'ssl' | 'ws' | 'wss' | 'quic' | 'udp' | 'dtls'
  /** Name in the configuration: `default` for `listeners.tcp.default`. */
  readonly name: string
  readonly host: string
  /** Never 0: the main thread has chosen a port. */
  readonly port: number
  /** Maximum connections of this listener; further ones are accepted and closed at once. Undefined: no limit. */
  readonly maxConnections: number | undefined
  /** From `createConnectionSlots`: all shards count its connections together. */
  readonly connectionSlots?: SharedArrayBuffer | undefined
  /** From `createListenerTable`; the shard writes its own row. Undefined: not collected. */
  readonly counts?: SharedArrayBuffer | undefined
  /** Only this machine can reach it, so the defaults are less strict. */
  readonly isLoopback: boolean
  /** The only shard that opens it; the others know it because connections are relayed to them. Undefined: all do. */
  readonly onlyOnShard?: PeerNumber | undefined
  /** Other shards listen on the same port: SO_REUSEPORT is set. */
  readonly sharesPort: boolean
  /** New connections per second on this shard; may be a fraction. Undefined: no limit. */
  readonly maxConnectionRate?: number | undefined
  readonly proxyProtocol?: ProxyProtocolConfig | undefined
  /** For ssl, wss, quic. File names are absolute. */
  readonly tls?: TlsConfig
  /** 32 random bytes from which the keys of session tickets are derived. All shards have the same for this listener. */
  readonly ticketSecret?: Uint8Array
  /** For ws, wss. */
  readonly webSocket?: WebSocketConfig
  readonly quic?: QuicConfig
}
