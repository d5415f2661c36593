// A UDP socket with DTLS: its user sees datagrams of devices that completed the handshake.

import { randomBytes } from 'node:crypto'
import { DtlsServer, type DtlsSession } from '../../../lib/dtls/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { type DtlsProblem, type DtlsSettings, loadDtlsCredentials } from '../certificates/dtls-files.ts'
import { computeFileStamp } from '../certificates/tls-files.ts'
import { isLoopback } from '../limits/loopback.ts'
import type { PeerAddress, SecurePeer } from '../udp/peer-address.ts'
import { openUdp, type UdpOptions, type UdpSocket } from '../udp/udp-socket.ts'

/** Interval between checks for changed certificate files. */
const fileCheckMs = 5_000
/** Maximum DTLS associations per client: a device whose address has changed opens another one. */
const sessionsPerClient = 2
const ticketBytes = 8

/** A timer for deadlines: see `DeadlineTimer` of a shard. */
export interface DtlsTimer {
  schedule(timeMs: number, nowMs: () => number): void
  /** Called before the deadlines are checked. */
  begin(): void
  stop(): void
}

export interface DtlsSocketOptions extends Pick<UdpOptions, 'host' | 'port' | 'accessRules' | 'onFault'> {
  readonly settings: DtlsSettings
  readonly maxClients: number
  readonly log: Log
  readonly nowMs: () => number
  readonly createTimer: (onDue: () => void) => DtlsTimer
  /** Runs callbacks of the socket, and handles their internal errors. */
  readonly guarded: (work: () => void) => void
  readonly findStoredKey: (identity: string) => Uint8Array | undefined
  /** Called when changed files cannot be used: the previous ones stay in use, unless it says otherwise. Undefined: the current files are in use. */
  readonly onProblem: (problem: DtlsProblem | undefined) => void
  readonly onDatagram: (bytes: Buffer, peer: PeerAddress) => void
}

export interface DtlsSocket extends Pick<UdpSocket, 'port' | 'close'> {
  /** Sends to a peer of `onDatagram`. */
  sendTo(bytes: Buffer, peer: PeerAddress): void
  /** Reads changed files now instead of at the next interval. */
  reload(): Promise<void>
}

export async function openDtls(options: DtlsSocketOptions): Promise<DtlsSocket> {
  const { settings, nowMs, guarded } = options
  const loading = loadDtlsCredentials(settings, options.findStoredKey)
  if ('problem' in loading) throw new Error(`${loading.problem.setting}: ${loading.problem.message}`)
  const peers = new Map<DtlsSession, PeerAddress>()
  const sessions = new Map<string, DtlsSession>()
  const timer = options.createTimer(() =>
    guarded(() => {
      timer.begin()
      server.tick()
    }),
  )
  let socket: UdpSocket | undefined
  const limits = {
    handshakeTimeoutMs: settings.files.handshakeTimeoutMs,
    usesConnectionIds: settings.usesConnectionIds,
    maxSessions: options.maxClients * sessionsPerClient,
  }
  const server = new DtlsServer(limits, loading.credentials, {
    nowMs,
    random: randomBytes,
    send: (bytes, { address, port }) => socket?.send(bytes, address, port),
    wakeAt: (timeMs) => timer.schedule(timeMs, nowMs),
    isUnlimited: isLoopback,
    onOpen: (session) => {
      const secure = toSecurePeer(session)
      peers.set(session, { ...session.peer, secure })
      sessions.set(secure.id, session)
    },
    onMessage: (session, bytes) => {
      const peer = peers.get(session)
      if (peer === undefined) return
      const { address, port } = session.peer
      if (peer.address === address && peer.port === port) return options.onDatagram(bytes, peer)
      // A client with a connection ID has moved.
      const moved = { ...peer, address, port }
      peers.set(session, moved)
      options.onDatagram(bytes, moved)
    },
    onClosed: (session) => {
      sessions.delete(peers.get(session)?.secure?.id ?? '')
      peers.delete(session)
    },
    onRefused: ({ address }, why) => options.log.debug('DTLS handshake failed', { address, why }),
  })
  socket = await openUdp({
    sharesPort: false,
    ...options,
    onDatagram: (bytes, address, port) => guarded(() => server.handleDatagram(bytes, { address, port })),
  })
  const files = watchFiles(options, server)
  const opened = socket
  return {
    port: opened.port,
    sendTo: (bytes, { secure }) => sessions.get(secure?.id ?? '')?.send(bytes),
    reload: () => files.check(),
    close: () => {
      files.stop()
      timer.stop()
      server.close()
      return opened.close()
    },
  }
}

function toSecurePeer({ credentials, sessionId, peer: openedAt }: DtlsSession): SecurePeer {
  const { pskIdentity, certificate } = credentials
  const ofCertificate = certificate === undefined ? undefined : `certificate ${certificate.fingerprint}`
  const identity = pskIdentity === undefined ? ofCertificate : `psk ${pskIdentity}`
  return { id: randomBytes(ticketBytes).toString('hex'), identity, credentials, sessionId, openedAt }
}

/** Checks the files at intervals. Changed files are used for later handshakes. */
function watchFiles(
  { settings, findStoredKey, onProblem, guarded }: DtlsSocketOptions,
  server: DtlsServer,
): { readonly check: () => Promise<void>; readonly stop: () => void } {
  let stamp: string | undefined
  const check = async (): Promise<void> => {
    const now = await computeFileStamp(settings.files)
    const isFirst = stamp === undefined
    if (stamp === now) return
    stamp = now
    const loading = loadDtlsCredentials(settings, findStoredKey)
    const problem = 'problem' in loading ? loading.problem : loading.warning
    if (!isFirst || problem !== undefined) onProblem(problem)
    if ('credentials' in loading) guarded(() => server.setCredentials(loading.credentials))
  }
  void check()
  const timer = setInterval(() => void check(), fileCheckMs).unref()
  return { check, stop: () => clearInterval(timer) }
}
