// Converts a message of the API into a publication.

import type { publishMessage } from './endpoints.ts'
import type { Static } from '../../contract/index.ts'
import { hasFilterPrefix, isUtf8, type MessageProperties, parseTopicName, type QoS } from '../../protocol/index.ts'
import { ApiError, refuse, quoteShortened } from '../../management/index.ts'

export interface Publication {
  readonly topics: readonly [first: string, ...rest: string[]]
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  readonly clientId: string
  readonly wantsReceipt: boolean
}

type PublishMessage = Static<typeof publishMessage>
type WrittenProperties = NonNullable<PublishMessage['properties']>

/** Default publisher. */
const defaultClientId = 'http_client'
/** Each topic is a publication of its own, and all are routed in one turn. */
const maxTopics = 1_000
const maxTextBytes = 65_535

export function readPublication(message: PublishMessage): Publication | ApiError {
  const topics = parseTopics(message)
  if (topics instanceof ApiError) return topics
  for (const topic of topics) {
    if (parseTopicName(topic) === undefined || hasFilterPrefix(topic)) {
      return refuse('invalidTopic', `${quoteShortened(topic)} is not a topic name`)
    }
  }
  const payload = decodePayload(message)
  if (payload instanceof ApiError) return payload
  const properties = parseProperties(message.properties ?? {})
  if (properties instanceof ApiError) return properties
  if (properties?.payloadFormatIndicator === 1 && !isUtf8(payload, 0, payload.length)) {
    return refuse('invalidParameter', 'payload_format_indicator is 1, but the payload is not UTF-8')
  }
  const { clientid = defaultClientId, qos = 0, retain = false, receipt = false } = message
  if (!isText(clientid)) return refuse('invalidParameter', 'clientid is not text that MQTT can carry')
  return { topics, payload, qos: qos as QoS, retain, properties, clientId: clientid, wantsReceipt: receipt }
}

/** Topics of `topic` and `topics`, each once. */
export function parseTopics({
  topic,
  topics,
}: {
  readonly topic?: string
  readonly topics?: string
}): readonly [string, ...string[]] | ApiError {
  if (topic === undefined && topics === undefined) {
    return refuse('missingParameter', 'one of topic and topics is needed in the body')
  }
  const named = topic === undefined ? [] : [topic]
  const listed = (topics ?? '').split(',').filter((piece) => piece !== '')
  const [first, ...rest] = new Set([...named, ...listed])
  if (first === undefined) return refuse('invalidTopic', 'topics names no topic')
  if (rest.length >= maxTopics) return refuse('invalidParameter', `topics names more than ${maxTopics} topics`)
  return [first, ...rest]
}

function decodePayload({ payload, encoding, decoding }: PublishMessage): Buffer | ApiError {
  if (encoding !== undefined && decoding !== undefined && encoding !== decoding) {
    return refuse('invalidParameter', 'encoding and decoding are two names of one thing and differ')
  }
  if ((encoding ?? decoding) !== 'base64') {
    // Buffer.from would replace it by U+FFFD.
    if (!payload.isWellFormed())
      return refuse('invalidParameter', 'the payload has a lone surrogate; send it as base64')
    return Buffer.from(payload)
  }
  const text = payload.replace(/\s/g, '')
  const digits = text.replace(/={1,2}$/, '')
  if (!/^[A-Za-z0-9+/_-]*$/.test(digits) || digits.length % 4 === 1) {
    return refuse('invalidParameter', 'encoding is base64, but the payload is not valid base64')
  }
  return Buffer.from(digits, 'base64')
}

/** undefined: none. */
function parseProperties(written: WrittenProperties): MessageProperties | undefined | ApiError {
  const properties: MessageProperties = {}
  const { payload_format_indicator, message_expiry_interval, response_topic, correlation_data, content_type } = written
  if (payload_format_indicator !== undefined) properties.payloadFormatIndicator = payload_format_indicator as 0 | 1
  if (message_expiry_interval !== undefined) properties.messageExpiryIntervalSeconds = message_expiry_interval
  if (response_topic !== undefined) {
    if (parseTopicName(response_topic) === undefined) return refuseProperty('response_topic', 'is not a topic name')
    properties.responseTopic = response_topic
  }
  if (correlation_data !== undefined) {
    properties.correlationData = Buffer.from(correlation_data)
    if (properties.correlationData.length > maxTextBytes) return refuseProperty('correlation_data', 'is too long')
  }
  if (content_type !== undefined) {
    if (!isText(content_type)) return refuseProperty('content_type', 'is not text that MQTT can carry')
    properties.contentType = content_type
  }
  const userProperties = Object.entries(written.user_properties ?? {}).map(
    ([name, value]) => [name, String(value)] as const,
  )
  if (!userProperties.flat().every(isText))
    return refuseProperty('user_properties', 'have text that MQTT can not carry')
  if (userProperties.length > 0) properties.userProperties = userProperties
  return Object.keys(properties).length === 0 ? undefined : properties
}

function refuseProperty(key: string, problem: string): ApiError {
  return refuse('invalidParameter', `properties.${key} in the body ${problem}`)
}

/** [MQTT5-1.5.4-1, -2] */
function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0') && Buffer.byteLength(text) <= maxTextBytes
}
