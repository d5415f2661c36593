// Headers of a record: fixed names with templates, pairs of templates, and a column with names and values.

import type { ActionsConfig } from '../../config/index.ts'
import { type CompileTemplate, type NamedValue, type RuleData, requireAttributeText } from '../sink.ts'

type KafkaAction = NamedValue<ActionsConfig['kafka_producer']>

export type KafkaHeader = readonly [name: string, value: string]

/** Maximum headers of one record. */
const maxHeaders = 256

/** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
export function findHeadersProblem(
  { parameters: { kafka_headers: column } }: KafkaAction,
  compile: CompileTemplate,
): string | undefined {
  if (column === undefined || column === '') return undefined
  const { parts } = compile(column)
  if (parts.length === 1 && typeof parts[0] !== 'string') return undefined
  return 'parameters.kafka_headers: write one placeholder for a column with names and values, such as ${user_properties}'
}

/** Returns a function that renders the headers of a result. It throws TypeError for values that cannot be headers. */
export function createHeadersRenderer(
  { message, kafka_headers: column, kafka_ext_headers: pairs }: KafkaAction['parameters'],
  compile: CompileTemplate,
): (data: RuleData) => readonly KafkaHeader[] {
  const named = [...message.headers].map(([name, text]) => ({ name: undefined, fixed: name, value: compile(text) }))
  const extended = pairs.map((pair) => ({
    name: compile(String(pair.get('kafka_ext_header_key'))),
    fixed: '',
    value: compile(String(pair.get('kafka_ext_header_value'))),
  }))
  const all = [...named, ...extended]
  const given = column === undefined || column === '' ? undefined : compile(column)
  return (data) => {
    const headers = given === undefined ? [] : parseHeaders(given.resolveValues(data)[0])
    for (const { name, fixed, value } of all) {
      const key = name === undefined ? fixed : requireAttributeText(name.render(data), 'the name of a header')
      headers.push([key, requireAttributeText(value.render(data), `the header ${key}`)])
    }
    if (headers.length > maxHeaders)
      throw new TypeError(`the record has ${headers.length} headers; maximum ${maxHeaders}`)
    return headers
  }
}

/** `value`: an object, or a list of objects with `key` and `value`, as JSON. */
function parseHeaders(value: unknown): KafkaHeader[] {
  if (value === undefined || value === null || value === '') return []
  const read = typeof value === 'string' ? parseJson(value) : value
  if (typeof read !== 'object' || read === null)
    throw new TypeError('kafka_headers: the column is not an object or a list of objects with key and value')
  return Array.isArray(read)
    ? read.map(parseHeaderPair)
    : Object.entries(read).map(([name, headerValue]) => toHeader(name, headerValue))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError('kafka_headers: the column is a text that is not valid JSON')
  }
}

function parseHeaderPair(pair: unknown): KafkaHeader {
  if (typeof pair !== 'object' || pair === null || !('key' in pair) || !('value' in pair))
    throw new TypeError('kafka_headers: an item of the list is not an object with key and value')
  if (typeof pair.key !== 'string') throw new TypeError('kafka_headers: the key of an item is not text')
  return toHeader(pair.key, pair.value)
}

/** Values other than texts are written as JSON. */
function toHeader(name: string, value: unknown): KafkaHeader {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return [requireAttributeText(name, 'the name of a header'), requireAttributeText(text, `the header ${name}`)]
}
