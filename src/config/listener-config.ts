// Typed settings of listeners, as shards and transports take them. Settings that are taken unchanged are named by their entries in
// `settings/listeners.ts`.

import { readDefaultFields, readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import {
  certificateNames,
  type clientNames,
  clientRates,
  quicOptions,
  sharedListenerSettings,
  tlsOptions,
  webSocketSettings,
} from './settings/listeners.ts'
import type { SettingValues } from './settings/root.ts'

/** Settings of every kind of listener that its shards take as they are. */
export type ListenerFields = SettingFields<typeof sharedListenerSettings>

/** Settings of a listener that apply to each of its clients. */
export type ClientFields = SettingFields<typeof clientRates> & SettingFields<typeof clientNames>

interface CommonListenerConfig extends ListenerFields {
  readonly name: string
  /** Undefined: only a port is set; profile and node.defaultListenerAddress decide. */
  readonly host: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** Undefined: connections have no PROXY header. */
  readonly proxyProtocol: ProxyProtocolConfig | undefined
  /** For a listener that gets its connections from another listener: whether only this machine can reach that one. Undefined: the host of this listener decides. */
  readonly isOnlyReachedLocally?: boolean
}

export interface ProxyProtocolConfig {
  readonly timeoutMs: number
  /** Trusted addresses and networks; empty: all. */
  readonly trusted: readonly string[]
}

/** PEM files. */
export interface CertificateFilesConfig {
  /** With the certificates that signed it after it. */
  readonly certFile: string
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

/** A certificate for clients that request this host name; `*.example.org` stands for one level. */
export interface NamedCertificateFilesConfig extends CertificateFilesConfig {
  /** Its name in the configuration. */
  readonly name: string
  readonly serverName: string
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

/** Settings of a TLS listener. They name files, which are read again when they change. */
export interface TlsConfig extends SettingFields<typeof tlsOptions> {
  /** Undefined: for clients with a pre-shared key only. */
  readonly certificate: CertificateFilesConfig | undefined
  readonly byServerName: readonly NamedCertificateFilesConfig[]
  readonly minVersion: TlsVersion
  readonly maxVersion: TlsVersion
  /** Clients may use pre-shared keys: those of the file, and stored ones. */
  readonly acceptsPsk: boolean
}

/** Names of clients that their certificates contain. */
export type CertificateNames = SettingFields<typeof certificateNames>

/**
 * The part of a certificate that is a name: CN, the whole subject, the certificate itself (DER in base64, PEM), its
 * MD5.
 */
export type CertificateField = NonNullable<CertificateNames['peerCertificateAsUsername']>

interface SecureListenerConfig extends CommonListenerConfig, CertificateNames {
  readonly tls: TlsConfig
}

export interface WebSocketConfig extends SettingFields<typeof webSocketSettings> {
  readonly path: string
  /** Lower-case name of the header with the client's address; undefined: no proxy is trusted. */
  readonly addressHeader: string | undefined
  readonly maxMessageBytes: number
}

export interface QuicConfig extends SettingFields<typeof quicOptions> {
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
    ...selectEnabled(hasDefaultListener(listeners) ? tcp : undefined, tcp.named).map(
      ([name, values]): ListenerConfig => ({
        kind: 'tcp',
        ...toCommonConfig(name, values, limits),
      }),
    ),
    ...selectEnabled(ssl.isSetItself ? ssl : undefined, ssl.named).map(([name, values]): ListenerConfig => ({
      kind: 'ssl',
      ...toSecureConfig(name, values, limits),
    })),
    ...selectEnabled(ws.isSetItself ? ws : undefined, ws.named).map(([name, values]): ListenerConfig => ({
      kind: 'ws',
      ...toCommonConfig(name, values, limits),
      webSocket: toWebSocketConfig(values, mqtt),
    })),
    ...selectEnabled(wss.isSetItself ? wss : undefined, wss.named).map(([name, values]): ListenerConfig => ({
      kind: 'wss',
      ...toSecureConfig(name, inheritCertificate(ssl.named.get(name) ?? ssl, values), limits),
      webSocket: toWebSocketConfig(values, mqtt),
    })),
    ...selectEnabled(quic.isSetItself ? quic : undefined, quic.named).map(([name, values]): ListenerConfig => ({
      kind: 'quic',
      ...toSecureConfig(name, toTlsValues(values), limits),
      quic: toQuicConfig(values, mqtt),
    })),
  ]
}

/** Returns the enabled ones. `itself`: the settings next to the names, if they describe a listener. */
function selectEnabled<V extends { readonly enable: boolean }>(
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
    ...readDefaultFields(sharedListenerSettings),
    ...readSettingFields(clientRates, limits),
    maxConnections: maxDashboardClients,
    maxConnectionRate: dashboardClientsPerSecond,
    proxyProtocol: { timeoutMs: dashboardTimeoutMs, trusted: [] },
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

function toCommonConfig(name: string, values: CommonValues, limits: SettingValues['limits']): CommonListenerConfig {
  return {
    name,
    host: values.bind.host,
    port: values.bind.port,
    ...readSettingFields(sharedListenerSettings, values),
    ...lowerRates(readSettingFields(clientRates, values), readSettingFields(clientRates, limits)),
    proxyProtocol: values.proxy_protocol
      ? { timeoutMs: values.proxy_protocol_timeout, trusted: values.proxy_protocol_trusted }
      : undefined,
  }
}

type Rates = SettingFields<typeof clientRates>

/** Returns the lower limit of the listener and of the node for each rate. */
function lowerRates(listener: Rates, node: Rates): Rates {
  const names = Object.keys(listener) as (keyof Rates)[]
  return Object.fromEntries(names.map((name) => [name, selectLowerLimit(listener[name], node[name])])) as Rates
}

function selectLowerLimit(one: number | undefined, other: number | undefined): number | undefined {
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
    tls_versions: intersectVersions(wss.tls_versions, ssl.tls_versions),
    ciphers: wss.ciphers ?? ssl.ciphers,
    // It must not bypass the user name of a certificate.
    peer_cert_as_username: wss.peer_cert_as_username ?? ssl.peer_cert_as_username,
    peer_cert_as_clientid: wss.peer_cert_as_clientid ?? ssl.peer_cert_as_clientid,
  }
}

/** The first if they have none in common, because it is configured. */
function intersectVersions<T>(one: readonly T[], other: readonly T[]): readonly T[] {
  const common = one.filter((each) => other.includes(each))
  return common.length > 0 ? common : one
}

/** QUIC always uses TLS 1.3. */
function toTlsValues(values: QuicValues): TlsValues {
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
    ...readSettingFields(webSocketSettings, values),
    path: values.bind.path,
    addressHeader: values.proxy_address_header?.toLowerCase(),
    maxMessageBytes: values.max_frame_size ?? Math.max(mqtt.max_packet_size + extraMessageBytes, minMessageBytes),
  }
}

function toQuicConfig(values: QuicValues, mqtt: SettingValues['mqtt']): QuicConfig {
  return { ...readSettingFields(quicOptions, values), maxPacketBytes: mqtt.max_packet_size }
}

function toSecureConfig(name: string, values: TlsValues, limits: SettingValues['limits']): SecureListenerConfig {
  return {
    ...toCommonConfig(name, values, limits),
    ...readSettingFields(certificateNames, values),
    tls: toTlsConfig(values),
  }
}

/** From the settings of a TLS listener. */
export function toTlsConfig(values: Omit<TlsValues, keyof CommonValues>): TlsConfig {
  const { tls_versions: versions } = values
  return {
    ...readSettingFields(tlsOptions, values),
    certificate: toCertificate(values),
    byServerName: [...values.sni.named].map(([name, files]) => ({
      name,
      serverName: files.server_name ?? '',
      certFile: files.certfile ?? '',
      keyFile: files.keyfile ?? '',
      keyPassword: files.key_password,
    })),
    minVersion: versions.includes('tlsv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: versions.includes('tlsv1.3') ? 'TLSv1.3' : 'TLSv1.2',
    acceptsPsk: values.psk || values.psk_file !== undefined,
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
