// The action `republish`: templates that create a publication from a result of a rule.

import type { RepublishArguments } from '../../config/index.ts'
import type { RulePublication } from '../../core/index.ts'
import {
  toTopicPart,
  findPropertyProblem,
  hasFixedRoot,
  isUtf8,
  type MessageProperties,
  type QoS,
  type UserProperties,
} from '../../protocol/index.ts'
import { compileTemplate, toJsonText, type CompiledTemplate } from '../../rules/index.ts'
import { RuleError, type RuleMap, type RuleValue } from '../../values/index.ts'

export type MakePublication = (
  output: RuleMap,
  original: { readonly qos: QoS; readonly retain: boolean },
) => RulePublication

/** Compiles the templates. Rendering throws RuleError. */
export function compileRepublish(args: RepublishArguments): MakePublication {
  const topic = compileTemplate(args.topic)
  const qos = compileTemplate(args.qos)
  const retain = compileTemplate(args.retain)
  const payload = args.payload === '' ? undefined : compileTemplate(args.payload, 'json-if-shaped')
  const properties = compileProperties(args)
  return (output, original) => {
    const publication = {
      topic: renderTopic(topic, args.topic, output),
      payload: payload === undefined ? Buffer.from(toJsonText(output)) : toBytes(payload.render(output)),
      qos: toQoS(renderValue(qos, output), original.qos),
      retain: toFlag(renderValue(retain, output), original.retain),
      properties: properties(output),
    }
    checkFormat(publication)
    return publication
  }
}

/** [MQTT5-3.3.2-4] A receiver may close its connection if a payload that is announced as UTF-8 is something else. */
function checkFormat({ payload, properties }: Pick<RulePublication, 'payload' | 'properties'>): void {
  if (properties?.payloadFormatIndicator !== 1 || isUtf8(payload, 0, payload.length)) return
  throw new RuleError(
    'republish: the payload is not UTF-8, and Payload-Format-Indicator is 1: set it to 0, or encode the payload, such as with base64_encode',
  )
}

/** Columns whose values clients choose when they connect. */
const namesOfClients: ReadonlySet<string> = new Set(['${clientid}', '${username}'])

/**
 * Returns the topic. Throws RuleError if the client ID or user name of a client would change its levels, or if a value would make it
 * a topic of the broker.
 */
function renderTopic(template: CompiledTemplate, written: string, output: RuleMap): string {
  const placeholders = template.parts.filter((part) => typeof part !== 'string')
  if (placeholders.some(({ text }) => namesOfClients.has(text))) {
    for (const [index, value] of template.resolveValues(output).entries()) {
      const name = placeholders[index]?.text ?? ''
      if (namesOfClients.has(name) && toTopicPart(typeof value === 'string' ? value : undefined) === undefined)
        throw new RuleError(`republish: ${name} is not a part of a topic: it is empty or contains +, #, / or $`)
    }
  }
  const topic = requireText(template.render(output), 'the topic')
  if (!hasFixedRoot(written, topic)) throw new RuleError('republish: a value makes the topic one of the broker ($)')
  return topic
}

/** A template that is one placeholder returns its value unchanged; others return text. */
function renderValue(template: CompiledTemplate, output: RuleMap): RuleValue {
  const isOnePlaceholder = template.parts.length === 1 && typeof template.parts[0] !== 'string'
  return isOnePlaceholder ? template.resolveValues(output)[0] : template.render(output)
}

/** Undefined or -1: the QoS of the triggering message, so that no message loses its QoS unnoticed. */
function toQoS(value: RuleValue, original: QoS): QoS {
  if (value === undefined || value === '' || Number(value) === -1) return original
  const qos = Number(value)
  if (qos === 0 || qos === 1 || qos === 2) return qos
  throw new RuleError(`republish: qos ${toJsonText(value)} is not 0, 1 or 2`)
}

function toFlag(value: RuleValue, original: boolean): boolean {
  if (value === undefined || value === '' || value === false || value === 'false' || value === 0 || value === '0')
    return false
  if (value === true || value === 'true' || value === 1 || value === '1') return true
  if (value === -1 || value === '-1') return original
  throw new RuleError(`republish: retain ${toJsonText(value)} is not true or false`)
}

type MakeProperties = (output: RuleMap) => MessageProperties | undefined

function compileProperties({ mqttProperties, userProperties }: RepublishArguments): MakeProperties {
  const templates = Object.entries(mqttProperties).map(([name, text]) => [name, compileTemplate(text)] as const)
  const user = compileUserProperties(userProperties)
  if (templates.length === 0 && user === undefined) return () => undefined
  return (output) => {
    const properties: MessageProperties = {}
    for (const [name, template] of templates) setProperty(properties, name, renderValue(template, output))
    const pairs = user?.(output) ?? []
    if (pairs.length > 0) properties.userProperties = pairs
    const problem = findPropertyProblem(properties)
    if (problem !== undefined) throw new RuleError(`republish: ${problem}`)
    return properties
  }
}

function setProperty(properties: MessageProperties, name: string, value: RuleValue): void {
  if (value === undefined || value === null || value === '') return
  const toText = (): string => (typeof value === 'string' ? value : toJsonText(value))
  switch (name) {
    case 'Payload-Format-Indicator':
      properties.payloadFormatIndicator = toPayloadFormat(value)
      return
    case 'Message-Expiry-Interval':
      properties.messageExpiryIntervalSeconds = toSeconds(value)
      return
    case 'Content-Type':
      properties.contentType = toText()
      return
    case 'Response-Topic':
      properties.responseTopic = toText()
      return
    case 'Correlation-Data':
      properties.correlationData = value instanceof Uint8Array ? toBytes(value) : Buffer.from(toText())
      return
    default:
      throw new RuleError(`republish: there is no MQTT property ${JSON.stringify(name)}`)
  }
}

function toPayloadFormat(value: RuleValue): 0 | 1 {
  const format = Number(value)
  if (format === 0 || format === 1) return format
  throw new RuleError(`republish: Payload-Format-Indicator ${toJsonText(value)} is not 0 or 1`)
}

const maxSeconds = 0xffff_ffff

function toSeconds(value: RuleValue): number {
  const seconds = Number(value)
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= maxSeconds) return seconds
  throw new RuleError(`republish: Message-Expiry-Interval ${toJsonText(value)} is not a number of seconds`)
}

function compileUserProperties(
  source: RepublishArguments['userProperties'],
): ((output: RuleMap) => UserProperties) | undefined {
  if (source === '') return undefined
  if (typeof source === 'string') {
    const template = compileTemplate(source)
    return (output) => toPairs(renderValue(template, output))
  }
  const templates = Object.entries(source).map(([name, text]) => [name, compileTemplate(text)] as const)
  return (output) => templates.map(([name, template]) => [name, requireText(template.render(output), name)] as const)
}

/** A map, or a list of {key, value}. Undefined values are omitted. */
function toPairs(value: RuleValue): UserProperties {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item: RuleValue) => toPair(item))
  if (typeof value !== 'object' || value instanceof Uint8Array)
    throw new RuleError('republish: user_properties is neither a map nor a list of {key, value}')
  return Object.entries(value).map(([name, member]: [string, RuleValue]) => [name, formatValue(member)] as const)
}

function toPair(item: RuleValue): (readonly [string, string])[] {
  if (typeof item !== 'object' || item === null || !('key' in item) || !('value' in item)) return []
  return [[formatValue(item.key), formatValue(item.value)]]
}

function formatValue(value: RuleValue): string {
  return typeof value === 'string' ? value : toJsonText(value)
}

function requireText(text: string | Uint8Array, subject: string): string {
  if (typeof text === 'string') return text
  throw new RuleError(`republish: ${subject} is not valid UTF-8`)
}

function toBytes(text: string | Uint8Array): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text)
}
