// A DTLS 1.2 server without sockets and clock. An unknown address gets only a cookie, and uses no memory.
//
//   datagram --> by address, or by connection ID --> Association --> onMessage
//
// A new handshake of a known address exists next to its association until it is complete (RFC 6347 4.2.8): otherwise one datagram with a
// forged address would end it.

import { Association, type AssociationOptions, type DtlsPeer } from './association.ts'
import { HandshakeFailure } from './alerts.ts'
import { Cookies } from './cookies.ts'
import type { DtlsCredentials } from './dtls-credentials.ts'
import { type HandshakeMessage, parseFragments, writeWholeMessage } from './handshake-fragments.ts'
import { type ClientHello, messageTypes, parseClientHello, writeHelloVerifyRequest } from './handshake-messages.ts'
import { contentTypes, type DtlsRecord, parseRecords, writeRecord } from './dtls-records.ts'
import { SessionCache } from './session-cache.ts'

const connectionIdBytes = 8
const maxHandshakes = 4_096
const maxPerAddress = 1_024
/** An association with data within this time is not ended in favor of a new one. */
const minQuietMs = 60_000

/** Sends and receives the datagrams of an open association. */
export type DtlsSession = Pick<Association, 'peer' | 'credentials' | 'sessionId' | 'suiteName' | 'send'>

export interface DtlsServerSettings {
  readonly handshakeTimeoutMs: number
  readonly usesConnectionIds: boolean
  /** Maximum number of open associations. */
  readonly maxSessions: number
}

export interface DtlsServerDependencies {
  readonly nowMs: () => number
  readonly random: (bytes: number) => Buffer
  /** Sends one datagram. It may be lost. */
  readonly send: (datagram: Buffer, peer: DtlsPeer) => void
  /** `tick` must be called at this time, which replaces the earlier one. Infinity: never. */
  readonly wakeAt: (timeMs: number) => void
  /** Returns true for addresses with an unlimited number of associations. */
  readonly isUnlimited: (address: string) => boolean
  readonly onOpen: (session: DtlsSession) => void
  readonly onMessage: (session: DtlsSession, bytes: Buffer) => void
  readonly onClosed: (session: DtlsSession) => void
  /** A handshake failed; `why` is for the log. */
  readonly onRefused: (peer: DtlsPeer, why: string) => void
}

/** The associations of one address. */
interface Entry {
  open: Association | undefined
  pending: Association | undefined
}

export class DtlsServer {
  readonly #settings: DtlsServerSettings
  readonly #dependencies: DtlsServerDependencies
  readonly #cookies: Cookies
  readonly #sessions = new SessionCache()
  readonly #entries = new Map<string, Entry>()
  /** By connection ID; open or not. */
  readonly #byId = new Map<string, Association>()
  readonly #handshakes = new Set<Association>()
  /** With the time of the last data; the longest silent first. */
  readonly #open = new Map<Association, number>()
  readonly #perAddress = new Map<string, number>()
  #credentials: DtlsCredentials
  #wakesAtMs = Number.POSITIVE_INFINITY

  constructor(settings: DtlsServerSettings, credentials: DtlsCredentials, dependencies: DtlsServerDependencies) {
    this.#settings = settings
    this.#credentials = credentials
    this.#dependencies = dependencies
    this.#cookies = new Cookies((bytes) => dependencies.random(bytes), dependencies.nowMs())
  }

  /** Handshakes in progress. */
  get handshakes(): number {
    return this.#handshakes.size
  }

  get sessions(): number {
    return this.#open.size
  }

  /** Applies to later handshakes. Sessions verified with others are not resumed. */
  setCredentials(credentials: DtlsCredentials): void {
    this.#credentials = credentials
    this.#sessions.clear()
  }

  handleDatagram(datagram: Buffer, peer: DtlsPeer): void {
    const ownIdBytes = this.#settings.usesConnectionIds ? connectionIdBytes : 0
    for (const record of parseRecords(datagram, ownIdBytes)) this.#handleRecord(record, peer)
  }

  tick(): void {
    for (const association of this.#handshakes) association.tick()
    this.#wakesAtMs = Number.POSITIVE_INFINITY
    let earliest = Number.POSITIVE_INFINITY
    for (const { deadlineMs } of this.#handshakes) earliest = Math.min(earliest, deadlineMs)
    this.#wakeAt(earliest)
  }

  /** Sends close_notify to all clients. */
  close(): void {
    for (const association of this.#open.keys()) association.end()
    for (const association of this.#handshakes) association.end()
    this.#open.clear()
    this.#handshakes.clear()
    this.#entries.clear()
    this.#byId.clear()
    this.#perAddress.clear()
    this.#dependencies.wakeAt(Number.POSITIVE_INFINITY)
  }

  #handleRecord(record: DtlsRecord, peer: DtlsPeer): void {
    if (record.type === contentTypes.connectionId) return this.#handleById(record, peer)
    const key = toPeerKey(peer)
    const hello = record.epoch === 0 ? parseHello(record) : undefined
    if (hello !== undefined) return this.#handleHello(hello, record, peer)
    const entry = this.#entries.get(key)
    // Both may have an epoch 1: the keys show which one the record belongs to.
    if (entry?.pending?.handleRecord(record) !== undefined || entry?.open === undefined) return
    if (record.epoch === 1 && entry.open.handleRecord(record) !== undefined) this.#recordReceived(entry.open)
  }

  #handleById(record: DtlsRecord, peer: DtlsPeer): void {
    const association = this.#byId.get(record.connectionId.toString('latin1'))
    if (association === undefined) return
    association.handleRecord(record, ({ isLatest }) => {
      if (!association.isOpen) return
      this.#recordReceived(association)
      // [RFC9146-6] Only the newest record shows the current address. The message in it comes from there.
      if (isLatest && toPeerKey(association.peer) !== toPeerKey(peer)) this.#move(association, peer)
    })
  }

  #move(association: Association, peer: DtlsPeer): void {
    this.#leaveAddress(association)
    association.peer = peer
    const entry = this.#ensureEntry(peer)
    // The earlier association has no connection ID, or sends with it: both are found without the address.
    const replaced = entry.open
    entry.open = association
    this.#count(peer.address, 1)
    if (replaced !== undefined && replaced.connectionId === undefined) this.#drop(replaced)
  }

  #handleHello({ hello, message }: ReceivedHello, record: DtlsRecord, peer: DtlsPeer): void {
    const nowMs = this.#dependencies.nowMs()
    const key = toPeerKey(peer)
    if (!this.#cookies.isGood(hello, key, nowMs)) {
      // It is smaller than any ClientHello, so it makes no attack stronger, and needs no limit: thousands of devices behind one address may
      // begin at once.
      return this.#dependencies.send(verifyRequest(this.#cookies.make(hello, key, nowMs), message, record), peer)
    }
    const entry = this.#entries.get(key)
    if (entry?.open?.helloRandom.equals(hello.random) === true) return
    if (entry?.pending?.helloRandom.equals(hello.random) === true) {
      entry.pending.handleRepeatedHello()
      return
    }
    this.#begin(hello, { message, recordSequence: record.sequence, peer })
  }

  #begin(
    hello: ClientHello,
    from: { readonly message: HandshakeMessage; readonly recordSequence: number; readonly peer: DtlsPeer },
  ): void {
    const { peer } = from
    const { isUnlimited } = this.#dependencies
    if ((this.#perAddress.get(peer.address) ?? 0) >= maxPerAddress && !isUnlimited(peer.address)) return
    if (this.#handshakes.size >= maxHandshakes) {
      const [oldest] = this.#handshakes
      if (oldest !== undefined) this.#drop(oldest)
    }
    const entry = this.#ensureEntry(peer)
    if (entry.pending !== undefined) this.#drop(entry.pending)
    const association = new Association(hello, from, this.#createAssociationOptions())
    this.#ensureEntry(peer).pending = association
    this.#handshakes.add(association)
    this.#count(peer.address, 1)
    if (association.connectionId !== undefined) this.#byId.set(association.connectionId.toString('latin1'), association)
    association.start()
    this.#wakeAt(association.deadlineMs)
  }

  #createAssociationOptions(): AssociationOptions {
    const { nowMs, random, send, onMessage } = this.#dependencies
    return {
      credentials: this.#credentials,
      sessions: this.#sessions,
      connectionId: this.#settings.usesConnectionIds ? random(connectionIdBytes) : undefined,
      handshakeTimeoutMs: this.#settings.handshakeTimeoutMs,
      random,
      nowMs,
      send: (datagram, { peer }) => send(datagram, peer),
      onOpen: (association) => this.#handleOpen(association),
      onMessage,
      onClosed: (association, why) => this.#handleClosed(association, why),
    }
  }

  #handleOpen(association: Association): void {
    this.#handshakes.delete(association)
    const entry = this.#ensureEntry(association.peer)
    const replaced = entry.open
    entry.pending = undefined
    entry.open = association
    if (replaced !== undefined) this.#drop(replaced)
    if (!this.#hasSpace()) {
      association.end()
      this.#drop(association)
      this.#dependencies.onRefused(association.peer, 'the listener has as many associations as it may have')
      return
    }
    this.#open.set(association, this.#dependencies.nowMs())
    this.#dependencies.onOpen(association)
  }

  /** The association that was silent longest is ended, if it was silent long enough. */
  #hasSpace(): boolean {
    if (this.#open.size < this.#settings.maxSessions) return true
    const [quietest] = this.#open
    if (quietest === undefined || this.#dependencies.nowMs() - quietest[1] < minQuietMs) return false
    quietest[0].end()
    this.#drop(quietest[0])
    return true
  }

  #handleClosed(association: Association, why: string | undefined): void {
    const wasOpen = this.#open.has(association)
    this.#forget(association)
    if (wasOpen) this.#dependencies.onClosed(association)
    else this.#dependencies.onRefused(association.peer, why ?? 'it ended its handshake')
  }

  /** Sends nothing to the client. */
  #drop(association: Association): void {
    const wasOpen = this.#open.has(association)
    this.#forget(association)
    if (wasOpen) this.#dependencies.onClosed(association)
  }

  #forget(association: Association): void {
    this.#open.delete(association)
    this.#handshakes.delete(association)
    if (association.connectionId !== undefined) this.#byId.delete(association.connectionId.toString('latin1'))
    this.#leaveAddress(association)
  }

  #leaveAddress(association: Association): void {
    const { peer } = association
    this.#count(peer.address, -1)
    const entry = this.#entries.get(toPeerKey(peer))
    if (entry === undefined) return
    if (entry.open === association) entry.open = undefined
    if (entry.pending === association) entry.pending = undefined
    if (entry.open === undefined && entry.pending === undefined) this.#entries.delete(toPeerKey(peer))
  }

  #recordReceived(association: Association): void {
    if (!this.#open.delete(association)) return
    this.#open.set(association, this.#dependencies.nowMs())
  }

  #ensureEntry(peer: DtlsPeer): Entry {
    const key = toPeerKey(peer)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { open: undefined, pending: undefined }
      this.#entries.set(key, entry)
    }
    return entry
  }

  #count(address: string, change: number): void {
    const left = (this.#perAddress.get(address) ?? 0) + change
    if (left <= 0) this.#perAddress.delete(address)
    else this.#perAddress.set(address, left)
  }

  #wakeAt(timeMs: number): void {
    if (timeMs >= this.#wakesAtMs) return
    this.#wakesAtMs = timeMs
    this.#dependencies.wakeAt(timeMs)
  }
}

interface ReceivedHello {
  readonly hello: ClientHello
  readonly message: HandshakeMessage
}

/**
 * Returns an unfragmented ClientHello. Fragments are not accepted, because nothing is stored for an unverified address;
 * malformed ones are ignored.
 */
function parseHello({ type, body }: DtlsRecord): ReceivedHello | undefined {
  if (type !== contentTypes.handshake || body[0] !== messageTypes.clientHello) return undefined
  try {
    const [fragment, ...others] = parseFragments(body)
    if (fragment === undefined || others.length > 0 || fragment.body.length !== fragment.length) return undefined
    return { hello: parseClientHello(fragment.body), message: fragment }
  } catch (error) {
    if (!(error instanceof HandshakeFailure)) throw error
    return undefined
  }
}

/**
 * In a record with the sequence number of the request [RFC6347-4.2.1], and with its version: tinydtls drops records of 1.0, and
 * OpenSSL says 1.0 itself.
 */
function verifyRequest(
  cookie: Buffer,
  { messageSequence }: HandshakeMessage,
  { sequence, version }: DtlsRecord,
): Buffer {
  const body = writeHelloVerifyRequest(cookie)
  const message = writeWholeMessage({ type: messageTypes.helloVerifyRequest, messageSequence, body })
  return writeRecord({ type: contentTypes.handshake, version, epoch: 0, sequence }, message)
}

function toPeerKey({ address, port }: DtlsPeer): string {
  return `${address} ${port}`
}
