// Renders headers and properties of a message from the settings `headers_template` and `properties_template`.

import type { ActionsConfig } from '../../config/index.ts'
import {
  type CompileTemplate,
  type NamedValue,
  type RuleData,
  type ActionEntry,
  requireAttributeText,
} from '../sink.ts'
import type { RabbitmqOptions } from './rabbitmq-library.ts'

type Parameters = NamedValue<ActionsConfig['rabbitmq']>['parameters']

const headerAttribute = 'header '
const propertyAttribute = 'property '
/** Maximum bytes of a property and of the name of a header in AMQP 0-9-1. */
const maxShortBytes = 255
const maxPriority = 255

type TextProperty =
  | 'appId'
  | 'contentEncoding'
  | 'contentType'
  | 'correlationId'
  | 'expiration'
  | 'replyTo'
  | 'type'
  | 'userId'

/** Properties by their names in AMQP. */
const textProperties: ReadonlyMap<string, TextProperty> = new Map([
  ['app_id', 'appId'],
  ['content_encoding', 'contentEncoding'],
  ['content_type', 'contentType'],
  ['correlation_id', 'correlationId'],
  ['expiration', 'expiration'],
  ['reply_to', 'replyTo'],
  ['type', 'type'],
  ['user_id', 'userId'],
])
const numberProperties: ReadonlyMap<string, 'priority' | 'timestamp'> = new Map([
  ['priority', 'priority'],
  ['timestamp', 'timestamp'],
])

/** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
export function findPropertiesProblem({ properties_template: properties }: Parameters): string | undefined {
  const known = [...textProperties.keys(), ...numberProperties.keys()]
  for (const pair of properties) {
    const key = String(pair.get('key'))
    if (known.includes(key)) continue
    const own =
      key === 'message_id' ? 'the broker sets message_id, so that copies of a message can be recognized; ' : ''
    return `parameters.properties_template: there is no property ${JSON.stringify(key)} to set: ${own}write one of ${known.join(', ')}`
  }
  return undefined
}

/** Returns a function that renders the attributes of an entry. It throws TypeError for values that cannot be sent. */
export function createPropertiesRenderer(
  { headers_template: headers, properties_template: properties }: Parameters,
  compile: CompileTemplate,
): (data: RuleData) => ActionEntry['attributes'] {
  const compiled = [
    ...headers.map((pair) => ({ kind: headerAttribute, pair })),
    ...properties.map((pair) => ({ kind: propertyAttribute, pair })),
  ].map(({ kind, pair }) => ({
    kind,
    key: compile(String(pair.get('key'))),
    value: compile(String(pair.get('value'))),
  }))
  return (data) =>
    compiled.map(({ kind, key, value }) => {
      const name = requireShortText(
        requireAttributeText(key.render(data), 'the name of a header'),
        'the name of a header',
      )
      const text = requireAttributeText(value.render(data), `the ${kind}${name}`)
      if (kind === propertyAttribute) checkProperty(name, text)
      return [kind + name, text] as const
    })
}

function checkProperty(name: string, text: string): void {
  const number = numberProperties.get(name)
  if (number === undefined) return void requireShortText(text, `the property ${name}`)
  const max = number === 'priority' ? maxPriority : Number.MAX_SAFE_INTEGER
  if (!/^\d{1,16}$/.test(text) || Number(text) > max)
    throw new TypeError(`the property ${name} is ${JSON.stringify(text)}; it must be a whole number from 0 to ${max}`)
}

function requireShortText(text: string, subject: string): string {
  if (Buffer.byteLength(text) > maxShortBytes) throw new TypeError(`${subject} is longer than ${maxShortBytes} bytes`)
  return text
}

/** Returns the options with which the library sends the message. */
export function toRabbitmqOptions(attributes: ActionEntry['attributes']): RabbitmqOptions {
  const options: RabbitmqOptions = {}
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of attributes) {
    if (name.startsWith(headerAttribute)) headers[name.slice(headerAttribute.length)] = value
    else if (name.startsWith(propertyAttribute)) setProperty(options, name.slice(propertyAttribute.length), value)
  }
  if (Object.keys(headers).length > 0) options.headers = headers
  return options
}

function setProperty(options: RabbitmqOptions, name: string, value: string): void {
  const text = textProperties.get(name)
  if (text !== undefined) options[text] = value
  const number = numberProperties.get(name)
  if (number !== undefined) options[number] = Number(value)
}
