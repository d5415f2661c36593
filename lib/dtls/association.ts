// One client of a DTLS server: its handshake, then its protected datagrams.
//
//   records --> RecordLayer --> HandshakeReassembly --> ServerHandshake --> flights
//                   '-- once it is open --> onMessage

import { alertLevels, type AlertName, alerts, HandshakeFailure, writeAlert } from './alerts.ts'
import type { ClientCredentials, DtlsCredentials } from './dtls-credentials.ts'
import { createDatagrams, type FlightItem } from './flight.ts'
import { type HandshakeMessage, HandshakeReassembly, parseFragments } from './handshake-fragments.ts'
import { type ClientHello, messageTypes } from './handshake-messages.ts'
import { type OpenedRecord, RecordLayer } from './record-layer.ts'
import { contentTypes, type DtlsRecord } from './dtls-records.ts'
import { ServerHandshake } from './server-handshake.ts'
import type { SessionCache } from './session-cache.ts'

const firstResendMs = 1_000
const maxResendMs = 60_000
/** A client that repeats a message gets the response again, at most at this interval. */
const minResendMs = 500
/** Maximum number of early records: Finished in fragments, before the keys are known. */
const maxEarlyRecords = 16
const maxEarlyBytes = 256

export interface AssociationOptions {
  readonly credentials: DtlsCredentials
  readonly sessions: SessionCache
  /** The server's connection ID if the client supports them; undefined: none. */
  readonly connectionId: Buffer | undefined
  readonly handshakeTimeoutMs: number
  readonly random: (bytes: number) => Buffer
  readonly nowMs: () => number
  send(datagram: Buffer, association: Association): void
  onOpen(association: Association): void
  onMessage(association: Association, bytes: Buffer): void
  /** `why`: its handshake failed; undefined: it ended normally. */
  onClosed(association: Association, why: string | undefined): void
}

interface Flight {
  readonly items: readonly FlightItem[]
  readonly isLast: boolean
  times: number
  sentAtMs: number
  resendMs: number
}

/** Destination of datagrams. */
export interface DtlsPeer {
  readonly address: string
  readonly port: number
}

export class Association {
  /** The newest address of the client. */
  peer: DtlsPeer
  readonly helloRandom: Buffer
  readonly connectionId: Buffer | undefined
  readonly #options: AssociationOptions
  readonly #records: RecordLayer
  readonly #messages: HandshakeReassembly
  readonly #handshake: ServerHandshake
  readonly #endsAtMs: number
  #state: 'handshake' | 'open' | 'closed' = 'handshake'
  #flight: Flight | undefined
  #early: DtlsRecord[] = []
  #badRecords = 0

  /** `recordSequence`: of the ClientHello with a valid cookie. */
  constructor(
    hello: ClientHello,
    from: { readonly message: HandshakeMessage; readonly recordSequence: number; readonly peer: DtlsPeer },
    options: AssociationOptions,
  ) {
    this.peer = from.peer
    this.helloRandom = hello.random
    this.connectionId = hello.connectionId === undefined ? undefined : options.connectionId
    this.#options = options
    this.#records = new RecordLayer(from.recordSequence)
    this.#messages = new HandshakeReassembly(from.message.messageSequence + 1)
    this.#endsAtMs = options.nowMs() + options.handshakeTimeoutMs
    this.#handshake = new ServerHandshake(hello, from.message, {
      ...options,
      protect: (protections) => this.#records.protect(protections),
      sendFlight: (items, isLast) => this.#sendFlight(items, isLast),
    })
  }

  get credentials(): ClientCredentials {
    return this.#handshake.credentials
  }

  /** The same for each association that resumes the session. '': the session cannot be resumed. */
  get sessionId(): string {
    return this.#handshake.sessionId
  }

  get suiteName(): string {
    return this.#handshake.suiteName
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** When `tick` must be called. */
  get deadlineMs(): number {
    if (this.#state !== 'handshake') return Number.POSITIVE_INFINITY
    const flight = this.#flight
    const resendAtMs = flight === undefined ? Number.POSITIVE_INFINITY : flight.sentAtMs + flight.resendMs
    return Math.min(this.#endsAtMs, resendAtMs)
  }

  /** Sends the first flight. */
  start(): void {
    this.#runGuarded(() => this.#handshake.start())
  }

  /**
   * Handles a record. Returns undefined if the record does not belong to this association. `noteAuthentic` is called before a record of the
   * association is handled.
   */
  handleRecord(
    record: DtlsRecord,
    noteAuthentic?: (opened: Pick<OpenedRecord, 'isLatest'>) => void,
  ): Pick<OpenedRecord, 'isLatest'> | undefined {
    if (this.#state === 'closed') return undefined
    if (record.epoch === 1 && !this.#records.canReadProtected) {
      // Finished has overtaken ClientKeyExchange.
      if (this.#early.length < maxEarlyRecords && record.body.length <= maxEarlyBytes) this.#early.push(record)
      return undefined
    }
    const opened = this.#records.open(record)
    if (opened === undefined) {
      this.#badRecords += 1
      return undefined
    }
    noteAuthentic?.(opened)
    this.#runGuarded(() => this.#handleOpened(opened, record.epoch))
    return opened
  }

  /** The first ClientHello was received again. */
  handleRepeatedHello(): void {
    if (this.#state === 'handshake') this.#resend()
  }

  tick(): void {
    const nowMs = this.#options.nowMs()
    if (this.#state !== 'handshake' || this.deadlineMs > nowMs) return
    if (this.#endsAtMs <= nowMs) {
      const isKeyWrong = this.#badRecords > 0 && this.#records.canReadProtected
      return this.#close(isKeyWrong ? 'its key is wrong or its identity is unknown' : 'its handshake took too long')
    }
    const flight = this.#flight
    if (flight === undefined) return
    flight.resendMs = Math.min(maxResendMs, flight.resendMs * 2)
    this.#transmit(flight)
  }

  /** Sends one datagram. It may be lost. */
  send(bytes: Buffer): void {
    if (this.#state === 'open') this.#sendRecord(contentTypes.applicationData, bytes)
  }

  /** Sends close_notify if it is open. No callback is called. */
  end(): void {
    if (this.#state === 'open') this.#sendRecord(contentTypes.alert, writeAlert('warning', 'closeNotify'))
    this.#state = 'closed'
  }

  #runGuarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof HandshakeFailure)) throw error
      // After the handshake only the client could have sent it, and it is ignored.
      if (this.#state === 'handshake') this.#fail(error.alert, error.message)
    }
  }

  #fail(alert: AlertName, why: string): void {
    const epoch = this.#handshake.isComplete && this.#records.canReadProtected ? 1 : 0
    this.#options.send(this.#records.seal(contentTypes.alert, epoch, writeAlert('fatal', alert)), this)
    this.#close(why)
  }

  #close(why: string | undefined): void {
    this.#state = 'closed'
    this.#flight = undefined
    this.#early = []
    this.#options.onClosed(this, why)
  }

  #handleOpened({ type, plaintext }: OpenedRecord, epoch: number): void {
    switch (type) {
      case contentTypes.handshake:
        return this.#handleHandshake(plaintext, epoch)
      case contentTypes.alert:
        return this.#handleAlert(plaintext, epoch)
      case contentTypes.applicationData:
        if (this.#state === 'open' && epoch === 1) this.#options.onMessage(this, plaintext)
        return undefined
      default:
        // ChangeCipherSpec adds nothing to the epoch of the next record.
        return undefined
    }
  }

  #handleHandshake(plaintext: Buffer, epoch: number): void {
    const isOpen = this.#state === 'open'
    for (const fragment of parseFragments(plaintext)) {
      const isFinished = fragment.type === messageTypes.finished
      if (isOpen) {
        if (epoch === 0) continue
        if (isFinished) this.#resend()
        else if (fragment.type === messageTypes.clientHello) return this.#refuseRenegotiation()
      } else if (isFinished === (epoch === 1) && !this.#messages.add(fragment)) this.#resend()
    }
    if (!isOpen) this.#takeMessages()
  }

  #takeMessages(): void {
    while (this.#state === 'handshake') {
      const message = this.#messages.take()
      if (message === undefined) return
      const couldRead = this.#records.canReadProtected
      this.#handshake.handleMessage(message)
      if (this.#handshake.isComplete) return this.#open()
      if (!couldRead && this.#records.canReadProtected) this.#handleEarly()
    }
  }

  #handleEarly(): void {
    const records = this.#early
    this.#early = []
    for (const record of records) this.handleRecord(record)
  }

  #open(): void {
    this.#state = 'open'
    if (this.#flight?.isLast !== true) this.#flight = undefined
    this.#options.onOpen(this)
  }

  #handleAlert(plaintext: Buffer, epoch: number): void {
    const [level, description] = plaintext
    if (plaintext.length !== 2 || (this.#state === 'open' && epoch === 0)) return
    if (description === alerts.closeNotify) {
      // [RFC5246-7.2.1] The receiver of close_notify sends one as well.
      if (this.#state === 'open') this.#sendRecord(contentTypes.alert, writeAlert('warning', 'closeNotify'))
      this.#close(this.#state === 'open' ? undefined : 'it ended its handshake')
    } else if (level === alertLevels.fatal) {
      this.#close(`it ended the association with alert ${description}`)
    }
  }

  #refuseRenegotiation(): void {
    this.#sendRecord(contentTypes.alert, writeAlert('warning', 'noRenegotiation'))
  }

  #sendRecord(type: number, bytes: Buffer): void {
    this.#options.send(this.#records.seal(type, 1, bytes), this)
  }

  #sendFlight(items: readonly FlightItem[], isLast: boolean): void {
    const flight = { items, isLast, times: 0, sentAtMs: 0, resendMs: firstResendMs }
    this.#flight = flight
    this.#transmit(flight)
  }

  /** The client repeated a message, so the response may be lost. */
  #resend(): void {
    const flight = this.#flight
    if (flight !== undefined && this.#options.nowMs() - flight.sentAtMs >= minResendMs) this.#transmit(flight)
  }

  #transmit(flight: Flight): void {
    flight.times += 1
    flight.sentAtMs = this.#options.nowMs()
    for (const datagram of createDatagrams(flight.items, this.#records, flight.times))
      this.#options.send(datagram, this)
  }
}
