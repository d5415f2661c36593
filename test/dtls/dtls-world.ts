// A DTLS server and its clients in memory, with a simulated clock and network.

import { createHash } from 'node:crypto'
import type { DtlsCredentials } from '../../lib/dtls/dtls-credentials.ts'
import { DtlsServer, type DtlsServerSettings, type DtlsSession } from '../../lib/dtls/dtls-server.ts'
import { DtlsClient, type DtlsClientOptions } from './dtls-client.ts'
import { identity, key, keyCredentials } from './dtls-socket-stage.ts'

export interface Sent {
  readonly datagram: Buffer
  readonly address: string
  readonly port: number
}

export class DtlsWorld {
  nowMs = 1_000_000
  /** Datagrams of the server, until a test delivers them. */
  readonly sent: Sent[] = []
  readonly opened: DtlsSession[] = []
  readonly closed: DtlsSession[] = []
  readonly refused: string[] = []
  readonly messages: string[] = []
  /** Maximum responses to unauthenticated clients. */
  wakesAtMs = Infinity
  readonly server: DtlsServer
  #drawn = 0

  constructor(settings: Partial<DtlsServerSettings> = {}, credentials: DtlsCredentials = keyCredentials) {
    const whole = { handshakeTimeoutMs: 15_000, usesConnectionIds: false, maxSessions: 10, ...settings }
    this.server = new DtlsServer(whole, credentials, {
      nowMs: () => this.nowMs,
      random: (bytes) => this.#random(bytes),
      send: (datagram, { address, port }) => this.sent.push({ datagram, address, port }),
      wakeAt: (timeMs) => (this.wakesAtMs = timeMs),
      isUnlimited: () => false,
      onOpen: (session) => this.opened.push(session),
      onMessage: (session, bytes) => {
        this.messages.push(`${session.peer.port} ${bytes.toString()}`)
        session.send(bytes)
      },
      onClosed: (session) => this.closed.push(session),
      onRefused: (_, why) => this.refused.push(why),
    })
  }

  client(options: Partial<DtlsClientOptions> = {}): DtlsClient {
    return new DtlsClient({ identity, key, suite: 0xc0a8, ...options })
  }

  /** Delivers what both sides send until neither sends more. */
  run(client: DtlsClient, port = 1_000, address = '192.0.2.1'): void {
    while (client.outbox.length > 0 || this.sent.length > 0) {
      for (const datagram of client.outbox.splice(0)) this.server.handleDatagram(datagram, { address, port })
      for (const { datagram } of this.sent.splice(0)) client.receive(datagram)
    }
  }

  /** Whether the client is connected. */
  connect(client: DtlsClient, port = 1_000): void {
    client.start()
    this.run(client, port)
  }

  pass(ms: number): void {
    this.nowMs += ms
    while (this.wakesAtMs <= this.nowMs) {
      this.wakesAtMs = Infinity
      this.server.tick()
    }
  }

  #random(bytes: number): Buffer {
    const parts: Buffer[] = []
    for (let made = 0; made < bytes; made += 32)
      parts.push(
        createHash('sha256')
          .update(`${this.#drawn++}`)
          .digest(),
      )
    return Buffer.concat(parts).subarray(0, bytes)
  }
}
