// Typed settings of listeners. The transports define the parts that they need in the same shape and do not depend on
// this module.

import type { AccessRule } from './schema/access-rule.ts'
import type { SettingValues } from './settings/root.ts'

interface CommonListenerConfig {
  readonly name: string
  /** Undefined: only a port is set; profile and node.defaultListenerAddress decide. */
  readonly host: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** Undefined: no limit. */
  readonly maxConnections: number | undefined
  /** New connections per second; undefined: no limit. */
  readonly maxConnectionRate: number | undefined
  /** In order; the first match decides. */
  readonly accessRules: readonly AccessRule[]
  /** Undefined: connections have no PROXY header. */
  readonly proxyProtocol: ProxyProtocolConfig | undefined
  /** Messages per second that one client may publish: the lower limit of listener and node. Undefined: no limit. */
  readonly messagesPerSecond: number | undefined
  readonly bytesPerSecond: number | undefined
  /** Maximum number of messages to one client, and of its subscriptions, per second; undefined: no limit. */
  readonly deliveriesPerSecond: number | undefined
  readonly subscriptionsPerSecond: number | undefined
  /** Prefix of every topic of its clients; may be empty. */
  readonly mountpoint: string
  /** Namespace of its clients; undefined: not set by the listener. */
  readonly namespace: string | undefined
  /** For a listener that gets its connections from another listener: whether only this machine can reach that one. Undefined: the host of this listener decides. */
  readonly isOnlyReachedLocally?: boolean
}

export interface ProxyProtocolConfig {
  readonly timeoutMs: number
  /** Trusted addresses and networks; empty: all. */
  readonly trusted: readonly string[]
}

export interface CertificateFilesConfig {
  readonly certFile: string
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

export interface TlsConfig {
  /** Undefined: for clients with a pre-shared key only. */
  readonly certificate: CertificateFilesConfig | undefined
  /** `name`: its name in the configuration. */
  readonly byServerName: readonly (CertificateFilesConfig & { readonly name: string; readonly serverName: string })[]
  readonly caFile: string | undefined
  readonly crlFile: string | undefined
  readonly verifyPeer: boolean
  readonly failIfNoPeerCertificate: boolean
  readonly minVersion: TlsVersion
  readonly maxVersion: TlsVersion
  readonly ciphers: string | undefined
  /** Clients may use pre-shared keys: those of the file, and stored ones. */
  readonly acceptsPsk: boolean
  readonly pskFile: string | undefined
  readonly handshakeTimeoutMs: number
}

/**
 * The part of a certificate that is a name: CN, the whole subject, the certificate itself (DER in base64, PEM), its
 * MD5.
 */
export type CertificateField = 'cn' | 'dn' | 'crt' | 'pem' | 'md5'

interface SecureListenerConfig extends CommonListenerConfig {
  readonly tls: TlsConfig
  readonly peerCertificateAsUsername: CertificateField | undefined
  readonly peerCertificateAsClientId: CertificateField | undefined
}

export interface WebSocketConfig {
  readonly path: string
  /** Empty: all, but for a loopback listener only pages of this machine. */
  readonly allowedOrigins: readonly string[]
  readonly failsWithoutSubprotocol: boolean
  /** Lower-case; undefined: no proxy is trusted. */
  readonly addressHeader: string | undefined
  readonly maxMessageBytes: number
  readonly upgradeTimeoutMs: number
}

export interface QuicConfig {
  /** 0: never. */
  readonly idleTimeoutMs: number
  /** 0: never. */
  readonly keepAliveMs: number
  readonly checksAddresses: boolean
  /** In addition to the first one. */
  readonly maxDataStreams: number
  readonly streamTimeoutMs: number
  readonly maxPacketBytes: number
}

export type WebSocketListenerConfig = CommonListenerConfig & {
  readonly kind: 'ws'
  readonly webSocket: WebSocketConfig
}

export type ListenerConfig =
  | (CommonListenerConfig & { readonly kind: 'tcp' })
  | (SecureListenerConfig & { readonly kind: 'ssl' })
  | WebSocketListenerConfig
  | (SecureListenerConfig & { readonly kind: 'wss'; readonly webSocket: WebSocketConfig })
  | (SecureListenerConfig & { readonly kind: 'quic'; readonly quic: QuicConfig })

type Listeners = SettingValues['listeners']
type TcpValues = Omit<Listeners['tcp'], 'named' | 'isSet' | 'isSetItself'>
type SslValues = Omit<Listeners['ssl'], 'named' | 'isSet' | 'isSetItself'>
type WsValues = Omit<Listeners['ws'], 'named' | 'isSet' | 'isSetItself'>
type WssValues = Omit<Listeners['wss'], 'named' | 'isSet' | 'isSetItself'>
type QuicValues = Omit<Listeners['quic'], 'named' | 'isSet' | 'isSetItself'>
type CommonValues = Omit<TcpValues, 'bind'> & { readonly bind: Pick<TcpValues['bind'], 'host' | 'port'> }
type TlsValues = CommonValues &
  Omit<SslValues, 'bind' | 'sni'> & { readonly sni: { readonly named: SslValues['sni']['named'] } }

/**
 * Returns the enabled listeners or, if none is configured, the default one. `listeners.tcp.bind` and other settings
 * next to it are those of the listener `default`.
 */
export function toListeners({ listeners, limits, mqtt }: SettingValues): ListenerConfig[] {
  const { tcp, ssl, ws, wss, quic } = listeners
  return [
    ...described(hasDefaultListener(listeners) ? tcp : undefined, tcp.named).map(([name, values]): ListenerConfig => ({
      kind: 'tcp',
      ...commonConfig(name, values, limits),
    })),
    ...described(ssl.isSetItself ? ssl : undefined, ssl.named).map(([name, values]): ListenerConfig => ({
      kind: 'ssl',
      ...secureConfig(name, values, limits),
    })),
    ...described(ws.isSetItself ? ws : undefined, ws.named).map(([name, values]): ListenerConfig => ({
      kind: 'ws',
      ...commonConfig(name, values, limits),
      webSocket: toWebSocketConfig(values, mqtt),
    })),
    ...described(wss.isSetItself ? wss : undefined, wss.named).map(([name, values]): ListenerConfig => ({
      kind: 'wss',
      ...secureConfig(name, inheritCertificate(ssl.named.get(name) ?? ssl, values), limits),
      webSocket: toWebSocketConfig(values, mqtt),
    })),
    ...described(quic.isSetItself ? quic : undefined, quic.named).map(([name, values]): ListenerConfig => ({
      kind: 'quic',
      ...secureConfig(name, asTlsValues(values), limits),
      quic: toQuicConfig(values, mqtt),
    })),
  ]
}

/** Returns the enabled ones. `itself`: the settings next to the names, if they describe a listener. */
function described<V extends { readonly enable: boolean }>(
  itself: V | undefined,
  named: ReadonlyMap<string, V>,
): readonly (readonly [string, V])[] {
  const all: (readonly [string, V])[] = itself === undefined ? [] : [['default', itself]]
  return [...all, ...named].filter(([, values]) => values.enable)
}

/** Name of the listener by which the WebSocket client of the dashboard comes. */
export const dashboardListenerName = 'dashboard'

const maxDashboardClients = 100
const dashboardClientsPerSecond = 50
const dashboardTimeoutMs = 5_000

/**
 * Clients of the dashboard's page. The API has checked their origin and says their address in a PROXY header. Host and port are of no
 * network: the node decides where the API reaches it.
 */
export function toDashboardListener({ listeners, limits, mqtt }: SettingValues): WebSocketListenerConfig {
  return {
    kind: 'ws',
    name: dashboardListenerName,
    host: undefined,
    port: 0,
    maxConnections: maxDashboardClients,
    maxConnectionRate: dashboardClientsPerSecond,
    accessRules: [],
    proxyProtocol: { timeoutMs: dashboardTimeoutMs, trusted: [] },
    messagesPerSecond: limits.messages_rate,
    bytesPerSecond: limits.bytes_rate,
    deliveriesPerSecond: limits.deliveries_rate,
    subscriptionsPerSecond: limits.subscriptions_rate,
    mountpoint: '',
    namespace: undefined,
    webSocket: {
      ...toWebSocketConfig(listeners.ws, mqtt),
      path: '/mqtt',
      allowedOrigins: ['*'],
      failsWithoutSubprotocol: true,
      addressHeader: undefined,
      upgradeTimeoutMs: dashboardTimeoutMs,
    },
  }
}

function hasDefaultListener({ tcp, ssl, ws, wss, quic }: Listeners): boolean {
  // If only TLS listeners are configured, an unencrypted default listener must not be opened.
  const isAnyDescribed = [tcp, ssl, ws, wss, quic].some((kind) => kind.isSet)
  return !isAnyDescribed || tcp.isSetItself
}

function commonConfig(name: string, values: CommonValues, limits: SettingValues['limits']): CommonListenerConfig {
  return {
    name,
    host: values.bind.host,
    port: values.bind.port,
    maxConnections: values.max_connections,
    maxConnectionRate: values.max_connection_rate,
    accessRules: values.access_rules,
    proxyProtocol: values.proxy_protocol
      ? { timeoutMs: values.proxy_protocol_timeout, trusted: values.proxy_protocol_trusted }
      : undefined,
    messagesPerSecond: lowerLimit(values.messages_rate, limits.messages_rate),
    bytesPerSecond: lowerLimit(values.bytes_rate, limits.bytes_rate),
    deliveriesPerSecond: lowerLimit(values.deliveries_rate, limits.deliveries_rate),
    subscriptionsPerSecond: lowerLimit(values.subscriptions_rate, limits.subscriptions_rate),
    mountpoint: values.mountpoint,
    namespace: values.namespace,
  }
}

function lowerLimit(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

/**
 * A wss listener without a certificate uses the settings of ssl. If ssl requires client certificates, they are required
 * for wss as well: the stricter setting applies.
 */
function inheritCertificate(ssl: SslValues, wss: WssValues): WssValues {
  if (wss.certfile !== undefined || wss.keyfile !== undefined || wss.psk_file !== undefined) return wss
  return {
    ...wss,
    certfile: ssl.certfile,
    keyfile: ssl.keyfile,
    key_password: ssl.key_password,
    psk: wss.psk || ssl.psk,
    psk_file: ssl.psk_file,
    sni: wss.sni.named.size > 0 ? wss.sni : ssl.sni,
    cacertfile: wss.cacertfile ?? ssl.cacertfile,
    crlfile: wss.crlfile ?? ssl.crlfile,
    verify_peer: wss.verify_peer || ssl.verify_peer,
    fail_if_no_peer_cert: wss.fail_if_no_peer_cert || ssl.fail_if_no_peer_cert,
    tls_versions: commonVersions(wss.tls_versions, ssl.tls_versions),
    ciphers: wss.ciphers ?? ssl.ciphers,
    // It must not bypass the user name of a certificate.
    peer_cert_as_username: wss.peer_cert_as_username ?? ssl.peer_cert_as_username,
    peer_cert_as_clientid: wss.peer_cert_as_clientid ?? ssl.peer_cert_as_clientid,
  }
}

/** The first if they have none in common, because it is configured. */
function commonVersions<T>(one: readonly T[], other: readonly T[]): readonly T[] {
  const common = one.filter((each) => other.includes(each))
  return common.length > 0 ? common : one
}

/** QUIC always uses TLS 1.3. */
function asTlsValues(values: QuicValues): TlsValues {
  return {
    ...values,
    tls_versions: ['tlsv1.3'],
    ciphers: undefined,
    psk: false,
    psk_file: undefined,
    sni: { named: new Map() },
  }
}

/** Clients may put several packets into one message, so a message may be larger than the largest packet. */
const extraMessageBytes = 65_536
const minMessageBytes = 1_048_576

function toWebSocketConfig(values: WsValues, mqtt: SettingValues['mqtt']): WebSocketConfig {
  return {
    path: values.bind.path,
    allowedOrigins: values.allow_origins,
    failsWithoutSubprotocol: values.fail_if_no_subprotocol,
    addressHeader: values.proxy_address_header?.toLowerCase(),
    maxMessageBytes: values.max_frame_size ?? Math.max(mqtt.max_packet_size + extraMessageBytes, minMessageBytes),
    upgradeTimeoutMs: values.upgrade_timeout,
  }
}

function toQuicConfig(values: QuicValues, mqtt: SettingValues['mqtt']): QuicConfig {
  return {
    idleTimeoutMs: values.idle_timeout,
    keepAliveMs: values.keepalive_interval,
    checksAddresses: values.address_validation,
    maxDataStreams: values.max_streams,
    streamTimeoutMs: values.handshake_timeout,
    maxPacketBytes: mqtt.max_packet_size,
  }
}

function secureConfig(name: string, values: TlsValues, limits: SettingValues['limits']): SecureListenerConfig {
  return {
    ...commonConfig(name, values, limits),
    tls: toTlsConfig(values),
    peerCertificateAsUsername: values.peer_cert_as_username,
    peerCertificateAsClientId: values.peer_cert_as_clientid,
  }
}

/** From the settings of a TLS listener. */
export function toTlsConfig(values: Omit<TlsValues, keyof CommonValues>): TlsConfig {
  const { tls_versions: versions } = values
  return {
    certificate: toCertificate(values),
    byServerName: [...values.sni.named].map(([name, files]) => ({
      name,
      serverName: files.server_name ?? '',
      certFile: files.certfile ?? '',
      keyFile: files.keyfile ?? '',
      keyPassword: files.key_password,
    })),
    caFile: values.cacertfile,
    crlFile: values.crlfile,
    verifyPeer: values.verify_peer,
    failIfNoPeerCertificate: values.fail_if_no_peer_cert,
    minVersion: versions.includes('tlsv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: versions.includes('tlsv1.3') ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: values.ciphers,
    acceptsPsk: values.psk || values.psk_file !== undefined,
    pskFile: values.psk_file,
    handshakeTimeoutMs: values.handshake_timeout,
  }
}

/** `checkListeners` reports a missing part of a pair. */
function toCertificate(
  values: Pick<SslValues, 'certfile' | 'keyfile' | 'key_password'>,
): CertificateFilesConfig | undefined {
  const { certfile, keyfile, key_password: keyPassword } = values
  if (certfile === undefined && keyfile === undefined) return undefined
  return { certFile: certfile ?? '', keyFile: keyfile ?? '', keyPassword }
}
