// A DTLS echo server on a real socket, and other DTLS clients for it.

import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { cipherSuites } from '../../lib/dtls/cipher-suites.ts'
import type { DtlsCredentials } from '../../lib/dtls/dtls-credentials.ts'
import { DtlsServer, type DtlsSession } from '../../lib/dtls/dtls-server.ts'
import { runProgram, type Scope, type WatchedProcess } from '../e2e/godwit-process.ts'
import type { Named } from '../transports/certificates.ts'

export const identity = 'sensor-1'
export const key = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')

export const keyCredentials: DtlsCredentials = {
  suites: cipherSuites,
  certificate: undefined,
  clients: undefined,
  findKey: (name) => (name === identity ? key : undefined),
}

export function certificateOf({ certificate, key: pem }: Named): NonNullable<DtlsCredentials['certificate']> {
  return { chain: [new X509Certificate(certificate).raw], key: createPrivateKey(pem) }
}

export interface EchoServer {
  readonly port: number
  readonly opened: DtlsSession[]
  readonly refused: string[]
  readonly closed: DtlsSession[]
  /** Resolves when this number of handshakes has failed. */
  untilRefused(count: number): Promise<void>
}

export async function startEcho(
  t: Scope,
  credentials: DtlsCredentials,
  handshakeTimeoutMs = 15_000,
): Promise<EchoServer> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  let timer: NodeJS.Timeout | undefined
  const events = new EventEmitter()
  const echo: EchoServer = {
    port: socket.address().port,
    opened: [],
    refused: [],
    closed: [],
    async untilRefused(count) {
      while (echo.refused.length < count) await once(events, 'refused')
    },
  }
  const settings = { handshakeTimeoutMs, usesConnectionIds: false, maxSessions: 100 }
  const server = new DtlsServer(settings, credentials, {
    nowMs: () => Date.now(),
    random: randomBytes,
    send: (datagram, peer) => socket.send(datagram, peer.port, peer.address),
    wakeAt: (timeMs) => {
      clearTimeout(timer)
      if (timeMs !== Infinity) timer = setTimeout(() => server.tick(), timeMs - Date.now() + 1)
    },
    isUnlimited: () => true,
    onOpen: (session) => echo.opened.push(session),
    onMessage: (session, bytes) => session.send(Buffer.concat([Buffer.from('echo '), bytes])),
    onClosed: (session) => echo.closed.push(session),
    onRefused: (_, why) => {
      echo.refused.push(why)
      events.emit('refused')
    },
  })
  socket.on('message', (bytes, { address, port }) => server.handleDatagram(bytes, { address, port }))
  t.after(() => {
    clearTimeout(timer)
    socket.close()
  })
  return echo
}

export function startClient(t: Scope, command: string, words: readonly string[]): WatchedProcess {
  return runProgram(t, command, words)
}
