// String formats of jq, such as `@base64` and `@csv`.

import {
  type Budget,
  toBytes,
  encodeJson,
  isArray,
  isNumber,
  isText,
  RuleError,
  type RuleValue,
  requireString,
  toRuleText,
} from '../values/index.ts'
import { describeValue } from './jq-values.ts'

/** Returns a text unchanged, and other values as JSON. */
export function toPlainText(value: RuleValue, budget: Budget): string {
  return isText(value) ? requireString(value, 'jq: a text') : encodeJson(value ?? null, budget)
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  "'": '&#39;',
  '"': '&quot;',
}

/** Returns the value in a format. Throws RuleError if the format does not exist. */
export function formatText(format: string, value: RuleValue, budget: Budget): string {
  const renderText = (): string => {
    const plain = toPlainText(value, budget)
    budget.countCreated(3 * plain.length)
    return plain
  }
  switch (format) {
    case 'text':
      return toPlainText(value, budget)
    case 'json':
      return encodeJson(value ?? null, budget)
    case 'html':
      return renderText().replaceAll(/[<>&'"]/gu, (character) => htmlEscapes[character] ?? character)
    case 'uri':
      return encodeURIComponent(renderText().toWellFormed()).replaceAll(
        /[!'()*]/gu,
        (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
      )
    case 'base64':
      return Buffer.from(toBytes(isText(value) ? value : renderText())).toString('base64')
    case 'base64d':
      return decodeBase64(renderText())
    case 'sh':
      return formatRow(value, ' ', budget, (item) =>
        isText(item) ? `'${toPlainText(item, budget).replaceAll("'", String.raw`'\''`)}'` : toPlainText(item, budget),
      )
    case 'csv':
      return formatRow(value, ',', budget, (item) =>
        isText(item) ? `"${toPlainText(item, budget).replaceAll('"', '""')}"` : formatCell(item, budget),
      )
    case 'tsv':
      return formatRow(value, '\t', budget, (item) =>
        isText(item) ? escapeTabs(toPlainText(item, budget)) : formatCell(item, budget),
      )
    default:
      throw new RuleError(`jq: there is no format @${format}`)
  }
}

function decodeBase64(text: string): string {
  const decoded = toRuleText(Buffer.from(text, 'base64'))
  if (typeof decoded !== 'string') throw new RuleError('jq: @base64d: the bytes are not valid UTF-8')
  return decoded
}

function formatRow(value: RuleValue, separator: string, budget: Budget, show: (item: RuleValue) => string): string {
  const cells = (isArray(value) ? value : [value]).map(show)
  budget.countCreated(cells.reduce((sum, { length }) => sum + length + 1, 0))
  return cells.join(separator)
}

function formatCell(value: RuleValue, budget: Budget): string {
  if (value === null || value === undefined) return ''
  if (isNumber(value) || typeof value === 'boolean') return toPlainText(value, budget)
  throw new RuleError(`jq: ${describeValue(value, budget)} is not a cell of a table`)
}

const tabEscapes: Readonly<Record<string, string>> = {
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\\': String.raw`\\`,
}

function escapeTabs(text: string): string {
  return text.replaceAll(/[\t\n\r\\]/gu, (character) => tabEscapes[character] ?? character)
}
