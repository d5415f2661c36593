// Receives messages from NATS subjects or JetStream streams.

import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import {
  connectNats,
  type JetStreamLibrary,
  type JetStreamManager,
  type JsMsg,
  type Msg,
  type MsgHdrs,
  readNatsErrorName,
  type NatsConnected,
  type NatsConnection,
  type NatsSettings,
} from './nats-library.ts'

/** A message from NATS with its metadata. */
export interface NatsReceived {
  readonly subject: string
  readonly payload: Buffer
  readonly headers: readonly (readonly [name: string, text: string])[]
  /** Sequence number in the JetStream stream. */
  readonly stored:
    | { readonly stream: string; readonly sequence: number; readonly deliveries: number; readonly storedAtMs: number }
    | undefined
}

export interface NatsCallbacks {
  /** True: the message was stored; false: it will never be accepted. */
  take(message: NatsReceived): Promise<boolean>
  /** Core NATS: a message was dropped, because too many messages were waiting. */
  noteDropped(message: NatsReceived): void
  /** The subscription has ended. Called once or several times. */
  noteFailed(error: unknown): void
}

export interface NatsSubscription {
  readonly subject: string | undefined
  readonly queueGroup: string | undefined
  readonly stream: string | undefined
  readonly consumer: string
  readonly fromBeginning: boolean
  readonly maxPending: number
}

/** The server sends something at least every half of this time. */
const pullExpiresMs = 10_000
/** JetStream redelivers a message that is not acknowledged within this time. */
const ackWaitMs = 10_000
const nanosecondsPerMs = 1_000_000

/** Opens a connection to the server on which a subject or a stream can be read. */
export async function openNatsReader(settings: NatsSettings, attempt: OpeningAttempt): Promise<NatsReader> {
  return new NatsReader(await connectNats(settings, attempt), settings.requestTimeoutMs)
}

export class NatsReader {
  readonly #connected: NatsConnected
  readonly #requestTimeoutMs: number
  #isClosed = false

  constructor(connected: NatsConnected, requestTimeoutMs: number) {
    this.#connected = connected
    this.#requestTimeoutMs = requestTimeoutMs
  }

  async receive(subscription: NatsSubscription, callbacks: NatsCallbacks): Promise<void> {
    const { connection, streams } = this.#connected
    const fail = (error: unknown): void => {
      if (!this.#isClosed) callbacks.noteFailed(error)
    }
    void connection.closed().then((error) => fail(error ?? new Error('NATS closed the connection')))
    const consumption: Consumption = {
      connection,
      subscription,
      callbacks,
      fail,
      requestTimeoutMs: this.#requestTimeoutMs,
    }
    if (streams === undefined) await subscribe(consumption)
    else await consumeStream(streams, consumption)
  }

  /** Rejects if the server does not respond, or does not have the stream. */
  async check({ stream, subject }: NatsSubscription): Promise<void> {
    const { connection, streams } = this.#connected
    await connection.flush()
    if (streams === undefined) return
    const manager = await streams.jetstreamManager(connection, { checkAPI: true, timeout: this.#requestTimeoutMs })
    if (stream === undefined) await manager.streams.find(subject ?? '')
    else await manager.streams.info(stream)
  }

  close(): void {
    this.#isClosed = true
    this.#connected.connection.close().catch(() => {})
  }
}

interface Consumption {
  readonly connection: NatsConnection
  readonly subscription: NatsSubscription
  readonly callbacks: NatsCallbacks
  readonly fail: (error: unknown) => void
  readonly requestTimeoutMs: number
}

async function subscribe({ connection, subscription, callbacks, fail }: Consumption): Promise<void> {
  const { subject = '', queueGroup, maxPending } = subscription
  let pending = 0
  const take = async (message: NatsReceived): Promise<void> => {
    if (pending >= maxPending) return callbacks.noteDropped(message)
    pending++
    try {
      await callbacks.take(message)
    } finally {
      pending--
    }
  }
  connection.subscribe(subject, {
    ...(queueGroup === undefined ? {} : { queue: queueGroup }),
    callback: (error, message) => {
      if (error) fail(error)
      else take(toReceivedMessage(message)).catch(fail)
    },
  })
  // The server accepts or refuses the subscription before it responds to this ping.
  await connection.flush()
}

async function consumeStream(streams: typeof JetStreamLibrary, consumption: Consumption): Promise<void> {
  const { connection, subscription, callbacks, fail, requestTimeoutMs: timeout } = consumption
  const manager = await streams.jetstreamManager(connection, { checkAPI: true, timeout })
  const { stream, name } = await ensureConsumer(streams, manager, subscription)
  const consumer = await streams.jetstream(connection, { timeout }).consumers.get(stream, name)
  const messages = await consumer.consume({
    max_messages: subscription.maxPending,
    expires: pullExpiresMs,
    idle_heartbeat: pullExpiresMs / 2,
    abort_on_missing_resource: true,
    callback: (message) => void takeStored(message, callbacks).catch(fail),
  })
  void messages.closed().then((error) => fail(error ?? new Error('NATS ended the consumer')))
  void failSilent(messages, fail)
}

/** Detects a consumer that receives nothing although the connection is open. */
async function failSilent(messages: JetStreamLibrary.ConsumerMessages, fail: (error: unknown) => void): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === 'heartbeats_missed') fail(new Error('NATS sends no heartbeats for the consumer'))
    else if (type === 'consumer_deleted' || type === 'consumer_not_found' || type === 'stream_not_found')
      fail(new Error(`NATS ended the consumer: ${type.replaceAll('_', ' ')}`))
  }
}

/** Creates the consumer unless it exists. */
async function ensureConsumer(
  { AckPolicy, DeliverPolicy }: typeof JetStreamLibrary,
  manager: JetStreamManager,
  { subject, stream: named, consumer: name, fromBeginning, maxPending }: NatsSubscription,
): Promise<{ readonly stream: string; readonly name: string }> {
  const stream = named ?? (await manager.streams.find(subject ?? ''))
  try {
    const { config } = await manager.consumers.info(stream, name)
    if (config.ack_policy !== AckPolicy.Explicit)
      throw new Error(`the consumer ${name} of the stream ${stream} does not have the acknowledgement policy explicit`)
  } catch (error) {
    if (readNatsErrorName(error) !== 'ConsumerNotFoundError') throw error
    await manager.consumers.add(stream, {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: fromBeginning ? DeliverPolicy.All : DeliverPolicy.New,
      max_ack_pending: maxPending,
      ack_wait: ackWaitMs * nanosecondsPerMs,
      ...(subject === undefined ? {} : { filter_subject: subject }),
    })
  }
  return { stream, name }
}

/** Rules may have to wait for a full queue. The server is informed that the message is being processed. */
async function takeStored(message: JsMsg, callbacks: NatsCallbacks): Promise<void> {
  const beats = setInterval(() => message.working(), ackWaitMs / 3)
  try {
    const isTaken = await callbacks.take(toStoredNatsReceived(message))
    if (isTaken) message.ack()
    // No reason is sent: older servers do not understand it.
    else message.term()
  } finally {
    clearInterval(beats)
  }
}

function toReceivedMessage({ subject, data, headers }: Pick<Msg, 'subject' | 'data' | 'headers'>): NatsReceived {
  const payload = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return { subject, payload, headers: toHeaderPairs(headers), stored: undefined }
}

function toStoredNatsReceived(message: JsMsg): NatsReceived {
  const { stream, streamSequence: sequence, deliveryCount: deliveries } = message.info
  return {
    ...toReceivedMessage(message),
    stored: { stream, sequence, deliveries, storedAtMs: message.time.getTime() },
  }
}

function toHeaderPairs(headers: MsgHdrs | undefined): readonly (readonly [name: string, text: string])[] {
  return (headers?.keys() ?? []).map((name) => [name, headers?.values(name).join(', ') ?? ''] as const)
}
