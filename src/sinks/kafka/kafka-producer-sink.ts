// The sink for Kafka. A batch is one request. Records with the same key keep their order.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { isForbiddenAddress } from '../../transports/index.ts'
import { type ConnectionLimits, type OpeningAttempt } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { parseHostAndPort, toServiceTls } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import {
  toBytes,
  type CompileTemplate,
  requireAttributeText,
  type NamedValue,
  type RuleData,
  type Sink,
  type SinkType,
  type ActionEntry,
  type Template,
  type WriteOutcome,
} from '../sink.ts'
import { createHeadersRenderer, findHeadersProblem } from './kafka-headers.ts'
import {
  findKafkaErrorType,
  loadKafka,
  openKafkaProducer,
  type KafkaClientSettings,
  type KafkaProducer,
  type KafkaProducerSettings,
  type KafkaRecord,
} from './kafka-library.ts'

export type KafkaConnector = NamedValue<ConnectorsConfig['kafka_producer']>
export type KafkaAction = NamedValue<ActionsConfig['kafka_producer']>

const keyAttribute = 'key'
/** Attribute with the topic, if the topic is a template. */
const topicAttribute = 'topic'
const headerAttribute = 'header '
const defaultPort = 9_092

/** Error codes with which Kafka will never accept a record. */
const refusals = [
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
  'INVALID_TIMESTAMP',
]

/** Errors of a topic that a result names. They do not delay results for other topics. */
const topicRefusals = ['UNKNOWN_TOPIC_OR_PARTITION', 'INVALID_TOPIC_EXCEPTION', 'TOPIC_AUTHORIZATION_FAILED']

const maxTopicLength = 249

/** Maximum bytes of a record in addition to its key, value and headers. */
const recordOverhead = 128

const done: WriteOutcome = { outcome: 'done' }

export const kafkaProducerSinkType: SinkType<KafkaAction, KafkaConnector> = {
  findConnectorProblem: findKafkaConnectorProblem,
  findActionProblem(action, compile) {
    const { topic } = action.parameters
    const problem = isTemplate(topic, compile) ? undefined : findTopicProblem(topic)
    return problem ?? findHeadersProblem(action, compile)
  },
  createRenderer({ parameters }, compile, allColumns) {
    const { message } = parameters
    const key = compile(message.key)
    const value = message.value === undefined ? undefined : compile(message.value, 'json-if-shaped')
    const headersOf = createHeadersRenderer(parameters, compile)
    const topic = isTemplate(parameters.topic, compile) ? compile(parameters.topic) : undefined
    return (data) => {
      const attributes: (readonly [string, string])[] = []
      if (topic !== undefined)
        attributes.push([topicAttribute, requireTopicName(requireAttributeText(topic.render(data), 'the topic'))])
      const keyText = renderKey(key, data)
      if (keyText !== '') attributes.push([keyAttribute, requireAttributeText(keyText, 'the key')])
      for (const [name, text] of headersOf(data)) attributes.push([headerAttribute + name, text])
      return { payload: toBytes(value === undefined ? allColumns(data) : value.render(data)), attributes }
    }
  },
  findWriteOrder: () => 'batch',
  open(connector, action, context) {
    const settings: KafkaProducerSettings = {
      ...toKafkaClientSettings(connector, context.requestTimeoutMs),
      acks: action.parameters.required_acks === 'all_isr' ? 'all' : 'leader',
      compression: action.parameters.compression,
    }
    const hasFixedTopic = !isTemplate(action.parameters.topic, context.compile)
    return new KafkaProducerSink(action, (attempt) => openKafkaProducer(settings, attempt), {
      hasFixedTopic,
      connectTimeoutMs: settings.connectTimeoutMs,
      requestTimeoutMs: settings.requestTimeoutMs,
    })
  },
}

function isTemplate(topic: string, compile: CompileTemplate): boolean {
  return compile(topic).parts.some((part) => typeof part !== 'string')
}

function requireTopicName(topic: string): string {
  if (isTopic(topic)) return topic
  throw new TypeError(`kafka: ${JSON.stringify(topic.slice(0, maxTopicLength))} is not a topic name`)
}

function isTopic(topic: string): boolean {
  return /^[\w.-]+$/.test(topic) && topic.length <= maxTopicLength && topic !== '.' && topic !== '..'
}

/** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
export function findTopicProblem(topic: string): string | undefined {
  if (isTopic(topic)) return undefined
  return 'parameters.topic: write the name of a topic: up to 249 of the letters a-z, A-Z, 0-9, ".", "_" and "-"'
}

/** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
export function findKafkaConnectorProblem({
  bootstrap_hosts: hosts,
  authentication,
}: KafkaConnector): string | undefined {
  const brokers = parseBrokers(hosts)
  if (brokers.length === 0) return 'bootstrap_hosts: write the addresses of brokers, such as 127.0.0.1:9092'
  for (const broker of brokers) {
    const { host, port } = parseHostAndPort(broker, defaultPort)
    if (host === '' || port < 1 || port > 65_535)
      return `bootstrap_hosts: ${JSON.stringify(broker)} is not an address such as 127.0.0.1:9092`
    if (isForbiddenAddress(host)) return `bootstrap_hosts: the address ${host} is denied by node.denied_addresses`
  }
  const { mechanism, username, password } = authentication
  if (mechanism !== 'none' && (username === undefined || password === undefined))
    return `authentication: ${mechanism} needs a username and a password`
  return undefined
}

export function toKafkaClientSettings(
  { bootstrap_hosts: hosts, authentication, connect_timeout: connectTimeoutMs, ssl }: KafkaConnector,
  requestTimeoutMs: number,
): KafkaClientSettings {
  const { mechanism, username = '', password = '' } = authentication
  const names = { plain: 'plain', scram_sha_256: 'scram-sha-256', scram_sha_512: 'scram-sha-512' } as const
  const sasl = mechanism === 'none' ? undefined : { mechanism: names[mechanism], username, password }
  return { brokers: parseBrokers(hosts), tls: toServiceTls(ssl), sasl: sasl, connectTimeoutMs, requestTimeoutMs }
}

function parseBrokers(hosts: string | undefined): readonly string[] {
  return (hosts ?? '')
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '')
}

/** If the template is one placeholder without a value, the record has no key. */
function renderKey(key: Template, data: RuleData): string | Uint8Array {
  const isOnePlaceholder = key.parts.length === 1 && typeof key.parts[0] !== 'string'
  if (isOnePlaceholder && (key.resolveValues(data)[0] ?? undefined) === undefined) return ''
  return key.render(data)
}

/** Exported for tests with another producer. */
export class KafkaProducerSink implements Sink {
  readonly #topic: string
  readonly #hasFixedTopic: boolean
  readonly #refusals: readonly string[]
  readonly #maxBatchBytes: number
  readonly #producer: SharedConnection<KafkaProducer>

  constructor(
    { parameters: { topic, max_batch_bytes: maxBatchBytes } }: KafkaAction,
    open: (attempt: OpeningAttempt) => Promise<KafkaProducer>,
    { hasFixedTopic, ...limits }: ConnectionLimits & { readonly hasFixedTopic: boolean },
  ) {
    this.#topic = topic
    this.#hasFixedTopic = hasFixedTopic
    this.#refusals = hasFixedTopic ? refusals : [...refusals, ...topicRefusals]
    this.#maxBatchBytes = maxBatchBytes
    const driver = {
      load: loadKafka,
      open,
      // Without an error code of Kafka, no broker has responded: the library does not replace such a connection.
      isFatal: (error: unknown) => findKafkaErrorType(error) === undefined,
      destroy: (producer: KafkaProducer) => producer.close(),
    }
    this.#producer = new SharedConnection(driver, limits)
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    if (this.#hasFixedTopic) return this.#writeTo(this.#topic, batch)
    // Kafka does not preserve the order between topics.
    const outcomes = new Map<ActionEntry, WriteOutcome>()
    for (const [topic, entries] of Map.groupBy(batch, readTopic)) {
      const ofTopic = await this.#writeTo(topic, entries)
      for (const [at, entry] of entries.entries()) outcomes.set(entry, ofTopic[at])
    }
    return batch.map((entry) => outcomes.get(entry) ?? { outcome: 'retry', why: 'the record was not sent' })
  }

  /** The probe of a connector has no topic. */
  get #checkedTopic(): string | undefined {
    return this.#hasFixedTopic && this.#topic !== '' ? this.#topic : undefined
  }

  async #writeTo(topic: string, entries: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const outcomes: WriteOutcome[] = []
    for (const part of splitRecords(entries.map(toKafkaRecord), this.#maxBatchBytes)) {
      const last = outcomes.at(-1)
      // Later records must not overtake earlier ones.
      if (last?.outcome === 'retry') outcomes.push(...part.map(() => last))
      else outcomes.push(...(await this.#send(topic, part)))
    }
    return outcomes
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#producer.use((producer) => producer.check(this.#checkedTopic))
      return undefined
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    this.#producer.close()
  }

  /** The same error means that a batch exceeds a limit, or that Kafka refuses one record. Smaller batches distinguish the two cases. */
  async #send(topic: string, records: readonly KafkaRecord[]): Promise<readonly WriteOutcome[]> {
    const [only] = records
    if (records.length === 1 && countRecordBytes(only) > this.#maxBatchBytes) {
      const why = `the record has ${countRecordBytes(only)} bytes, and max_batch_bytes is ${this.#maxBatchBytes}`
      return [{ outcome: 'refused', why }]
    }
    try {
      await this.#producer.use((producer) => producer.send(topic, records))
      return records.map(() => done)
    } catch (error) {
      const why = formatError(error)
      if (!this.#refusals.includes(findKafkaErrorType(error) ?? ''))
        return records.map(() => ({ outcome: 'retry', why }))
      if (records.length === 1) return [{ outcome: 'refused', why }]
    }
    const middle = Math.ceil(records.length / 2)
    const first = await this.#send(topic, records.slice(0, middle))
    const rest = records.slice(middle)
    const last = first.at(-1)
    if (last?.outcome === 'retry') return [...first, ...rest.map(() => last)]
    return [...first, ...(await this.#send(topic, rest))]
  }
}

function readTopic({ attributes }: ActionEntry): string {
  return attributes.find(([name]) => name === topicAttribute)?.[1] ?? ''
}

function toKafkaRecord({ payload, attributes }: ActionEntry): KafkaRecord {
  const headers = Object.fromEntries(
    attributes.flatMap(([name, value]) =>
      name.startsWith(headerAttribute) ? [[name.slice(headerAttribute.length), value]] : [],
    ),
  )
  return { key: attributes.find(([name]) => name === keyAttribute)?.[1], value: payload, headers }
}

function countRecordBytes({ key, value, headers }: KafkaRecord): number {
  let bytes = recordOverhead + value.length + Buffer.byteLength(key ?? '')
  for (const [name, text] of Object.entries(headers)) bytes += Buffer.byteLength(name) + Buffer.byteLength(text)
  return bytes
}

/** Splits records into batches, in order. A record beyond the limit is a batch of its own. */
function splitRecords(records: readonly KafkaRecord[], maxBytes: number): readonly (readonly KafkaRecord[])[] {
  const parts: KafkaRecord[][] = []
  let bytes = maxBytes
  for (const record of records) {
    bytes += countRecordBytes(record)
    const part = parts.at(-1)
    if (part !== undefined && bytes <= maxBytes) part.push(record)
    else {
      parts.push([record])
      bytes = countRecordBytes(record)
    }
  }
  return parts
}
