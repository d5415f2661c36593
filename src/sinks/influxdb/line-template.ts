// A line of InfluxDB's line protocol with placeholders:
//
//   readings,site=${site},client=${clientid} value=${payload.value},count=${payload.count}i,text="is ${payload.state}" ${timestamp}
//   name     tags                            fields                                                                   time
//
// Each part is rendered by itself and quoted or escaped as its position requires, so that no value can end its part.

import type { CompileTemplate, RuleData, Template } from '../sink.ts'

export class LineTemplateError extends Error {}

interface Tag {
  readonly key: Template
  readonly value: Template
}

interface Field {
  readonly key: Template
  readonly value: FieldValue
}

type FieldValue =
  /** A text in quotes, or placeholders that are mixed with text. */
  | { readonly kind: 'text'; readonly template: Template }
  /** One placeholder: the field has the type of its value. */
  | { readonly kind: 'value'; readonly template: Template }
  /** One placeholder that is followed by `i` or `u`. */
  | { readonly kind: 'integer'; readonly template: Template; readonly suffix: string }
  | { readonly kind: 'literal'; readonly text: string }

export interface LineTemplate {
  readonly name: Template
  readonly tags: readonly Tag[]
  readonly fields: readonly Field[]
  readonly time: Template | undefined
}

/** Maximum number of lines of one text. */
const maxLines = 100

/** Throws LineTemplateError, with the number of the line. */
export function parseLineTemplates(text: string, compile: CompileTemplate): readonly LineTemplate[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))
  if (lines.length === 0)
    throw new LineTemplateError('write a line such as readings,client=${clientid} value=${payload}')
  if (lines.length > maxLines) throw new LineTemplateError(`there are more than ${maxLines} lines`)
  return lines.map((line, index) => {
    try {
      return parseLine(line.trim(), compile)
    } catch (error) {
      if (error instanceof LineTemplateError && lines.length > 1)
        throw new LineTemplateError(`line ${index + 1}: ${error.message}`)
      throw error
    }
  })
}

function parseLine(line: string, compile: CompileTemplate): LineTemplate {
  const [series = '', fieldText, time, ...more] = splitAt(line, ' ').filter((part) => part !== '')
  if (fieldText === undefined)
    throw new LineTemplateError('there are no fields: write a space and key=value after the name')
  if (more.length > 0) throw new LineTemplateError(`text follows the time: ${more[0]}`)
  const [name = '', ...tags] = splitAt(series, ',')
  if (name === '') throw new LineTemplateError('there is no name in front of the tags')
  return {
    name: compile(unescapeText(name)),
    tags: tags.map((tag) => {
      const { key, value } = parsePair(tag, 'tag')
      return { key: compile(unescapeText(key)), value: compile(unescapeText(value)) }
    }),
    fields: splitAt(fieldText, ',').map((field) => {
      const { key, value } = parsePair(field, 'field')
      return { key: compile(unescapeText(key)), value: parseFieldValue(value, compile) }
    }),
    time: time === undefined ? undefined : parseTime(time, compile),
  }
}

function parsePair(text: string, subject: string): { readonly key: string; readonly value: string } {
  const [key = '', ...rest] = splitAt(text, '=')
  const value = rest.join('=')
  if (key === '' || value === '') throw new LineTemplateError(`the ${subject} ${JSON.stringify(text)} is not key=value`)
  return { key, value }
}

function parseTime(text: string, compile: CompileTemplate): Template {
  if (/^(?:-?\d+|\$\{[^{}]*\})$/.test(text)) return compile(text)
  throw new LineTemplateError(`the time ${JSON.stringify(text)} is neither a whole number nor one placeholder`)
}

const literal = /^(?:[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[iu]?|t|T|true|True|TRUE|f|F|false|False|FALSE)$/

function parseFieldValue(text: string, compile: CompileTemplate): FieldValue {
  if (literal.test(text)) return { kind: 'literal', text }
  const quoted = /^"(.*)"$/s.exec(text)
  if (quoted !== null) {
    const inner = (quoted[1] ?? '').replaceAll(/\\(["\\])/g, '$1')
    return { kind: 'text', template: compile(inner) }
  }
  const suffixed = /^(\$\{[^{}]*\})([iu])$/.exec(text)
  if (suffixed !== null) return { kind: 'integer', template: compile(suffixed[1] ?? ''), suffix: suffixed[2] ?? '' }
  const template = compile(text)
  if (template.parts.length === 1 && typeof template.parts[0] !== 'string') return { kind: 'value', template }
  if (template.parts.some((part) => typeof part !== 'string')) return { kind: 'text', template }
  throw new LineTemplateError(`the value ${text} is neither a number nor true or false: put texts in double quotes`)
}

/** Pieces between separators that are neither escaped nor in quotes nor in a placeholder. */
function splitAt(text: string, separator: string): string[] {
  const pieces: string[] = ['']
  let isQuoted = false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const isEscape = character === '\\' && at + 1 < text.length
    if (!isEscape && character === separator && !isQuoted && depth === 0) {
      pieces.push('')
      continue
    }
    pieces[pieces.length - 1] += isEscape ? character + text.charAt(++at) : character
    if (isEscape) continue
    if (character === '"') isQuoted = !isQuoted
    else if (character === '{' && text.charAt(at - 1) === '$') depth++
    else if (character === '}' && depth > 0) depth--
  }
  if (isQuoted) throw new LineTemplateError('a double quote is not closed')
  return pieces
}

function unescapeText(text: string): string {
  return text.replaceAll(/\\([,= ])/g, '$1')
}

/** Renders one line. Throws TypeError for values that the protocol cannot express. */
export function renderLine({ name, tags, fields, time }: LineTemplate, data: RuleData, nowText: string): string {
  const series = [escapeText(renderText(name, data, 'the name'), /[, ]/g)]
  for (const { key, value } of tags) {
    const text = isMissing(value, data) ? '' : renderText(value, data, 'a tag')
    if (text !== '') series.push(`${renderKey(key, data)}=${escapeText(text, /[,= ]/g)}`)
  }
  const values: string[] = []
  for (const { key, value } of fields) {
    const text = renderValue(value, data)
    if (text !== undefined) values.push(`${renderKey(key, data)}=${text}`)
  }
  if (values.length === 0) throw new TypeError('influxdb: no field has a value')
  return `${series.join(',')} ${values.join(',')} ${renderTime(time, data, nowText)}`
}

function renderTime(time: Template | undefined, data: RuleData, nowText: string): string {
  if (time === undefined || isMissing(time, data)) return nowText
  const text = renderText(time, data, 'the time')
  if (/^-?\d{1,19}$/.test(text)) return text
  throw new TypeError(`influxdb: the time ${JSON.stringify(text.slice(0, 40))} is not a whole number`)
}

function renderValue(value: FieldValue, data: RuleData): string | undefined {
  if (value.kind === 'literal') return value.text
  if (value.kind === 'text') return quoteText(renderText(value.template, data, 'a field'))
  if (isMissing(value.template, data)) return undefined
  const text = renderText(value.template, data, 'a field')
  if (value.kind === 'integer') {
    if (/^-?\d{1,20}$/.test(text)) return text + value.suffix
    throw new TypeError(`influxdb: ${JSON.stringify(text.slice(0, 40))} is not a whole number`)
  }
  const [found] = value.template.resolveValues(data)
  const isPlain =
    typeof found === 'bigint' || typeof found === 'boolean' || /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/.test(text)
  return isPlain && typeof found !== 'string' && !(found instanceof Uint8Array) ? text : quoteText(text)
}

function isMissing(template: Template, data: RuleData): boolean {
  if (template.parts.length !== 1 || typeof template.parts[0] === 'string') return false
  const [value] = template.resolveValues(data)
  return value === undefined || value === null
}

function renderKey(template: Template, data: RuleData): string {
  return escapeText(renderText(template, data, 'a key'), /[,= ]/g)
}

function renderText(template: Template, data: RuleData, subject: string): string {
  const text = template.render(data)
  if (typeof text !== 'string') throw new TypeError(`influxdb: ${subject} is not valid UTF-8`)
  return text
}

/** Escapes names, keys and tags. The protocol cannot express a line break in them, nor a backslash at their end. */
function escapeText(text: string, special: RegExp): string {
  if (text === '') throw new TypeError('influxdb: a name or key is empty')
  if (/[\r\n]/.test(text)) throw new TypeError('influxdb: a name, key or tag has a line break')
  if (text.endsWith('\\')) throw new TypeError('influxdb: a name, key or tag ends in a backslash')
  return text.replaceAll(special, (character) => `\\${character}`)
}

function quoteText(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`
}
