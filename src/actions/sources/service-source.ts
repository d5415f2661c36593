// A source of a service: its messages are passed to rules, and acknowledged to the service when the results of the rules are
// durable. After a crash messages may be repeated, and none is skipped.

import { formatError, type ReceivedMessage, type SourceCallbacks, type SourceConnection } from '../../sinks/index.ts'
import { Backoff } from '../delivery/backoff.ts'
import { maskUrlSecrets } from '../../config/index.ts'
import { toSourceTopicPrefix } from '../../core/index.ts'
import { parseTopicName } from '../../protocol/index.ts'
import type { SourceReport } from '../plan/rule-reports.ts'
import type { SourceMessage } from './source-publisher.ts'

export interface ServiceSourceDependencies {
  /** `type:name` */
  readonly id: string
  /** Rejects if the service does not respond. */
  open(callbacks: SourceCallbacks): Promise<SourceConnection>
  readonly publisher: { publish(message: SourceMessage): Promise<void>; close(): void }
  readMaxPacketBytes(): number
  after(delayMs: number, work: () => void): { cancel(): void }
  random(): number
  onStateChange(state: SourceReport['state'], why: string): void
  /** Reports an internal error. */
  fail(error: unknown): void
}

const firstReconnectDelayMs = 1_000
/** Estimated bytes of a PUBLISH packet besides its topic, properties and payload, with the prefix of `$sources/` topics. */
const packetOverheadBytes = 1_024
const maxPropertyBytes = 65_535

export class ServiceSource {
  readonly #dependencies: ServiceSourceDependencies
  readonly #backoff: Backoff
  #connection: SourceConnection | undefined
  #reconnectTimer: { cancel(): void } | undefined
  /** Number of the current connection. */
  #generation = 0
  #state: SourceReport['state'] = 'disconnected'
  #why = ''
  #received = 0
  #dropped = 0
  #lastError = ''

  constructor(dependencies: ServiceSourceDependencies) {
    this.#dependencies = dependencies
    this.#backoff = new Backoff(firstReconnectDelayMs, () => dependencies.random())
  }

  start(): void {
    this.#open().catch((error: unknown) => this.#dependencies.fail(error))
  }

  /** Called when the service has not responded to the attempt to connect for this time. */
  handleSilence(silentMs: number): void {
    if (this.#state === 'connecting')
      this.#setState('connecting', `the service has not responded for ${silentMs / 1_000} s`)
  }

  stop(why: string): void {
    this.#generation++
    this.#reconnectTimer?.cancel()
    this.#reconnectTimer = undefined
    this.#dependencies.publisher.close()
    this.#closeConnection()
    this.#setState('disconnected', why)
  }

  /** Closes the connection because of `why`, and opens another one after the delay. */
  restart(why: string, delayMs: number): void {
    if (this.#reconnectTimer === undefined && this.#state === 'disconnected') return
    this.#reconnectTimer?.cancel()
    this.#reopen(new Error(why), delayMs)
  }

  report(): SourceReport {
    const { id } = this.#dependencies
    const counters = { received: this.#received, dropped: this.#dropped }
    return { id, state: this.#state, stateReason: this.#why, ...counters, lastError: this.#lastError }
  }

  async #open(): Promise<void> {
    const generation = ++this.#generation
    this.#setState('connecting', this.#lastError)
    const isCurrent = (): boolean => generation === this.#generation
    try {
      const connection = await this.#dependencies.open(this.#createCallbacks(isCurrent))
      if (isCurrent()) this.#connection = connection
      else connection.close()
    } catch (error) {
      if (isCurrent()) this.#reopen(error)
    }
  }

  /** Callbacks of a connection. They have no effect after the connection was replaced. */
  #createCallbacks(isCurrent: () => boolean): SourceCallbacks {
    return {
      take: async (message) => {
        if (!isCurrent()) throw new Error('the source has another connection, or is stopped')
        return await this.#take(message)
      },
      onDropped: (why) => {
        if (isCurrent()) this.#drop(why)
      },
      onConnected: () => {
        if (!isCurrent()) return
        this.#backoff.reset()
        this.#setState('connected', '')
      },
      onFailed: (error) => {
        if (isCurrent()) this.#reopen(error)
      },
    }
  }

  #reopen(error: unknown, delayMs = this.#backoff.computeNextMs()): void {
    this.#generation++
    this.#lastError = maskUrlSecrets(formatError(error))
    this.#closeConnection()
    this.#setState('disconnected', this.#lastError)
    this.#reconnectTimer = this.#dependencies.after(delayMs, () => {
      this.#reconnectTimer = undefined
      this.start()
    })
  }

  #closeConnection(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  async #take(received: ReceivedMessage): Promise<boolean> {
    const message = this.#toSourceMessage(received)
    if (message === undefined) return false
    await this.#dependencies.publisher.publish(message)
    this.#received++
    return true
  }

  /** Returns undefined, and counts the message as dropped, if this broker can never accept it. */
  #toSourceMessage({ topic, payload, properties, name }: ReceivedMessage): SourceMessage | undefined {
    const { id } = this.#dependencies
    const topicName = parseTopicName(toSourceTopicPrefix(id) + topic)
    const propertyBytes = properties.reduce(
      (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text) + 5,
      0,
    )
    const bytes = payload.length + propertyBytes + Buffer.byteLength(topic) + packetOverheadBytes
    const maxBytes = this.#dependencies.readMaxPacketBytes()
    if (topicName === undefined) {
      this.#drop(`${name}: the topic ${JSON.stringify(topic)} is not a valid topic name`)
      return undefined
    }
    if (propertyBytes > maxPropertyBytes) {
      this.#drop(`${name} has ${propertyBytes} bytes of properties; maximum ${maxPropertyBytes}`)
      return undefined
    }
    if (bytes > maxBytes) {
      this.#drop(`${name} has ${bytes} bytes; maximum ${maxBytes}: increase mqtt.max_packet_size`)
      return undefined
    }
    return { topic: topicName, payload, properties }
  }

  #drop(why: string): void {
    this.#dropped++
    this.#lastError = why
  }

  #setState(state: SourceReport['state'], why: string): void {
    if (state === this.#state && why === this.#why) return
    this.#state = state
    this.#why = why
    this.#dependencies.onStateChange(state, why)
  }
}
