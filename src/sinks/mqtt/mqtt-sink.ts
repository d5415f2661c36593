// Sends messages to another MQTT broker. A message leaves the action queue with its PUBACK or PUBCOMP. A QoS 0 message has no
// acknowledgement: it counts as sent when the PINGRESP to a later PINGREQ arrives.

import { randomBytes, createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { type ActionsConfig, type ConnectorsConfig, isPeerVerified } from '../../config/index.ts'
import { ConnectionEnded, type OutgoingMessage } from '../../mqtt-client/index.ts'
import {
  hasFixedRoot,
  parseTopicName,
  type ProtocolVersion,
  type QoS,
  reasonCodes,
  type TopicName,
  type UserProperties,
} from '../../protocol/index.ts'
import type { DialSettings } from '../../transports/index.ts'
import type { ConnectionLimits } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { parseHostAndPort, findServerProblem } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import {
  toBytes,
  type CompileTemplate,
  type NamedValue,
  type RuleData,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  type Template,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import { type MqttPublisher, openPublisher, type PublisherSettings } from './mqtt-publisher.ts'

type MqttConnector = NamedValue<ConnectorsConfig['mqtt']>
type MqttAction = NamedValue<ActionsConfig['mqtt']>

const defaultPort = 1_883
const defaultTlsPort = 8_883
const dialSlackMs = 500
const topicAttribute = 'topic'
const flagsAttribute = 'flags'
/** If the connection ends this many times while the same message is the only one in flight, the message is refused. */
const maxConnectionEndsPerMessage = 3
/** MQTT 3.1 allows client IDs of at most 23 characters; a hash replaces longer ones. */
const maxClientIdLengthOfMqtt31 = 23
const done: WriteOutcome = { outcome: 'done' }

/** Reason codes of temporary errors: the message is sent again. */
const temporaryReasons: ReadonlySet<number> = new Set([
  reasonCodes.serverUnavailable,
  reasonCodes.serverBusy,
  reasonCodes.serverShuttingDown,
  reasonCodes.packetIdentifierInUse,
  reasonCodes.receiveMaximumExceeded,
  reasonCodes.messageRateTooHigh,
  reasonCodes.quotaExceeded,
])

export const mqttSinkType: SinkType<MqttAction, MqttConnector> = {
  findConnectorProblem: (connector) => findServerProblem(connector, defaultPort),

  findActionProblem({ parameters: { topic, qos, retain } }, compile) {
    if (topic === '') return 'parameters.topic is empty: write a topic or a template such as plant/${topic}'
    if (isFixed(qos, compile) && !['0', '1', '2'].includes(qos))
      return 'parameters.qos: write 0, 1, 2 or a template such as ${qos}'
    if (isFixed(retain, compile) && !['true', 'false'].includes(retain))
      return 'parameters.retain: write true, false or a template such as ${flags.retain}'
    return undefined
  },

  createRenderer({ parameters }, compile, allColumns) {
    const topic = compile(parameters.topic, 'topic')
    const [qos, retain] = [parameters.qos, parameters.retain].map((text) => compile(text))
    const payload = parameters.payload === undefined ? undefined : compile(parameters.payload, 'json-if-shaped')
    return (data) => ({
      payload: toBytes(payload === undefined ? allColumns(data) : payload.render(data)),
      attributes: [
        [topicAttribute, renderTopic(topic, parameters.topic, data)],
        [flagsAttribute, `${renderQoS(qos, data)}${renderRetain(retain, data) ? 'r' : ''}`],
      ],
    })
  },

  findWriteOrder: () => 'calls',
  open: (connector, _, context) =>
    new MqttSink(() => openPublisher(toPublisherSettings(connector, context)), toConnectionLimits(connector, context)),
}

/** Returns why the remote broker does not accept a connection or does not respond; undefined: it does both. */
export async function checkMqtt(connector: MqttConnector, timeoutMs: number): Promise<string | undefined> {
  const context = { action: 'mqtt:probe', shard: 0, requestTimeoutMs: timeoutMs }
  const hasty = { ...connector, connect_timeout: timeoutMs }
  const sink = new MqttSink(
    () => openPublisher(toPublisherSettings(hasty, context)),
    toConnectionLimits(hasty, context),
  )
  try {
    return await sink.check()
  } finally {
    sink.close()
  }
}

function isFixed(text: string, compile: CompileTemplate): boolean {
  return compile(text).parts.every((part) => typeof part === 'string')
}

function renderTopic(template: Template, templateText: string, data: RuleData): TopicName {
  const text = requireAttributeText(template.render(data), 'the topic')
  const topic = parseTopicName(text)
  if (topic === undefined) throw new TypeError(`the topic ${JSON.stringify(text)} is empty or has a wildcard`)
  // `${topic}` alone is the topic for which the publisher was authorized.
  if (templateText !== '${topic}' && !hasFixedRoot(templateText, topic))
    throw new TypeError(`the topic ${JSON.stringify(text)} begins with $ because of a value`)
  return topic
}

function renderQoS(template: Template, data: RuleData): string {
  const text = String(template.render(data))
  if (text !== '0' && text !== '1' && text !== '2')
    throw new TypeError(`the QoS ${JSON.stringify(text)} is not 0, 1 or 2`)
  return text
}

function renderRetain(template: Template, data: RuleData): boolean {
  const text = String(template.render(data))
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0' || text === 'undefined') return false
  throw new TypeError(`retain ${JSON.stringify(text)} is not true or false`)
}

function toMessage({ payload, attributes }: ActionEntry): OutgoingMessage {
  const flags = readAttribute(attributes, flagsAttribute)
  // The topic name was checked when the entry was stored.
  const topic = readAttribute(attributes, topicAttribute) as TopicName
  return { topic, qos: Number(flags[0]) as QoS, retain: flags.endsWith('r'), payload }
}

function readAttribute(attributes: UserProperties, name: string): string {
  return attributes.find(([known]) => known === name)?.[1] ?? ''
}

/** The part of a connection that a sink needs. */
export type MqttConnection = Pick<MqttPublisher, 'isOpen' | 'publish' | 'ping' | 'close'>

/** Exported for tests. */
export class MqttSink implements Sink {
  readonly #connection: SharedConnection<MqttConnection>
  /** True after a connection ended with messages in flight: one of them may be the reason, so they are sent one at a time. */
  #sendsOneByOne = false
  /** The message that was the only one in flight when the connection ended. */
  #onlyInFlight: { readonly payload: Buffer; ends: number } | undefined

  constructor(open: () => Promise<MqttConnection>, limits: ConnectionLimits) {
    const driver = {
      open,
      isUsable: ({ isOpen }: MqttConnection) => isOpen,
      // Messages in flight fail with this reason; those that were acknowledged keep their outcome.
      destroy: (publisher: MqttConnection, { message }: Error) => publisher.close(message),
    }
    this.#connection = new SharedConnection(driver, limits)
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    try {
      return await this.#connection.use((publisher) =>
        this.#sendsOneByOne ? this.#sendEach(publisher, batch) : this.#sendTogether(publisher, batch),
      )
    } catch (error) {
      return batch.map(() => ({ outcome: 'retry', why: formatError(error) }))
    }
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#connection.use((publisher) => publisher.ping())
      return undefined
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    this.#connection.close()
  }

  async #sendTogether(publisher: MqttConnection, batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const messages = batch.map(toMessage)
    const results = messages.map((message) => awaitOutcome(publisher.publish(message)))
    const pinged = messages.some(({ qos }) => qos === 0) ? awaitOutcome(confirmWithPing(publisher)) : undefined
    const outcomes: WriteOutcome[] = []
    for (const [index, result] of results.entries()) {
      const found = await result
      const outcome = found.outcome === 'done' && messages[index].qos === 0 ? await pinged : found
      outcomes.push(this.#recordEnd(outcome ?? found))
    }
    return outcomes
  }

  /** Sends one entry at a time. After a failure, the remaining entries are not sent. */
  async #sendEach(publisher: MqttConnection, batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const outcomes: WriteOutcome[] = []
    for (const entry of batch) {
      const [outcome] = await this.#sendTogether(publisher, [entry])
      if (outcome.outcome === 'done') this.#sendsOneByOne = false
      const final = this.#toSingleMessageOutcome(entry, outcome)
      outcomes.push(final)
      if (!publisher.isOpen) {
        const why = 'why' in final ? final.why : ''
        return batch.map((_, index) => outcomes[index] ?? { outcome: 'retry', why })
      }
    }
    return outcomes
  }

  #recordEnd(outcome: WriteOutcome | EndedOutcome): WriteOutcome | EndedOutcome {
    if ('ended' in outcome && outcome.ended !== 'this-side') this.#sendsOneByOne = true
    return outcome
  }

  /** Returns the outcome of a message that was the only one in flight. */
  #toSingleMessageOutcome({ payload }: ActionEntry, outcome: WriteOutcome | EndedOutcome): WriteOutcome {
    if (!('ended' in outcome) || outcome.ended === 'this-side') return outcome
    if (this.#onlyInFlight?.payload.equals(payload) !== true) this.#onlyInFlight = { payload, ends: 0 }
    this.#onlyInFlight.ends++
    const isReason = outcome.ended === 'for-packet' || this.#onlyInFlight.ends >= maxConnectionEndsPerMessage
    return isReason ? { outcome: 'refused', why: outcome.why } : outcome
  }
}

/** The connection has ended. */
type EndedOutcome = { readonly outcome: 'retry'; readonly why: string; readonly ended: ConnectionEnded['by'] }

async function awaitOutcome(work: ReturnType<MqttPublisher['publish']>): Promise<WriteOutcome | EndedOutcome> {
  try {
    const result = await work
    if (result.result === 'accepted') return done
    const { reasonCode, why } = result
    return temporaryReasons.has(reasonCode) ? { outcome: 'retry', why } : { outcome: 'refused', why }
  } catch (error) {
    return {
      outcome: 'retry',
      why: formatError(error),
      ended: error instanceof ConnectionEnded ? error.by : 'this-side',
    }
  }
}

async function confirmWithPing(publisher: MqttConnection): ReturnType<MqttPublisher['publish']> {
  await publisher.ping()
  return { result: 'accepted' }
}

/** A late CONNACK is reported by the publisher, with a sentence about the remote broker: this limit includes time to do so. */
function toConnectionLimits(
  { connect_timeout: connectTimeoutMs }: MqttConnector,
  { requestTimeoutMs }: Pick<SinkContext, 'requestTimeoutMs'>,
): ConnectionLimits {
  return { connectTimeoutMs: 2 * connectTimeoutMs + dialSlackMs, requestTimeoutMs }
}

function toPublisherSettings(
  connector: MqttConnector,
  context: Pick<SinkContext, 'action' | 'shard'>,
): PublisherSettings {
  const { server = '', ssl, username, password, connect_timeout: connectTimeoutMs } = connector
  const version = Number(connector.proto_ver.replace('v', '')) as ProtocolVersion
  const place = parseHostAndPort(server, ssl.enable ? defaultTlsPort : defaultPort)
  const dial: DialSettings = {
    connectTimeoutMs,
    noDelay: true,
    keepAliveAfterMs: undefined,
    networkInterface: undefined,
    maxMessageBytes: 0,
    tls: {
      verifyPeer: isPeerVerified(ssl),
      caFile: resolveFile(ssl.cacertfile),
      certFile: resolveFile(ssl.certfile),
      keyFile: resolveFile(ssl.keyfile),
      keyPassword: ssl.key_password === '' ? undefined : ssl.key_password,
    },
    quic: { keepAliveMs: 0, idleTimeoutMs: 0, dataStreams: 0 },
  }
  return {
    target: { scheme: ssl.enable ? 'tls' : 'tcp', ...place, path: '' },
    dial,
    version,
    clientId: createClientId(connector, context, version),
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : password,
    keepAliveMs: connector.keepalive,
  }
}

function resolveFile(file: string | undefined): string | undefined {
  return file === undefined || file === '' ? undefined : resolve(file)
}

/** Each sink has its own client ID: a broker closes one of two connections with the same client ID. */
function createClientId(
  { clientid_prefix: prefix = 'godwit' }: MqttConnector,
  { action, shard }: Pick<SinkContext, 'action' | 'shard'>,
  version: ProtocolVersion,
): string {
  const own = `${prefix}-${action.slice(action.indexOf(':') + 1)}-${shard}-${randomBytes(4).toString('hex')}`
  if (version !== 3 || own.length <= maxClientIdLengthOfMqtt31) return own
  return `godwit-${createHash('sha256').update(own).digest('hex')}`.slice(0, maxClientIdLengthOfMqtt31)
}
