// A TLS listener on its own port, with certificates in a temporary folder, and clients for it.

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { TlsConfig } from '../../src/config/index.ts'
import {
  type ByteStream,
  type ReconfigurableListener,
  listenTls,
  TlsUpgrade,
  type TlsListenOptions,
} from '../../src/transports/index.ts'
import { Authority, type Named } from './certificates.ts'
import { EventQueue } from './event-queue.ts'

export const authority = new Authority('The test authority')
export const serverName = 'broker.example.org'
export const server = authority.issue(serverName, { hostNames: [serverName, '127.0.0.1'] })

/** Default settings: any client that trusts the certificate, TLS 1.2 and 1.3. */
export const plainTls: Omit<TlsConfig, 'certificate'> = {
  byServerName: [],
  caFile: undefined,
  crlFile: undefined,
  verifyPeer: false,
  failIfNoPeerCertificate: false,
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: undefined,
  acceptsPsk: false,
  pskFile: undefined,
  handshakeTimeoutMs: 60_000,
}

export interface TlsStageOptions extends Partial<TlsConfig> {
  /** Undefined: only clients with a pre-shared key. */
  readonly identity?: Named | undefined
  /** Contents of files, not their names. */
  readonly crl?: string
  readonly psk?: string
  readonly name?: string
  readonly ticketSecret?: Uint8Array
  readonly maxHandshakes?: number
  /** In addition to those of `psk`. */
  readonly storedKeys?: ReadonlyMap<string, Buffer>
}

export class TlsStage {
  readonly streams = new EventQueue<ByteStream>()
  readonly refusals = new EventQueue<string>()
  readonly problems = new EventQueue<string>()
  readonly folder: string
  readonly gate: TlsUpgrade
  #listener: ReconfigurableListener<TlsListenOptions> | undefined
  #options: TlsListenOptions | undefined
  readonly #opened: { destroy(): void }[] = []

  constructor(t: TestContext, options: TlsStageOptions = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'godwit-tls-'))
    const { identity = server, crl, psk, name = 'default', ticketSecret = new Uint8Array(32), ...others } = options
    const { maxHandshakes = 512, storedKeys, ...settings } = others
    this.write('ca.pem', authority.certificate)
    this.writeIdentity(identity)
    const opening = TlsUpgrade.open({
      settings: {
        ...plainTls,
        certificate: 'identity' in options && options.identity === undefined ? undefined : this.pair(),
        caFile: this.path('ca.pem'),
        crlFile: crl === undefined ? undefined : this.write('crl.pem', crl),
        acceptsPsk: psk !== undefined,
        pskFile: psk === undefined ? undefined : this.write('psk.txt', psk),
        ...settings,
      },
      name,
      ticketSecret,
      maxHandshakes,
      findStoredKey: (identity) => storedKeys?.get(identity),
      onProblem: (problem) => this.problems.add(problem?.message ?? 'in order again'),
      onRefused: (_, why) => this.refusals.add(why),
    })
    if ('problem' in opening) throw new Error(opening.problem.message)
    this.gate = opening.upgrade
    t.after(async () => {
      for (const each of this.#opened) each.destroy()
      await this.#listener?.close()
      rmSync(this.folder, { recursive: true })
    })
  }

  async listen(options: Pick<TlsListenOptions, 'proxyProtocol' | 'rates'> = {}): Promise<this> {
    this.#options = {
      ...options,
      upgrade: this.gate,
      host: '127.0.0.1',
      port: 0,
      onStream: (stream) => {
        this.#opened.push(stream)
        this.streams.add(stream)
      },
    }
    this.#listener = await listenTls(this.#options)
    return this
  }

  /** New clients use these settings. */
  change(upgrade: TlsUpgrade): void {
    if (this.#options !== undefined) this.#listener?.change({ ...this.#options, upgrade })
  }

  /** Reloads the files, as an administrator does. */
  async reload(): Promise<void> {
    await this.#listener?.reload?.()
  }

  async close(): Promise<void> {
    await this.#listener?.close()
  }

  path(file: string): string {
    return join(this.folder, file)
  }

  pair(): { certFile: string; keyFile: string; keyPassword: undefined } {
    return { certFile: this.path('cert.pem'), keyFile: this.path('key.pem'), keyPassword: undefined }
  }

  write(file: string, content: string): string {
    writeFileSync(this.path(file), content)
    return this.path(file)
  }

  writeIdentity({ certificate, key }: Named): void {
    this.write('cert.pem', certificate)
    this.write('key.pem', key)
  }

  /** A client that has sent nothing. */
  async knock(): Promise<Socket> {
    const socket = connectTcp(this.port, '127.0.0.1')
    socket.on('error', () => {})
    this.#opened.push(socket)
    await once(socket, 'connect')
    return socket
  }

  /** A client that has started its handshake. */
  client(options: ConnectionOptions = {}): TLSSocket {
    const ways = { port: this.port, host: '127.0.0.1', servername: serverName, ca: authority.certificate }
    const socket = connect({ ...ways, ...options })
    socket.on('error', () => {})
    this.#opened.push(socket)
    return socket
  }

  /** A connected client, and the broker end of it. */
  async pairUp(options: ConnectionOptions = {}): Promise<{ client: TLSSocket; stream: ByteStream }> {
    const client = this.client(options)
    return { client, stream: await this.streams.next() }
  }

  /** The reason with which a client is refused. */
  async refusalOf(options: ConnectionOptions = {}): Promise<string> {
    const client = this.client(options)
    client.resume()
    const [why] = await Promise.all([this.refusals.next(), new Promise((resolve) => client.on('close', resolve))])
    return why
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }
}
