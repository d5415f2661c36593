// A small interface to the Kafka client library. Errors are thrown. A producer does not retry, because the action queue does; a
// consumer retries once. The caller replaces a client after the first error without a response of a Kafka broker.

import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type * as KafkaLibrary from 'kafkajs'
import type {
  Consumer,
  EachBatchPayload,
  ICustomPartitioner,
  ISocketFactoryArgs,
  Kafka,
  KafkaMessage,
  SASLOptions,
} from 'kafkajs'
import { endOnException, isForbiddenAddress, lookUpAllowedAddresses } from '../../transports/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'

export interface KafkaRecord {
  /** Undefined: any partition. */
  readonly key: string | undefined
  readonly value: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export interface KafkaClientSettings {
  readonly brokers: readonly string[]
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly sasl: SASLOptions | undefined
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
}

export interface KafkaProducerSettings extends KafkaClientSettings {
  readonly acks: 'all' | 'leader'
  readonly compression: 'no_compression' | 'gzip' | 'zstd'
}

export interface KafkaProducer {
  /** Sends one request to each broker that leads a partition of the records. */
  send(topic: string, records: readonly KafkaRecord[]): Promise<void>
  /** Rejects if the topic does not accept records; without a topic: if no broker responds. */
  check(topic: string | undefined): Promise<void>
  /** Closes the connection. Writes in progress fail. */
  close(): void
}

type Library = typeof KafkaLibrary

const keepAliveMs = 30_000
const brokerPort = 9_092
const zstdCodec = 4
const heartheartbeatTimerPerSession = 10
const maxFetchWaitMs = 500

export async function openKafkaProducer(
  settings: KafkaProducerSettings,
  attempt: OpeningAttempt,
): Promise<KafkaProducer> {
  const library = await loadKafka()
  const { kafka, sockets } = createClient(library, settings)
  const partitioner = new BatchPartitioner(library.Partitioners.DefaultPartitioner)
  const producer = kafka.producer({ createPartitioner: partitioner.create })
  const admin = kafka.admin()
  const close = (): void => {
    for (const end of [producer.disconnect(), admin.disconnect()]) end.catch(() => {})
    sockets.destroy()
  }
  attempt.onFailure(close)
  await Promise.all([producer.connect(), admin.connect()])
  const { CompressionTypes } = library
  const codecs = { no_compression: CompressionTypes.None, gzip: CompressionTypes.GZIP, zstd: CompressionTypes.ZSTD }
  return {
    async send(topic, records) {
      partitioner.beginBatch()
      await producer.send({
        topic,
        messages: records.map(({ key, value, headers }) => ({ key: key ?? null, value, headers })),
        acks: settings.acks === 'all' ? -1 : 1,
        timeout: settings.requestTimeoutMs,
        compression: codecs[settings.compression],
      })
    },
    async check(topic) {
      if (topic === undefined) {
        await admin.describeCluster()
        return
      }
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      const partitions = topics.find(({ name }) => name === topic)?.partitions ?? []
      if (!partitions.some(({ leader }) => leader >= 0))
        throw new Error(`no partition of the topic ${topic} has a leader: create the topic, or check the Kafka brokers`)
    },
    close,
  }
}

export interface KafkaConsumerSettings extends KafkaClientSettings {
  readonly topic: string
  readonly groupId: string
  readonly fromBeginning: boolean
  readonly maxBytes: number
  readonly sessionTimeoutMs: number
}

export interface ConsumedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly timestamp: string
  readonly key: Buffer | undefined
  readonly value: Buffer
  readonly headers: readonly (readonly [string, string])[]
}

export interface ConsumerCallbacks {
  /** Resolves when the results of rules are stored; then the offsets are committed. Rejects: Kafka delivers the records again. */
  take(records: readonly ConsumedRecord[]): Promise<void>
  /** Called when the group has assigned partitions to this member. */
  onJoined(): void
  /** Called when the consumer has failed and reads no more. */
  onFailed(error: unknown): void
}

export interface KafkaConsumer {
  /** Joins the group and begins to receive. */
  receive(): Promise<void>
  /** Leaves the group. Messages that were not processed are received again by the next member of the group. */
  leave(): Promise<void>
  /** Closes the connection at once. */
  close(): void
}

export async function openKafkaConsumer(
  settings: KafkaConsumerSettings,
  callbacks: ConsumerCallbacks,
): Promise<KafkaConsumer> {
  const library = await loadKafka()
  const { kafka, sockets } = createClient(library, settings)
  const { topic, groupId, fromBeginning, maxBytes, sessionTimeoutMs: sessionTimeout } = settings
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout,
    heartbeatInterval: Math.max(1, Math.floor(sessionTimeout / heartheartbeatTimerPerSession)),
    maxBytesPerPartition: maxBytes,
    maxWaitTimeInMs: maxFetchWaitMs,
    retry: { retries: 1, initialRetryTime: 100, restartOnFailure: async () => false },
  })
  consumer.on(consumer.events.GROUP_JOIN, () => callbacks.onJoined())
  consumer.on(consumer.events.CRASH, ({ payload }) => callbacks.onFailed(payload.error))
  return {
    async receive() {
      await consumer.connect()
      await consumer.subscribe({ topics: [topic], fromBeginning })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => takeBatch(consumer, payload, callbacks, sessionTimeout),
      })
    },
    leave: () => consumer.disconnect(),
    close: () => {
      consumer.disconnect().catch(() => {})
      sockets.destroy()
    },
  }
}

async function takeBatch(
  consumer: Consumer,
  payload: EachBatchPayload,
  callbacks: ConsumerCallbacks,
  sessionTimeoutMs: number,
): Promise<void> {
  const { topic, partition, messages } = payload.batch
  // A full action queue may delay the rules. Heartbeats keep this member in the group.
  const heartbeatTimer = setInterval(
    () => void payload.heartbeat().catch(() => {}),
    sessionTimeoutMs / heartheartbeatTimerPerSession,
  )
  try {
    await callbacks.take(messages.map((message) => toConsumedRecord(topic, partition, message)))
  } finally {
    clearInterval(heartbeatTimer)
  }
  const last = messages.at(-1)?.offset
  if (last === undefined || payload.isStale()) return
  payload.resolveOffset(last)
  await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(last) + 1n) }])
}

function toConsumedRecord(topic: string, partition: number, message: KafkaMessage): ConsumedRecord {
  const { offset, timestamp, key, value, headers = {} } = message
  const pairs = Object.entries(headers).flatMap(([name, texts]) =>
    [texts ?? ''].flat().map((text) => [name, text.toString()] as const),
  )
  return {
    topic,
    partition,
    offset,
    timestamp,
    key: key ?? undefined,
    value: value ?? Buffer.alloc(0),
    headers: pairs,
  }
}

/** Returns Kafka's name of the error; undefined: no broker has responded. */
export function findKafkaErrorType(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type } = cause as { readonly type?: unknown }
    if (typeof type === 'string' && cause.name.startsWith('KafkaJS')) return type
  }
  return undefined
}

export async function loadKafka(): Promise<Library> {
  const { default: library } = await loadLibrary(
    'kafkajs',
    () => import('kafkajs') as unknown as Promise<{ readonly default: Library }>,
  )
  const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)]
  library.CompressionCodecs[zstdCodec] = () => ({
    compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
    decompress: (buffer: Buffer) => decompress(buffer),
  })
  return library
}

function createClient(
  library: Library,
  settings: KafkaClientSettings,
): { readonly kafka: Kafka; readonly sockets: Sockets } {
  const sockets = new Sockets()
  const { brokers, tls, sasl, connectTimeoutMs, requestTimeoutMs } = settings
  const kafka = new library.Kafka({
    clientId: 'godwit',
    brokers: brokers.map((broker) => (/:\d+$/.test(broker) ? broker : `${broker}:${brokerPort}`)),
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(sasl === undefined ? {} : { sasl }),
    connectionTimeout: connectTimeoutMs,
    authenticationTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    retry: { retries: 0, initialRetryTime: 1 },
    logLevel: library.logLevel.NOTHING,
    socketFactory: (target) => sockets.open(target),
  })
  return { kafka, sockets }
}

/** The connections of one client. The library does not close a connection whose Kafka broker does not respond, so this class does. */
class Sockets {
  readonly #open = new Set<Socket>()

  open({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    const target = { host, port, lookup: lookUpAllowedAddresses }
    const socket = ssl
      ? connectTls({ ...target, ...(isIP(host) === 0 ? { servername: host } : {}), ...ssl }, onConnect)
      : connectTcp(target, onConnect)
    socket.setKeepAlive(true, keepAliveMs)
    endOnException(socket)
    // The library drops its listeners before the last error.
    socket.on('error', () => {})
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // The cluster announces the addresses of its brokers, which may be denied.
    if (isForbiddenAddress(host)) socket.destroy(new Error(`the address ${host} is denied by node.denied_addresses`))
    return socket
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy(new Error('the connection was closed'))
  }
}

/** A record with a key goes to the same partition as with other Kafka clients. Records without a key share one, so that a batch is one request. */
class BatchPartitioner {
  readonly #byKey: ICustomPartitioner
  #batch = Math.floor(Math.random() * 1_000)

  constructor(byKey: ICustomPartitioner) {
    this.#byKey = byKey
  }

  beginBatch(): void {
    this.#batch++
  }

  readonly create: ICustomPartitioner = () => {
    const byKey = this.#byKey()
    return (record) => {
      const { key } = record.message
      if (key !== null && key !== undefined) return byKey(record)
      const available = record.partitionMetadata.filter(({ leader }) => leader >= 0)
      const partitions = available.length > 0 ? available : record.partitionMetadata
      return partitions[this.#batch % partitions.length].partitionId
    }
  }
}
