// How a template encodes inserted values, so that a value stays one value of the text around it: one member of a JSON document, one segment
// of a path, one word of a subject, one level of a topic.
//
//   '{"client":"${clientid}","n":${payload.n}}'     in a string: escaped; elsewhere: JSON
//   '/t/${clientid}?q=${payload.q}'                 percent-encoded

import { toTopicPart } from '../protocol/index.ts'
import {
  type Budget,
  toBuffer,
  encodeJson,
  isText,
  RuleError,
  type RuleText,
  type RuleValue,
  type Step,
  toTextForm,
  tryDecodeJson,
} from '../values/index.ts'

/**
 * - `text`: unchanged.
 * - `json`: the template is a JSON document. A template that is one placeholder inserts the text unchanged.
 * - `json-if-shaped`: `json` if the template without its values is a JSON object or array, or lines of them; otherwise `text`.
 * - `path`: path and query of a URL.
 * - `query`: a form or query, such as `a=${a}&b=${b}`.
 * - `key`: the key of an object, whose parts are divided by `/`.
 * - `word`: a subject or routing key, whose words are divided by dots.
 * - `topic`: an MQTT topic.
 * - `index`: the name of a search index.
 */
export type TemplateEncoding =
  | 'text'
  | 'json'
  | 'json-if-shaped'
  | 'path'
  | 'query'
  | 'key'
  | 'word'
  | 'topic'
  | 'index'

/** One placeholder. Without steps, it inserts all columns. */
export interface Placeholder {
  /** The placeholder as written, with `${` and `}`. */
  readonly text: string
  readonly steps: readonly Step[]
}

export type TemplatePart = string | Placeholder

/** Returns the text of a value. */
export type EncodeValue = (value: RuleValue, budget: Budget) => RuleText

export interface PlannedEncoding {
  /** By the index of the part. Fixed texts have `textForm`, which is not used. */
  readonly encoders: readonly EncodeValue[]
  /** Checks the texts of all parts. Throws RuleError. */
  readonly check?: (texts: readonly RuleText[]) => void
}

/** Undefined: values are inserted as texts. */
export function planEncoding(parts: readonly TemplatePart[], encoding: TemplateEncoding): PlannedEncoding | undefined {
  if (parts.every((part) => typeof part === 'string')) return undefined
  switch (encoding) {
    case 'text':
      return undefined
    case 'json':
      if (isSolePlaceholder(parts)) return undefined
      return (
        planJson(parts) ?? refuseAll(parts, 'the template is not a JSON document: quote texts, and put values alone')
      )
    case 'json-if-shaped':
      return isSolePlaceholder(parts) ? undefined : planJson(parts)
    case 'path':
      return { encoders: parts.map(() => encodeUrlValue), check: (texts) => checkSegments(parts, texts) }
    case 'query':
      return { encoders: parts.map(() => encodeUrlValue) }
    case 'key':
      return planNames(parts, (text) => text.replaceAll(/[/%]/g, encodePercent))
    case 'word':
      return planNames(parts, (text) => text.replaceAll(/[.%]/g, encodePercent))
    case 'topic':
      return planNames(parts, requireOneLevel)
    case 'index':
      return { encoders: parts.map(() => withText(indexValue)) }
    default:
      return encoding satisfies never
  }
}

function isSolePlaceholder(parts: readonly TemplatePart[]): boolean {
  return parts.filter((part) => typeof part !== 'string' || part.trim() !== '').length === 1
}

function refuseAll(parts: readonly TemplatePart[], why: string): PlannedEncoding {
  return {
    encoders: parts.map(() => () => {
      throw new RuleError(why)
    }),
  }
}

function withText(encode: (text: string) => string): EncodeValue {
  return (value, budget) => encode(requireValidText(toTextForm(value, budget)))
}

function requireValidText(text: RuleText): string {
  if (typeof text === 'string') return text
  throw new RuleError('the value is not valid UTF-8: use bin2hexstr or base64_encode')
}

/** Columns that clients choose by themselves: no rule has composed their value. */
const identityColumns: readonly string[] = ['clientid', 'username']

function findColumn({ steps }: Placeholder): string | undefined {
  const [step] = steps
  return steps.length === 1 && typeof step === 'object' && 'key' in step ? step.key : undefined
}

/**
 * The value of a placeholder is one part of a name. Two may have several parts: the topic, for which the publisher was authorized, and a
 * value that is the whole name, because a rule has composed it.
 */
function planNames(parts: readonly TemplatePart[], encode: (text: string) => string): PlannedEncoding {
  const isWholeName = parts.length === 1
  return {
    encoders: parts.map((part) => {
      const column = typeof part === 'string' ? undefined : findColumn(part)
      const hasParts = column === 'topic' || (isWholeName && !identityColumns.includes(column ?? ''))
      return hasParts ? toTextForm : withText(encode)
    }),
  }
}

function encodePercent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

function requireOneLevel(text: string): string {
  if (toTopicPart(text) !== undefined) return text
  throw new RuleError(
    `the value ${quoteValue(text)} is not one level of a topic: it is empty, begins with $, or contains /, +, # or a control character`,
  )
}

const maxShownLength = 80

function quoteValue(text: string): string {
  return JSON.stringify(text.slice(0, maxShownLength))
}

function indexValue(text: string): string {
  if (!/[\\/*?"<>|\s,#:\0]/.test(text)) return text
  throw new RuleError(`the value ${quoteValue(text)} has a character that the name of an index cannot have`)
}

function encodeUrlValue(value: RuleValue, budget: Budget): string {
  const text = toTextForm(value, budget)
  if (typeof text !== 'string')
    return toBuffer(text)
      .toString('hex')
      .replaceAll(/../g, (byte) => `%${byte.toUpperCase()}`)
  if (text.includes('\0')) throw new RuleError('the value has a NUL character, which a URL cannot have')
  return encodeURIComponent(text)
}

/** No value makes its segment empty or a reference to another folder: services resolve `..` also if it is encoded. */
function checkSegments(parts: readonly TemplatePart[], texts: readonly RuleText[]): void {
  let segment = ''
  let isFilled = false
  for (const [index, part] of parts.entries()) {
    if (typeof part !== 'string') {
      segment += String(texts[index])
      isFilled = true
      continue
    }
    const end = part.search(/[?#]/)
    const pieces = (end < 0 ? part : part.slice(0, end)).split('/')
    for (const [position, piece] of pieces.entries()) {
      if (position > 0) {
        checkSegment(segment, isFilled)
        segment = ''
        isFilled = false
      }
      segment += piece
    }
    if (end >= 0) break
  }
  checkSegment(segment, isFilled)
}

function checkSegment(segment: string, isFilled: boolean): void {
  if (!isFilled) return
  const plain = segment.replaceAll(/%2e/gi, '.')
  if (plain === '' || plain === '.' || plain === '..')
    throw new RuleError(`the segment ${JSON.stringify(plain)} of the path is empty or refers to another folder`)
}

type JsonPosition = 'string' | 'key' | 'value'

/** Undefined: the template without its values is neither a JSON object nor an array, nor lines of them. */
function planJson(parts: readonly TemplatePart[]): PlannedEncoding | undefined {
  const positions: (JsonPosition | undefined)[] = []
  let isInString = false
  let probe = ''
  for (const [index, part] of parts.entries()) {
    if (typeof part === 'string') {
      isInString = endsInString(part, isInString)
      probe += part
      positions.push(undefined)
      continue
    }
    const next = parts[index + 1]
    const isKey = !isInString && typeof next === 'string' && /^\s*:/.test(next)
    positions.push(isInString ? 'string' : isKey ? 'key' : 'value')
    // No number or word can continue `null`, so a value stays alone.
    probe += isInString ? 'x' : isKey ? `"${index}"` : 'null'
  }
  if (!isJsonDocument(probe) && !isJsonLines(probe)) return undefined
  return {
    encoders: parts.map((part, index) =>
      typeof part === 'string'
        ? toTextForm
        : selectJsonEncoding(positions[index] ?? 'value', findColumn(part) === 'payload'),
    ),
  }
}

function endsInString(text: string, startsInString: boolean): boolean {
  let isInString = startsInString
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') isInString = !isInString
    else if (character === '\\' && isInString) at++
  }
  return isInString
}

function isJsonDocument(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function isJsonLines(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.length > 1 && lines.every(isJsonDocument)
}

function selectJsonEncoding(position: JsonPosition, isPayload: boolean): EncodeValue {
  if (position === 'string') return (value, budget) => encodeJsonText(value, budget).slice(1, -1)
  if (position === 'key') return encodeJsonText
  if (!isPayload) return encodeJson
  // A payload that is JSON is inserted as such; `"${payload}"` inserts its text.
  return (value, budget) => {
    const isJson = isText(value) && typeof value === 'string' && tryDecodeJson(value) !== undefined
    return isJson ? value.replaceAll(/[\r\n]+/g, ' ') : encodeJson(value, budget)
  }
}

function encodeJsonText(value: RuleValue, budget: Budget): string {
  const text = JSON.stringify(requireValidText(toTextForm(value, budget)))
  budget.countCreated(text.length)
  return text
}
