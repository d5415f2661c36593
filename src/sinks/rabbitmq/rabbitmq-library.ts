// A small interface to the RabbitMQ client library. After a failure without a response for single messages, the connection is not used
// again.

import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage, Options } from 'amqplib'
import { isForbiddenAddress, lookUpAllowedAddresses } from '../../transports/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { formatError } from '../service-responses.ts'
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

/** Headers and properties, as the library names them. */
export type RabbitmqOptions = Options.Publish

export interface RabbitmqMessage {
  readonly routingKey: string
  readonly payload: Buffer
  readonly id: string
  /** Headers and properties of the settings. */
  readonly options: RabbitmqOptions
}

export interface RabbitmqPublisher {
  readonly isOpen: boolean
  /** Returns one outcome for each message, or one for all if the connection ends. Never rejects. */
  publish(messages: readonly RabbitmqMessage[]): Promise<WriteOutcome | readonly WriteOutcome[]>
  /** Rejects if the exchange does not exist. */
  check(): Promise<void>
  /** Closes the connection. Writes in progress fail with `why`. */
  close(why?: Error): void
}

export interface RabbitmqTarget {
  readonly exchange: string
  readonly isPersistent: boolean
}

const done: WriteOutcome = { outcome: 'done' }

/** The server closes the channel with this code for a message that it will never accept, such as one that is too large. */
const preconditionFailed = 406

export function loadRabbitmq() {
  return loadLibrary('amqplib', () => import('amqplib'))
}

export async function openRabbitmq(
  settings: RabbitmqSettings,
  target: RabbitmqTarget,
  attempt: OpeningAttempt,
): Promise<RabbitmqPublisher> {
  const connection = await connectTo(settings, attempt)
  return new Publisher({ connection, channel: await connection.createConfirmChannel(), target })
}

async function connectTo(settings: RabbitmqSettings, attempt: OpeningAttempt): Promise<ChannelModel> {
  const { connect } = await loadRabbitmq()
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
  const opening = connect(address, { timeout: connectTimeoutMs, noDelay: true, lookup: lookUpAllowedAddresses, ...tls })
  // A connection that opens after the attempt has failed is not used.
  attempt.onFailure(() => opening.then(destroy))
  const connection = await opening
  connection.on('error', () => {})
  return connection
}

/** A message of a queue, as RabbitMQ delivers it. */
export interface QueueMessage {
  readonly payload: Buffer
  readonly fields: { readonly exchange: string; readonly routingKey: string; readonly redelivered: boolean }
  readonly columns: Readonly<Record<string, string | number | undefined>>
  readonly headers: readonly (readonly [name: string, text: string])[]
}

export interface QueueCallbacks {
  /** True: the message is acknowledged; false: it is rejected without `requeue`. */
  take(message: QueueMessage): Promise<boolean>
  /** Called when the connection has ended, once or several times. */
  onFailed(error: unknown): void
}

/** Opens a connection to the server on which a queue can be read. */
export async function openQueueReader(settings: RabbitmqSettings, attempt: OpeningAttempt): Promise<QueueReader> {
  const connection = await connectTo(settings, attempt)
  return new QueueReader(connection, await connection.createChannel())
}

export class QueueReader {
  readonly #connection: ChannelModel
  readonly #channel: Channel
  /** The reason for which the server closes the channel, which it sends before. */
  #channelError: unknown
  #isClosed = false

  constructor(connection: ChannelModel, channel: Channel) {
    this.#connection = connection
    this.#channel = channel
    channel.on('error', (error: Error) => (this.#channelError = error))
  }

  /** `prefetch`: maximum messages that were not acknowledged. Rejects if the queue does not exist. */
  async receive(
    { queue, prefetch }: { readonly queue: string; readonly prefetch: number },
    callbacks: QueueCallbacks,
  ): Promise<void> {
    const channel = this.#channel
    const fail = (error: unknown): void => {
      if (!this.#isClosed) callbacks.onFailed(this.#channelError ?? error)
    }
    this.#connection.on('close', (error?: Error) => fail(error ?? new Error('RabbitMQ closed the connection')))
    channel.on('close', () => fail(new Error('RabbitMQ closed the channel')))
    const take = (message: ConsumeMessage | null): void => {
      if (message === null) fail(new Error(`RabbitMQ ended the consumer: the queue ${queue} may be deleted`))
      else takeMessage(channel, message, callbacks).catch(fail)
    }
    try {
      await channel.prefetch(prefetch)
      await channel.consume(queue, take)
    } catch (error) {
      throw this.#channelError ?? error
    }
  }

  /** Rejects if the queue does not exist. */
  async check(queue: string): Promise<void> {
    await this.#channel.checkQueue(queue)
  }

  close(): void {
    this.#isClosed = true
    destroy(this.#connection)
  }
}

/** Unacknowledged messages are delivered again on the next connection. */
async function takeMessage(channel: Channel, message: ConsumeMessage, callbacks: QueueCallbacks): Promise<void> {
  const isTaken = await callbacks.take(queueMessage(message))
  if (isTaken) channel.ack(message)
  // Without `requeue`, RabbitMQ passes the message to the dead letter exchange of the queue, if there is one.
  else channel.nack(message, false, false)
}

function queueMessage({ content, fields, properties }: ConsumeMessage): QueueMessage {
  const { contentType, contentEncoding, deliveryMode, priority, correlationId, replyTo, expiration } = properties
  const { messageId, timestamp, type, userId, appId, clusterId } = properties
  const seconds = toOptionalNumber(timestamp)
  return {
    payload: content,
    fields,
    columns: {
      content_type: toOptionalText(contentType),
      content_encoding: toOptionalText(contentEncoding),
      delivery_mode: toOptionalNumber(deliveryMode),
      priority: toOptionalNumber(priority),
      correlation_id: toOptionalText(correlationId),
      reply_to: toOptionalText(replyTo),
      expiration: toOptionalText(expiration),
      message_id: toOptionalText(messageId),
      ts: seconds === undefined ? undefined : seconds * 1_000,
      type: toOptionalText(type),
      user_id: toOptionalText(userId),
      app_id: toOptionalText(appId),
      cluster_id: toOptionalText(clusterId),
    },
    headers: Object.entries(properties.headers ?? {}).map(([name, value]) => [name, formatHeader(value)] as const),
  }
}

function toOptionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function toOptionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function formatHeader(value: unknown): string {
  if (typeof value === 'string') return value
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return JSON.stringify(value) ?? ''
}

/** Closes the connection without waiting, because the server may not respond any more. */
function destroy(connection: ChannelModel): void {
  const { stream } = connection.connection as unknown as { readonly stream: { destroy(): void } }
  connection.close().catch(() => {})
  stream.destroy()
}

interface PublisherParts {
  readonly connection: ChannelModel
  readonly channel: ConfirmChannel
  readonly target: RabbitmqTarget
}

class Publisher implements RabbitmqPublisher {
  readonly #parts: PublisherParts
  /** By message ID: why the server returned a message since it was sent. */
  readonly #returned = new Map<string, string>()
  #failure: (Error & { readonly code?: unknown }) | undefined
  #isClosed = false

  constructor(parts: PublisherParts) {
    this.#parts = parts
    const { connection, channel } = parts
    channel.on('return', ({ fields, properties }) => {
      const { replyCode, replyText, routingKey } = fields as unknown as ReturnFields
      const why = `no queue receives it: ${replyText} (${replyCode}), routing key ${JSON.stringify(routingKey)}`
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
      return await Promise.all(messages.map((message) => this.#send(message)))
    } catch (error) {
      this.close()
      const failure = this.#failure ?? error
      const isForMessage = this.#failure?.code === preconditionFailed
      return { outcome: isForMessage ? 'refused' : 'retry', why: formatError(failure) }
    }
  }

  async check(): Promise<void> {
    const { channel, target } = this.#parts
    try {
      // The default exchange always exists, and cannot be checked.
      if (target.exchange === '') await channel.waitForConfirms()
      else await channel.checkExchange(target.exchange)
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(why?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#failure ??= why
    destroy(this.#parts.connection)
  }

  /** Rejects if the channel is closed. The server returns an unroutable message before it confirms it. */
  #send({ routingKey, payload, id, options: own }: RabbitmqMessage): Promise<WriteOutcome> {
    const { channel, target } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>()
    const options = { mandatory: true, persistent: target.isPersistent, appId: 'godwit', ...own, messageId: id }
    channel.publish(target.exchange, routingKey, payload, options, (error: unknown) => {
      const returned = this.#returned.get(id)
      if (returned !== undefined) return resolve({ outcome: 'refused', why: returned })
      if (error === null || error === undefined) return resolve(done)
      if (this.#isClosed || this.#failure !== undefined) return reject(error)
      // A queue is full, or a disk of the server fails.
      resolve({ outcome: 'retry', why: `RabbitMQ does not accept the message now: ${formatError(error)}` })
    })
    return promise
  }
}

interface ReturnFields {
  readonly replyCode: number
  readonly replyText: string
  readonly routingKey: string
}
