// The library for Kafka behind an interface of two functions. Whatever fails is thrown: the spool tries again, so the library
// does not. A client is used until its first failure without an answer of a broker, and then replaced.

import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type * as KafkaLibrary from 'kafkajs'
import type { ICustomPartitioner, ISocketFactoryArgs, Kafka, SASLOptions } from 'kafkajs'
import { isForbiddenAddress, safeLookup } from '../../transports/index.ts'
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
  /** In one request for each broker that leads a partition of them. */
  send(topic: string, records: readonly KafkaRecord[]): Promise<void>
  /** Rejects where the topic takes no records. */
  check(topic: string): Promise<void>
  /** What is under way fails. */
  close(): void
}

type Library = typeof KafkaLibrary

const keepAliveMs = 30_000
const brokerPort = 9_092
const zstdCodec = 4

export async function openKafkaProducer(settings: KafkaProducerSettings): Promise<KafkaProducer> {
  const library = await load()
  const { kafka, sockets } = clientOf(library, settings)
  const partitioner = new BatchPartitioner(library.Partitioners.DefaultPartitioner)
  const producer = kafka.producer({ createPartitioner: partitioner.create })
  const admin = kafka.admin()
  const close = (): void => {
    for (const end of [producer.disconnect(), admin.disconnect()]) end.catch(() => {})
    sockets.destroy()
  }
  try {
    await Promise.all([producer.connect(), admin.connect()])
  } catch (error) {
    close()
    throw error
  }
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
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      const partitions = topics.find(({ name }) => name === topic)?.partitions ?? []
      if (!partitions.some(({ leader }) => leader >= 0)) throw new Error(`the topic ${topic} has no leader`)
    },
    close,
  }
}

/** The name that Kafka gives the error; undefined: no broker has answered. */
export function kafkaErrorType(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type } = cause as { readonly type?: unknown }
    if (typeof type === 'string' && cause.name.startsWith('KafkaJS')) return type
  }
  return undefined
}

async function load(): Promise<Library> {
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

function clientOf(
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

/** The connections of one client. The library leaves those open that do not answer. */
class Sockets {
  readonly #open = new Set<Socket>()

  open({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    const target = { host, port, lookup: safeLookup }
    const socket = ssl
      ? connectTls({ ...target, ...(isIP(host) === 0 ? { servername: host } : {}), ...ssl }, onConnect)
      : connectTcp(target, onConnect)
    socket.setKeepAlive(true, keepAliveMs)
    // The library drops its listeners before the last error.
    socket.on('error', () => {})
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // A cluster names its brokers itself.
    if (isForbiddenAddress(host)) socket.destroy(new Error(`the address ${host} is denied by node.denied_addresses`))
    return socket
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy(new Error('the connection was closed'))
  }
}

/** Records with a key go where every client of Kafka puts them. Those without one go together, so that a batch is one request. */
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
