// The library for RabbitMQ behind an interface of two functions. After a failure without an answer for single messages, the connection
// is not used again.

import type { ChannelModel, ConfirmChannel, Options } from 'amqplib'
import { isForbiddenAddress, safeLookup } from '../../transports/index.ts'
import { loadLibrary } from '../optional-library.ts'
import { messageOf, withTimeout } from '../service-answers.ts'
import type { WriteOutcome } from '../sink.ts'

export interface RabbitmqSettings {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly virtualHost: string
  readonly heartbeatSeconds: number
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
}

export interface RabbitmqMessage {
  readonly routingKey: string
  readonly payload: Buffer
  readonly id: string
}

export interface RabbitmqPublisher {
  readonly isOpen: boolean
  /** One outcome for all messages where the connection ends, else one for each. Never rejects. */
  publish(messages: readonly RabbitmqMessage[]): Promise<WriteOutcome | readonly WriteOutcome[]>
  /** Rejects where the exchange does not exist. */
  check(): Promise<void>
  /** What is under way fails. */
  close(): void
}

export interface RabbitmqTarget {
  readonly exchange: string
  readonly isPersistent: boolean
}

const done: WriteOutcome = { outcome: 'done' }

/** The channel is closed with it for a message that no server of that configuration takes, such as one that is too large. */
const preconditionFailed = 406

export async function openRabbitmq(settings: RabbitmqSettings, target: RabbitmqTarget): Promise<RabbitmqPublisher> {
  const { connect } = await loadLibrary('amqplib', () => import('amqplib'))
  const { host, port, username, password, virtualHost, heartbeatSeconds, tls, connectTimeoutMs } = settings
  if (isForbiddenAddress(host)) throw new Error(`the address ${host} is denied by node.denied_addresses`)
  const address: Options.Connect = {
    protocol: tls === undefined ? 'amqp' : 'amqps',
    hostname: host,
    port,
    username,
    password,
    vhost: virtualHost,
    heartbeat: heartbeatSeconds,
  }
  const opening = connect(address, { timeout: connectTimeoutMs, noDelay: true, lookup: safeLookup, ...tls })
  let connection: ChannelModel
  try {
    connection = await withTimeout(opening, connectTimeoutMs)
  } catch (error) {
    // One that opens late is not used.
    opening.then(destroy, () => {})
    throw error
  }
  connection.on('error', () => {})
  try {
    const channel = await withTimeout(connection.createConfirmChannel(), connectTimeoutMs)
    return new Publisher({ connection, channel, target, requestTimeoutMs: settings.requestTimeoutMs })
  } catch (error) {
    destroy(connection)
    throw error
  }
}

/** At once: the other side may not answer any more. */
function destroy(connection: ChannelModel): void {
  const { stream } = connection.connection as unknown as { readonly stream: { destroy(): void } }
  connection.close().catch(() => {})
  stream.destroy()
}

interface PublisherParts {
  readonly connection: ChannelModel
  readonly channel: ConfirmChannel
  readonly target: RabbitmqTarget
  readonly requestTimeoutMs: number
}

class Publisher implements RabbitmqPublisher {
  readonly #parts: PublisherParts
  /** Why, by the IDs of messages that came back since they were sent last. */
  readonly #returned = new Map<string, string>()
  #failure: (Error & { readonly code?: unknown }) | undefined
  #isClosed = false

  constructor(parts: PublisherParts) {
    this.#parts = parts
    const { connection, channel } = parts
    channel.on('return', ({ fields, properties }) => {
      const { replyCode, replyText, routingKey } = fields as unknown as ReturnFields
      const why = `no queue takes it: ${replyText} (${replyCode}), routing key ${JSON.stringify(routingKey)}`
      this.#returned.set(String(properties.messageId), why)
    })
    channel.on('error', (error: Error) => (this.#failure = error))
    channel.on('close', () => this.close())
    connection.on('close', () => (this.#isClosed = true))
  }

  get isOpen(): boolean {
    return !this.#isClosed
  }

  async publish(messages: readonly RabbitmqMessage[]): Promise<WriteOutcome | readonly WriteOutcome[]> {
    this.#returned.clear()
    try {
      return await withTimeout(
        Promise.all(messages.map((message) => this.#send(message))),
        this.#parts.requestTimeoutMs,
      )
    } catch (error) {
      this.close()
      const failure = this.#failure ?? error
      const isForMessage = this.#failure?.code === preconditionFailed
      return { outcome: isForMessage ? 'refused' : 'retry', why: messageOf(failure) }
    }
  }

  async check(): Promise<void> {
    const { channel, target, requestTimeoutMs } = this.#parts
    try {
      // The default exchange is always there, and cannot be asked for.
      const question = target.exchange === '' ? channel.waitForConfirms() : channel.checkExchange(target.exchange)
      await withTimeout<unknown>(question, requestTimeoutMs)
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    destroy(this.#parts.connection)
  }

  /** Rejects where the channel ends. A message that came back was told of before it is confirmed. */
  #send({ routingKey, payload, id }: RabbitmqMessage): Promise<WriteOutcome> {
    const { channel, target } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>()
    const options = { mandatory: true, persistent: target.isPersistent, messageId: id, appId: 'godwit' }
    channel.publish(target.exchange, routingKey, payload, options, (error: unknown) => {
      const returned = this.#returned.get(id)
      if (returned !== undefined) return resolve({ outcome: 'refused', why: returned })
      if (error === null || error === undefined) return resolve(done)
      if (this.#isClosed || this.#failure !== undefined) return reject(error)
      // A queue that is full, or a disk that fails.
      resolve({ outcome: 'retry', why: `RabbitMQ does not take it now: ${messageOf(error)}` })
    })
    return promise
  }
}

interface ReturnFields {
  readonly replyCode: number
  readonly replyText: string
  readonly routingKey: string
}
