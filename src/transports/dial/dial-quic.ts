// Outgoing QUIC connections. The library does the handshake; unsupported settings are reported when the configuration
// is read.

import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { lookUpAllowedAddresses } from './address-guard.ts'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { type DialAttempt, type DialTarget, formatHostPort } from './dial-attempt.ts'
import { type DialTlsSettings, readDialFiles } from './dial-files.ts'
import { DialedQuicConnection } from '../quic/dialed-quic-connection.ts'
import {
  loadQuicLibrary,
  mqttOverQuic,
  findQuicProblem,
  type QuicClientSession,
  quicRuntime,
} from '../quic/quic-library.ts'

export interface DialQuicSettings {
  /** Interval of PING frames; 0: none. */
  readonly keepAliveMs: number
  /** A connection without received data for this time is closed; 0: never. */
  readonly idleTimeoutMs: number
  /** Number of data streams over which topics are distributed; 0: everything uses the first stream. */
  readonly dataStreams: number
}

interface QuicDialSettings {
  readonly connectTimeoutMs: number
  readonly maxMessageBytes: number
  readonly tls: DialTlsSettings
  readonly quic: DialQuicSettings
}

const connectionWindowBytes = 10_000_000
const streamWindowBytes = 1_000_000

/** RFC 9001 4.8: an alert of TLS is a code of QUIC. */
const firstAlertCode = 0x100
const lastAlert = 0xff
/** RFC 8446 6. */
const badCertificate = 42
const unknownAuthority = 48
const noApplicationProtocol = 120

/** Opens a connection and its first stream. */
export function dialQuic(target: DialTarget, settings: QuicDialSettings, attempt: DialAttempt): void {
  openSession(target, settings, attempt).catch((error: Error) => {
    attempt.fail({ reason: 'unreachable', message: `${formatHostPort(target)}: QUIC: ${error.message}` })
  })
}

async function openSession(target: DialTarget, settings: QuicDialSettings, attempt: DialAttempt): Promise<void> {
  const problem = await findQuicProblem()
  if (problem !== undefined) return attempt.fail({ reason: 'no-quic', message: problem })
  const files = readDialFiles(settings.tls)
  if ('problem' in files) return attempt.fail({ reason: 'files', message: files.problem })
  const library = await loadQuicLibrary()
  const address = await resolveAddress(target.host)
  if (attempt.isSettled) return
  const { ca = getCACertificates('default').join('\n'), identity } = files
  const session = library.connectQuic(
    { address, port: target.port, servername: target.host },
    {
      ...quicRuntime,
      alpn: [mqttOverQuic],
      ca,
      ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
      rejectUnauthorized: settings.tls.verifyPeer,
      connectTimeoutMs: settings.connectTimeoutMs,
      maxIdleTimeoutMs: settings.quic.idleTimeoutMs,
      initialMaxData: connectionWindowBytes,
      initialMaxStreamDataBidiLocal: streamWindowBytes,
    },
  )
  session.on('error', ignore)
  session.on('close', ({ errorCode }) => {
    const alert = errorCode - firstAlertCode
    if (alert < 0 || alert > lastAlert) return
    attempt.fail({
      reason: 'tls',
      message: `${formatHostPort(target)}: the handshake failed: ${describeAlert(alert, target)}`,
    })
  })
  attempt.onFailure(() => void session.close())
  await session.ready()
  if (attempt.isSettled) return
  attempt.succeed(createStream(session, { address, port: target.port }, settings))
}

function createStream(
  session: QuicClientSession,
  address: ClientAddress,
  settings: QuicDialSettings,
): DialedQuicConnection {
  const { dataStreams, keepAliveMs } = settings.quic
  const connection = new DialedQuicConnection(session, {
    address,
    dataStreams,
    maxPacketBytes: settings.maxMessageBytes,
  })
  const pingTimer = keepAliveMs === 0 ? undefined : setInterval(() => session.ping(), keepAliveMs).unref()
  session.on('error', (error) => connection.recordError(error))
  session.on('close', () => {
    clearInterval(pingTimer)
    connection.handleClosed()
  })
  return connection
}

function describeAlert(alert: number, { host }: DialTarget): string {
  if (alert === unknownAuthority) return 'its certificate is not signed by a trusted authority'
  if (alert === noApplicationProtocol) return 'it does not support MQTT over QUIC (ALPN mqtt)'
  if (alert !== badCertificate) return `TLS alert ${alert}`
  // The library compares names only.
  return isIP(host) === 0
    ? `its certificate is not valid for the name ${host}`
    : 'over QUIC, certificates are verified for names only, not for addresses: use a host name'
}

function resolveAddress(host: string): Promise<string> {
  if (isIP(host) !== 0) return Promise.resolve(host)
  return new Promise((resolve, reject) => {
    lookUpAllowedAddresses(host, {}, (error, address) => {
      if (error === null && typeof address === 'string') resolve(address)
      else reject(error ?? new Error(`${host} cannot be looked up`))
    })
  })
}

const ignore = (): void => {}
