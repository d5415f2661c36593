// Configured sockets of gateways, with their DTLS and TLS settings.

import { randomBytes } from 'node:crypto'
import { type GodwitConfig, toTlsConfig } from '../../config/index.ts'
import type { GatewayAssignment, GatewayType } from '../../shard/index.ts'
import {
  type DtlsSettings,
  findDtlsProblem,
  findTlsFilesProblem,
  findUnreadableTlsFiles,
} from '../../transports/index.ts'
import { toAbsoluteFiles } from '../listeners/listener-addresses.ts'

export type Gateway = GodwitConfig['gateways'][GatewayType]
type Named<Sockets> = Sockets extends { readonly named: ReadonlyMap<string, infer Value> } ? Value : never
type DatagramListeners = GodwitConfig['gateways']['coap']['listeners']
type StreamListeners = GodwitConfig['gateways']['stomp']['listeners']
type DtlsOptions = Named<DatagramListeners['dtls']>['dtls_options']

/** A configured socket of a gateway. */
export type GatewaySocket = { readonly name: string } & (
  | { readonly kind: 'udp'; readonly listener: Named<DatagramListeners['udp']> }
  | { readonly kind: 'dtls'; readonly listener: Named<DatagramListeners['dtls']> }
  | { readonly kind: 'tcp'; readonly listener: Named<StreamListeners['tcp']> }
  | { readonly kind: 'ssl'; readonly listener: Named<StreamListeners['ssl']> }
)

/** Returns the sockets of a gateway, in the order of the configuration. */
export function listSockets({ listeners }: Gateway): readonly GatewaySocket[] {
  if ('udp' in listeners) {
    const plain = [...listeners.udp.named].map(([name, listener]) => ({ kind: 'udp' as const, name, listener }))
    const secure = [...listeners.dtls.named].map(([name, listener]) => ({ kind: 'dtls' as const, name, listener }))
    return [...plain, ...secure]
  }
  const plain = [...listeners.tcp.named].map(([name, listener]) => ({ kind: 'tcp' as const, name, listener }))
  const secure = [...listeners.ssl.named].map(([name, listener]) => ({ kind: 'ssl' as const, name, listener }))
  return [...plain, ...secure]
}

export function isDatagramSocket({ kind }: Pick<GatewaySocket, 'kind'>): boolean {
  return kind === 'udp' || kind === 'dtls'
}

export interface SecurityProblem {
  /** The key below the socket. */
  readonly setting: string
  readonly message: string
}

/** Like `findSecurityProblem`, but reports all files that cannot be read. */
export function findSecurityProblems(socket: GatewaySocket): readonly SecurityProblem[] {
  const first = findSecurityProblem(socket)
  if (first === undefined) return []
  const unreadable = findUnreadableFiles(socket)
  return unreadable.some(({ message }) => message === first.message) ? unreadable : [first]
}

function findUnreadableFiles(socket: GatewaySocket): readonly SecurityProblem[] {
  if (socket.kind === 'ssl') return findUnreadableTlsFiles(toAbsoluteFiles(toTlsConfig(socket.listener)))
  if (socket.kind !== 'dtls') return []
  const problems = findUnreadableTlsFiles(toDtlsSettings(socket.listener.dtls_options).files)
  return problems.map(({ setting, message }) => ({ setting: `dtls_options.${setting}`, message }))
}

/** Returns why the files of a socket cannot be used; undefined: they can. */
export function findSecurityProblem(socket: GatewaySocket): SecurityProblem | undefined {
  if (socket.kind === 'dtls') {
    const problem = findDtlsProblem(toDtlsSettings(socket.listener.dtls_options))
    return problem === undefined ? undefined : { ...problem, setting: `dtls_options.${problem.setting}` }
  }
  if (socket.kind !== 'ssl') return undefined
  const { certfile, keyfile, psk, psk_file: pskFile } = socket.listener
  if (!psk && pskFile === undefined && (certfile === undefined || keyfile === undefined))
    return { setting: 'certfile', message: 'is missing; set certfile and keyfile, psk_file, or psk' }
  return findTlsFilesProblem(toAbsoluteFiles(toTlsConfig(socket.listener)))
}

/** Returns the security settings for the shard of the socket. */
export function toSecurity(socket: GatewaySocket): {
  readonly dtls?: DtlsSettings
  readonly listener: Partial<GatewayAssignment['listener']>
} {
  if (socket.kind !== 'dtls' && socket.kind !== 'ssl') return { listener: {} }
  const { listener } = socket
  const names = {
    peerCertificateAsUsername: listener.peer_cert_as_username,
    peerCertificateAsClientId: listener.peer_cert_as_clientid,
  }
  if (socket.kind === 'dtls') return { dtls: toDtlsSettings(socket.listener.dtls_options), listener: names }
  const tls = toAbsoluteFiles(toTlsConfig(socket.listener))
  return { listener: { ...names, tls, ticketSecret: randomBytes(32) } }
}

function toDtlsSettings(options: DtlsOptions): DtlsSettings {
  const { certfile, keyfile, key_password: keyPassword } = options
  const hasCertificate = certfile !== undefined || keyfile !== undefined
  return {
    files: toAbsoluteFiles({
      certificate: hasCertificate ? { certFile: certfile ?? '', keyFile: keyfile ?? '', keyPassword } : undefined,
      byServerName: [],
      caFile: options.cacertfile,
      crlFile: undefined,
      verifyPeer: options.verify === 'verify_peer',
      failIfNoPeerCertificate: options.fail_if_no_peer_cert,
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.2',
      ciphers: undefined,
      acceptsPsk: true,
      pskFile: options.psk_file,
      handshakeTimeoutMs: options.handshake_timeout,
    }),
    suites: options.ciphers,
    keys: options.psk,
    usesConnectionIds: options.connection_id,
  }
}
