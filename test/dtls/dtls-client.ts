// A DTLS client in memory, for behavior that other clients do not have: it loses, repeats and cuts datagrams, moves, and uses
// connection IDs. It speaks the suites with pre-shared keys.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cipherSuites } from '../../lib/dtls/cipher-suites.ts'
import { FieldReader, encodeUint16, encodeVector } from '../../lib/dtls/field-reader.ts'
import {
  HandshakeReassembly,
  parseFragments,
  writeFragment,
  writeWholeMessage,
} from '../../lib/dtls/handshake-fragments.ts'
import { beginAgreement } from '../../lib/dtls/key-agreement.ts'
import {
  deriveExtendedMasterSecret,
  derivePlainMasterSecret,
  derivePskPremaster,
  deriveTrafficKeys,
  deriveVerifyData,
} from '../../lib/dtls/key-schedule.ts'
import { RecordLayer } from '../../lib/dtls/record-layer.ts'
import { parseRecords, RecordProtection } from '../../lib/dtls/dtls-records.ts'

export interface DtlsClientOptions {
  readonly identity: string
  readonly key: Buffer
  readonly suite: number
  readonly group?: number
  readonly hasExtendedMasterSecret?: boolean
  /** The connection ID that the server writes into its records; undefined: none. */
  readonly connectionId?: Buffer
  /** The size of fragments of handshake messages other than ClientHello. */
  readonly fragmentBytes?: number
  readonly session?: { readonly id: Buffer; readonly master: Buffer }
  readonly random?: string
}

const none: Buffer = Buffer.alloc(0)

export class DtlsClient {
  /** Datagrams to send. */
  readonly outbox: Buffer[] = []
  readonly received: string[] = []
  readonly receivedBytes: Buffer[] = []
  readonly alerts: (readonly [number | undefined, number | undefined])[] = []
  isOpen = false
  sessionId: Buffer = none
  master: Buffer = none
  readonly #options: DtlsClientOptions
  readonly #records = new RecordLayer(0)
  #messages = new HandshakeReassembly(0)
  readonly #random: Buffer
  #serverRandom: Buffer = none
  #transcript: Buffer[] = []
  #nextSequence = 0
  readonly #ownId: Buffer | undefined
  #serverId: Buffer | undefined
  #agreed: { readonly group: number; readonly publicKey: Buffer } | undefined
  #isResumed = false

  constructor(options: DtlsClientOptions) {
    this.#options = options
    this.#ownId = options.connectionId
    this.#random = createHash('sha256')
      .update(options.random ?? 'client')
      .digest()
  }

  start(): void {
    this.#sendHello(none)
  }

  receive(datagram: Buffer): void {
    for (const record of parseRecords(datagram, this.#ownId?.length ?? 0)) {
      const opened = this.#records.open(record)
      if (opened === undefined) continue
      if (opened.type === 21) this.alerts.push([opened.plaintext[0], opened.plaintext[1]])
      else if (opened.type === 23) {
        this.received.push(opened.plaintext.toString())
        this.receivedBytes.push(opened.plaintext)
      } else if (opened.type === 22) this.#receiveHandshake(opened.plaintext)
    }
  }

  send(data: string | Buffer): void {
    this.outbox.push(this.#records.seal(23, 1, Buffer.from(data)))
  }

  close(): void {
    this.outbox.push(this.#records.seal(21, 1, Buffer.of(1, 0)))
  }

  /** As if its last flight had been lost. */
  sendFinishedAgain(): void {
    const [finished] = this.#transcript.slice(-1)
    if (finished !== undefined) this.outbox.push(this.#records.seal(22, 1, finished))
  }

  /** Starts a new handshake within the association. */
  renegotiate(): void {
    const body = this.#hello(none)
    this.outbox.push(this.#records.seal(22, 1, writeWholeMessage({ type: 1, messageSequence: 9, body })))
  }

  #receiveHandshake(plaintext: Buffer): void {
    for (const fragment of parseFragments(plaintext)) this.#messages.add(fragment)
    for (let message = this.#messages.take(); message !== undefined; message = this.#messages.take()) {
      const { type, body } = message
      if (type === 3) {
        const cookie = new FieldReader(body.subarray(2)).vector(1)
        this.#transcript = []
        this.#sendHello(cookie)
        continue
      }
      if (type === 20) this.#receiveFinished(body)
      this.#transcript.push(writeWholeMessage(message))
      if (type === 2) this.#receiveServerHello(body)
      if (type === 12) this.#receiveKeyExchange(body)
      if (type === 14) this.#sendFlight()
      if (type === 20 && this.#isResumed) this.#sendFinished()
    }
  }

  #receiveFinished(body: Buffer): void {
    assert.deepEqual(body, deriveVerifyData(this.master, 'server', this.#transcript))
    this.isOpen = true
  }

  #receiveServerHello(body: Buffer): void {
    const reader = new FieldReader(body)
    assert.equal(reader.uint(2), 0xfefd)
    this.#serverRandom = reader.take(32)
    this.sessionId = reader.vector(1)
    assert.equal(reader.uint(2), this.#options.suite)
    reader.uint(1)
    const extensions = new FieldReader(reader.left === 0 ? none : reader.vector(2))
    while (extensions.left > 0) {
      const type = extensions.uint(2)
      const content = extensions.vector(2)
      if (type === 54) this.#serverId = content.subarray(1)
    }
    const { session } = this.#options
    if (session === undefined || !session.id.equals(this.sessionId)) return
    this.#isResumed = true
    this.master = session.master
    this.#protect()
  }

  #receiveKeyExchange(body: Buffer): void {
    const reader = new FieldReader(body)
    reader.vector(2)
    reader.uint(1)
    this.#agreed = { group: reader.uint(2), publicKey: reader.vector(1) }
  }

  #sendFlight(): void {
    const { key, identity, hasExtendedMasterSecret = true } = this.#options
    const own = this.#agreed === undefined ? undefined : beginAgreement(this.#agreed.group)
    const shared = this.#agreed === undefined ? undefined : own?.agree(this.#agreed.publicKey)
    const point = own === undefined ? none : encodeVector(1, own.publicKey)
    this.#sendMessage(16, Buffer.concat([encodeVector(2, Buffer.from(identity)), point]), 0)
    const premaster = derivePskPremaster(key, shared)
    this.master = hasExtendedMasterSecret
      ? deriveExtendedMasterSecret(premaster, this.#transcript)
      : derivePlainMasterSecret(premaster, this.#random, this.#serverRandom)
    this.#protect()
    this.#sendFinished()
  }

  #sendFinished(): void {
    this.outbox.push(this.#records.seal(20, 0, Buffer.of(1)))
    this.#sendMessage(20, deriveVerifyData(this.master, 'client', this.#transcript), 1)
  }

  #protect(): void {
    const suite = cipherSuites.find(({ id }) => id === this.#options.suite)!
    const keys = deriveTrafficKeys(this.master, this.#random, this.#serverRandom)
    this.#records.protect({
      read: new RecordProtection(suite, keys.serverKey, keys.serverIv, this.#serverId && this.#ownId),
      write: new RecordProtection(suite, keys.clientKey, keys.clientIv, this.#serverId),
    })
  }

  #sendHello(cookie: Buffer): void {
    this.#sendMessage(1, this.#hello(cookie), 0)
  }

  #hello(cookie: Buffer): Buffer {
    const { suite, group, hasExtendedMasterSecret = true, session } = this.#options
    const extensions: Buffer[] = []
    const add = (type: number, content: Buffer) => extensions.push(encodeUint16(type), encodeVector(2, content))
    if (group !== undefined) add(10, encodeVector(2, encodeUint16(group)))
    if (hasExtendedMasterSecret) add(23, none)
    if (this.#ownId !== undefined) add(54, encodeVector(1, this.#ownId))
    return Buffer.concat([
      encodeUint16(0xfefd),
      this.#random,
      encodeVector(1, session?.id ?? none),
      encodeVector(1, cookie),
      encodeVector(2, encodeUint16(suite)),
      encodeVector(1, Buffer.of(0)),
      encodeVector(2, Buffer.concat(extensions)),
    ])
  }

  #sendMessage(type: number, body: Buffer, epoch: 0 | 1): void {
    const messageSequence = this.#nextSequence++
    this.#transcript.push(writeWholeMessage({ type, messageSequence, body }))
    const step = type === 1 ? body.length : (this.#options.fragmentBytes ?? body.length)
    for (let offset = 0; offset < body.length; offset += step) {
      const fragment = {
        type,
        length: body.length,
        messageSequence,
        offset,
        body: body.subarray(offset, offset + step),
      }
      this.outbox.push(this.#records.seal(22, epoch, writeFragment(fragment)))
    }
  }
}
