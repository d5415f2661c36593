// A small interface to the NATS client libraries. A failed connection is not reused: a new one is opened.

import { lookup } from 'node:dns/promises'
import type * as JetStreamLibrary from '@nats-io/jetstream'
import type { JetStreamClient, JetStreamManager, JsMsg } from '@nats-io/jetstream'
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { isForbiddenAddress } from '../../transports/index.ts'
import { loadLibrary } from '../optional-library.ts'
import { messageOf, withTimeout } from '../service-responses.ts'
import type { WriteOutcome } from '../sink.ts'

export interface NatsSettings {
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  readonly username: string | undefined
  readonly password: string | undefined
  readonly token: string | undefined
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  /** True: messages go to JetStream streams, which acknowledge each of them. */
  readonly usesJetStream: boolean
}

export interface NatsMessage {
  readonly subject: string
  readonly payload: Buffer
  /** Identifies the message, so that a stream discards duplicates (header Nats-Msg-Id). */
  readonly id: string
}

export interface NatsPublisher {
  readonly isOpen: boolean
  /** Returns one outcome per message. Never rejects. */
  publish(messages: readonly NatsMessage[]): Promise<readonly WriteOutcome[]>
  /** Rejects if the server does not respond, or does not have JetStream. */
  check(): Promise<void>
  /** Closes the connection. Unfinished calls fail. */
  close(): void
}

const done: WriteOutcome = { outcome: 'done' }

/** JetStream status codes from this one on mean that the server cannot store messages at the moment. */
const firstPassingStatus = 500

export async function loadNats({ usesJetStream }: Pick<NatsSettings, 'usesJetStream'>) {
  const { connect } = await loadLibrary('@nats-io/transport-node', () => import('@nats-io/transport-node'))
  const streams = usesJetStream
    ? await loadLibrary('@nats-io/jetstream', () => import('@nats-io/jetstream'))
    : undefined
  return { connect, streams }
}

export async function openNats(settings: NatsSettings): Promise<NatsPublisher> {
  const { connection, streams } = await connectTo(settings)
  const client = streams?.jetstream(connection, { timeout: settings.requestTimeoutMs })
  const check = async (): Promise<void> => {
    await withTimeout(connection.flush(), settings.requestTimeoutMs)
    await streams?.jetstreamManager(connection, { checkAPI: true, timeout: settings.requestTimeoutMs })
  }
  return new Publisher({ connection, client, check, requestTimeoutMs: settings.requestTimeoutMs })
}

interface Connected {
  readonly connection: NatsConnection
  /** Undefined: JetStream is not used. */
  readonly streams: typeof JetStreamLibrary | undefined
}

async function connectTo(settings: NatsSettings): Promise<Connected> {
  const { connect, streams } = await loadNats(settings)
  await refuseForbidden(settings)
  return { connection: await connect(optionsOf(settings)), streams }
}

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
  /** Ends the subscription. */
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

export interface NatsConsumer {
  close(): Promise<void>
}

/** The connection is closed after two pings without response. */
const pingIntervalMs = 10_000
const maxPingsWithoutResponse = 2
/** The server sends something at least every half of this time. */
const pullExpiresMs = 10_000
/** JetStream redelivers a message that is not acknowledged within this time. */
const ackWaitMs = 10_000
const nanosecondsPerMs = 1_000_000

export async function consumeNats(
  settings: NatsSettings,
  subscription: NatsSubscription,
  callbacks: NatsCallbacks,
): Promise<NatsConsumer> {
  const { connection, streams } = await connectTo(settings)
  let isClosed = false
  const end = (): boolean => {
    const wasOpen = !isClosed
    isClosed = true
    connection.close().catch(() => {})
    return wasOpen
  }
  const fail = (error: unknown): void => {
    if (end()) callbacks.noteFailed(error)
  }
  void connection.closed().then((error) => fail(error ?? new Error('NATS closed the connection')))
  const consumption: Consumption = {
    connection,
    subscription,
    callbacks,
    fail,
    requestTimeoutMs: settings.requestTimeoutMs,
  }
  try {
    if (streams === undefined) await subscribe(consumption)
    else await consumeStream(streams, consumption)
  } catch (error) {
    end()
    throw error
  }
  return {
    close: async () => {
      end()
    },
  }
}

interface Consumption {
  readonly connection: NatsConnection
  readonly subscription: NatsSubscription
  readonly callbacks: NatsCallbacks
  readonly fail: (error: unknown) => void
  readonly requestTimeoutMs: number
}

async function subscribe({ connection, subscription, callbacks, fail, requestTimeoutMs }: Consumption): Promise<void> {
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
      else take(receivedMessage(message)).catch(fail)
    },
  })
  // The server accepts or refuses the subscription before it responds to this ping.
  await withTimeout(connection.flush(), requestTimeoutMs)
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
    if (nameOf(error) !== 'ConsumerNotFoundError') throw error
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
    const isTaken = await callbacks.take(storedMessage(message))
    if (isTaken) message.ack()
    // No reason is sent: older servers do not understand it.
    else message.term()
  } finally {
    clearInterval(beats)
  }
}

function receivedMessage({ subject, data, headers }: Pick<Msg, 'subject' | 'data' | 'headers'>): NatsReceived {
  const payload = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return { subject, payload, headers: headerPairs(headers), stored: undefined }
}

function storedMessage(message: JsMsg): NatsReceived {
  const { stream, streamSequence: sequence, deliveryCount: deliveries } = message.info
  return {
    ...receivedMessage(message),
    stored: { stream, sequence, deliveries, storedAtMs: message.time.getTime() },
  }
}

function headerPairs(headers: MsgHdrs | undefined): readonly (readonly [name: string, text: string])[] {
  return (headers?.keys() ?? []).map((name) => [name, headers?.values(name).join(', ') ?? ''] as const)
}

/** Rejects if the server does not respond, or does not have the stream. */
export async function checkNatsSubscription(settings: NatsSettings, subscription: NatsSubscription): Promise<void> {
  const { connection, streams } = await connectTo(settings)
  try {
    await withTimeout(connection.flush(), settings.requestTimeoutMs)
    if (streams === undefined) return
    const manager = await streams.jetstreamManager(connection, { checkAPI: true, timeout: settings.requestTimeoutMs })
    const { stream, subject } = subscription
    if (stream === undefined) await manager.streams.find(subject ?? '')
    else await manager.streams.info(stream)
  } finally {
    connection.close().catch(() => {})
  }
}

/** The library resolves host names itself. */
async function refuseForbidden({ servers }: NatsSettings): Promise<void> {
  for (const { host } of servers) {
    const addresses = await lookup(host, { all: true })
    if (addresses.some(({ address }) => isForbiddenAddress(address)))
      throw new Error(`${host} has an address that is denied by node.denied_addresses`)
  }
}

function optionsOf(settings: NatsSettings): ConnectionOptions {
  const { servers, username, password, token, tls, connectTimeoutMs } = settings
  return {
    name: 'godwit',
    servers: servers.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: connectTimeoutMs,
    pingInterval: pingIntervalMs,
    maxPingOut: maxPingsWithoutResponse,
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    // Null: TLS is not used. Undefined would let the server decide.
    tls: tls ?? null,
  }
}

interface PublisherParts {
  readonly connection: NatsConnection
  readonly client: JetStreamClient | undefined
  readonly check: () => Promise<void>
  readonly requestTimeoutMs: number
}

class Publisher implements NatsPublisher {
  readonly check: () => Promise<void>
  readonly #connection: NatsConnection
  readonly #client: JetStreamClient | undefined
  readonly #requestTimeoutMs: number
  /** Error messages of subjects to which publishing was refused since the last publish call. */
  readonly #denied = new Map<string, string>()
  #isClosed = false

  constructor({ connection, client, check, requestTimeoutMs }: PublisherParts) {
    this.check = check
    this.#connection = connection
    this.#client = client
    this.#requestTimeoutMs = requestTimeoutMs
    void this.#watch()
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#connection.isClosed()
  }

  async publish(messages: readonly NatsMessage[]): Promise<readonly WriteOutcome[]> {
    const client = this.#client
    if (client !== undefined) return await Promise.all(messages.map((message) => this.#store(client, message)))
    const outcomes = messages.map((message) => this.#publish(message))
    try {
      // The server processes all earlier messages before it responds to this ping.
      await withTimeout(this.#connection.flush(), this.#requestTimeoutMs)
    } catch (error) {
      this.close()
      return messages.map(() => ({ outcome: 'retry', why: messageOf(error) }))
    }
    return outcomes.map((outcome, index) => {
      const why = this.#denied.get(messages[index].subject)
      return why === undefined ? outcome : { outcome: 'refused', why }
    })
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Messages that were not sent have no outcome at the server: the action queue sends them again.
    this.#connection.close().catch(() => {})
  }

  #publish({ subject, payload }: NatsMessage): WriteOutcome {
    this.#denied.delete(subject)
    try {
      this.#connection.publish(subject, payload)
      return done
    } catch (error) {
      return outcomeOfError(error)
    }
  }

  async #store(client: JetStreamClient, { subject, payload, id }: NatsMessage): Promise<WriteOutcome> {
    try {
      await withTimeout(client.publish(subject, payload, { msgID: id }), this.#requestTimeoutMs)
      return done
    } catch (error) {
      const outcome = outcomeOfError(error)
      if (nameOf(error) === 'JetStreamNotEnabled')
        return { outcome: 'retry', why: `no stream has the subject ${subject}, or JetStream is not enabled` }
      if (nameOf(error) === 'TimeoutError') this.close()
      return outcome
    }
  }

  /** The server reports a refused publish later, without naming the message. */
  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error' || nameOf(status.error) !== 'PermissionViolationError') continue
      const { operation, subject } = status.error as Error & { readonly operation: string; readonly subject: string }
      if (operation === 'publish') this.#denied.set(subject, `not allowed to publish to the subject ${subject}`)
    }
  }
}

/** Errors are distinguished by name, so that the library need not be loaded for this. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

function outcomeOfError(error: unknown): WriteOutcome {
  const why = messageOf(error)
  const name = nameOf(error)
  if (name === 'InvalidArgumentError' || name === 'InvalidSubjectError' || name === 'PermissionViolationError')
    return { outcome: 'refused', why }
  // The stream refuses this message; with a 5xx code it cannot store any message at the moment.
  if (name === 'JetStreamApiError' || name === 'StreamNotFoundError') {
    const { status } = error as Error & { readonly status: number }
    return status < firstPassingStatus ? { outcome: 'refused', why } : { outcome: 'retry', why }
  }
  return { outcome: 'retry', why }
}
