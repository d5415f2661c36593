// Outgoing TCP connections, and TLS over them.

import { connect as connectTcp, isIP, isIPv6, type Socket, type TcpNetConnectOpts } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { describeConnectionError, findInnermostError } from '../../telemetry/index.ts'
import { lookUpAllowedAddresses } from './address-guard.ts'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { type DialAttempt, type DialProblem, type DialTarget, formatHostPort } from './dial-attempt.ts'
import { type DialTlsSettings, readDialFiles } from './dial-files.ts'

export interface DialSocketSettings {
  readonly noDelay: boolean
  /** The system sends keep-alive probes after this time of silence; undefined: it does not. */
  readonly keepAliveAfterMs: number | undefined
  /** Network interface whose address is used; undefined: the system chooses. */
  readonly networkInterface: string | undefined
  readonly tls: DialTlsSettings
}

/** If a name has several addresses, the next one is tried after this time. */
const nextAddressAfterMs = 1_000

/** Opens a socket, with TLS if the target requires it. */
export function openSocket(
  target: DialTarget,
  settings: DialSocketSettings,
  attempt: DialAttempt,
  onOpen: (socket: Socket, address: ClientAddress) => void,
): void {
  const route = toConnectOptions(target, settings)
  if ('reason' in route) return attempt.fail(route)
  const isSecure = target.scheme === 'tls' || target.scheme === 'wss'
  const trust = isSecure ? readTlsOptions(target, settings.tls) : undefined
  if (trust !== undefined && 'reason' in trust) return attempt.fail(trust)
  const socket = trust === undefined ? connectTcp(route) : connectTls({ ...route, ...trust })
  const fail = (error: Error): void => attempt.fail(toDialProblem(error, target, isSecure))
  attempt.onFailure(() => socket.destroy())
  socket.on('error', fail)
  // A handshake that the remote side aborts may end without an error.
  const handleEnd = (): void => fail(new Error('the connection was closed'))
  socket.once('close', handleEnd)
  socket.once(isSecure ? 'secureConnect' : 'connect', () => {
    socket.off('close', handleEnd)
    // The error listener remains: until the next owner adds one, an error without a listener would end the thread.
    onOpen(socket, { address: socket.remoteAddress ?? target.host, port: target.port })
  })
}

function toConnectOptions(
  { host, port }: DialTarget,
  { noDelay, keepAliveAfterMs, networkInterface }: DialSocketSettings,
): TcpNetConnectOpts | DialProblem {
  const ways: TcpNetConnectOpts = {
    host,
    port,
    noDelay,
    lookup: lookUpAllowedAddresses,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
    ...(keepAliveAfterMs === undefined ? {} : { keepAlive: true, keepAliveInitialDelay: keepAliveAfterMs }),
  }
  if (networkInterface === undefined) return ways
  const wanted = isIPv6(host) ? 'IPv6' : 'IPv4'
  const own = networkInterfaces()[networkInterface]?.find(({ family }) => family === wanted)
  if (own !== undefined) return { ...ways, localAddress: own.address, family: wanted === 'IPv6' ? 6 : 4 }
  return { reason: 'address', message: `the network interface ${networkInterface} has no ${wanted} address` }
}

function readTlsOptions({ host }: DialTarget, settings: DialTlsSettings): ConnectionOptions | DialProblem {
  const files = readDialFiles(settings)
  if ('problem' in files) return { reason: 'files', message: files.problem }
  const { ca, identity } = files
  return {
    rejectUnauthorized: settings.verifyPeer,
    minVersion: 'TLSv1.2',
    // RFC 6066 3: an address is not a server name.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
  }
}

const addressErrorCodes = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL'])
const networkErrorCodes = new Set(['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'ETIMEDOUT', 'EACCES', 'EPERM'])

function toDialProblem(error: NodeJS.ErrnoException, target: DialTarget, isSecure: boolean): DialProblem {
  const { code = '' } = findInnermostError(error)
  const text = `${isSecure && isOfTls(code) ? 'the TLS handshake failed: ' : ''}${describeConnectionError(error, trust)}`
  const reason = addressErrorCodes.has(code) ? 'address' : isSecure && isOfTls(code) ? 'tls' : 'unreachable'
  return { reason, message: `${formatHostPort(target)}: ${text}` }
}

const trust = 'cacertfile'

function isOfTls(code: string): boolean {
  return !addressErrorCodes.has(code) && !networkErrorCodes.has(code)
}
