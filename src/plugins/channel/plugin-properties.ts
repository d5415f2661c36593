// Properties of messages between the broker and the JSON of calls. `godwit/plugin` names them without units.

import { findPropertyProblem, type MessageProperties, type UserProperties } from '../../protocol/index.ts'

const maxUserProperties = 1_000
const maxExpirySeconds = 0xffff_ffff

/** Returns '' for no properties. */
export function toPropertiesJson(properties: MessageProperties | undefined): string {
  if (properties === undefined) return ''
  const { payloadFormatIndicator, messageExpiryIntervalSeconds, contentType, responseTopic } = properties
  const { correlationData, userProperties } = properties
  return JSON.stringify({
    payloadFormatIndicator,
    messageExpiryInterval: messageExpiryIntervalSeconds,
    contentType,
    responseTopic,
    correlationData: correlationData?.toString('base64'),
    userProperties,
  })
}

/** Returns a problem as text; null: there are no properties. */
export function parsePropertiesJson(json: string): MessageProperties | null | string {
  if (json === '') return null
  const fields = parseObject(json)
  if (fields === undefined) return 'its properties are no object'
  const properties: MessageProperties = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue
    const set = setters[name]
    if (set === undefined) return `it set the unknown property ${name.slice(0, 100)}`
    if (!set(properties, value)) return `its property ${name} has a value that is not allowed`
  }
  return findPropertyProblem(properties) ?? properties
}

/** Each sets one property, and returns false if the value is not allowed. */
const setters: Readonly<Record<string, ((properties: MessageProperties, value: unknown) => boolean) | undefined>> = {
  payloadFormatIndicator(properties, value) {
    if (value !== 0 && value !== 1) return false
    properties.payloadFormatIndicator = value
    return true
  },
  messageExpiryInterval(properties, value) {
    if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > maxExpirySeconds) return false
    properties.messageExpiryIntervalSeconds = value as number
    return true
  },
  contentType(properties, value) {
    if (!isText(value)) return false
    properties.contentType = value
    return true
  },
  responseTopic(properties, value) {
    if (!isText(value)) return false
    properties.responseTopic = value
    return true
  },
  correlationData(properties, value) {
    if (typeof value !== 'string') return false
    properties.correlationData = Buffer.from(value, 'base64')
    return true
  },
  userProperties(properties, value) {
    if (!isUserProperties(value)) return false
    properties.userProperties = value
    return true
  },
}

/** A list of pairs, as in `MessageProperties`. */
export function isUserProperties(value: unknown): value is UserProperties {
  if (!Array.isArray(value) || value.length > maxUserProperties) return false
  return value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isText))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed()
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed = JSON.parse(json) as unknown
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
