// Formatted output with the control sequences of Erlang.

import {
  type Budget,
  toBytes,
  formatJsonNumber,
  isArray,
  isMap,
  isNumber,
  isText,
  joinTexts,
  createLimitError,
  maxValueDepth,
  RuleBits,
  RuleError,
  type RuleText,
  type RuleValue,
} from '../../values/index.ts'
import type { Call } from './rule-function.ts'

const sequence = /~(t?)(.)/gsu

/** `~s`, `~p` and `~w` take the next value. Throws RuleError for other sequences and a wrong number of values. */
export function sprintf([format, ...values]: readonly RuleValue[], { budget }: Call): RuleValue {
  const pieces: RuleText[] = []
  let used = 0
  const next = (): RuleValue => {
    if (used === values.length) throw new RuleError('sprintf: the format has more sequences than there are values')
    return values[used++]
  }
  const text = format as string
  let at = 0
  for (const match of text.matchAll(sequence)) {
    pieces.push(text.slice(at, match.index))
    at = match.index + match[0].length
    pieces.push(formatControl(match[2], next, budget))
  }
  if (text.indexOf('~', at) !== -1) throw new RuleError('sprintf: the format ends with ~')
  if (used < values.length) throw new RuleError('sprintf: there are more values than sequences in the format')
  pieces.push(text.slice(at))
  return joinTexts(pieces, budget)
}

function formatControl(control: string, next: () => RuleValue, budget: Budget): RuleText {
  switch (control) {
    case 's':
      return requirePlainText(next())
    case 'p':
    case 'w':
      return formatTerm(next(), { budget, isReadable: control === 'p' }, 0)
    case 'n':
      return '\n'
    case '~':
      return '~'
    default:
      throw new RuleError(`sprintf: ~${control} is not supported: use ~s, ~p, ~w, ~n and ~~`)
  }
}

function requirePlainText(value: RuleValue): RuleText {
  if (isText(value)) return value
  if (typeof value === 'boolean' || value === null || value === undefined) return String(value)
  throw new RuleError('sprintf: ~s needs a text: use ~p')
}

interface TermStyle {
  readonly budget: Budget
  /** Whether readable texts are written as `<<"text">>` and not as a list of bytes. */
  readonly isReadable: boolean
}

function formatTerm(value: RuleValue, style: TermStyle, depth: number): string {
  if (depth > 2 * maxValueDepth)
    throw createLimitError('the value is nested too deeply', 'maxValueDepth', maxValueDepth)
  style.budget.countCreated(16)
  if (isText(value)) return formatBinaryTerm(value, style)
  if (isNumber(value)) return formatJsonNumber(value)
  if (isArray(value)) return `[${value.map((item) => formatTerm(item, style, depth + 1)).join(',')}]`
  if (isMap(value)) {
    const members = Object.entries(value).map(([key, member]) => {
      return `${formatBinaryTerm(key, style)} => ${formatTerm(member, style, depth + 1)}`
    })
    return `#{${members.join(',')}}`
  }
  if (value instanceof RuleBits) throw new RuleError('sprintf: a sequence of bits cannot be written: use whole bytes')
  return String(value)
}

function formatBinaryTerm(text: RuleText, { budget, isReadable }: TermStyle): string {
  budget.countCreated(4 * text.length)
  if (!isReadable || typeof text !== 'string' || text === '')
    return text === '' ? '<<>>' : `<<${toBytes(text).join(',')}>>`
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r')
  // oxlint-disable-next-line no-control-regex -- texts with other characters than ASCII are marked
  return /^[\u0000-\u007f]*$/.test(text) ? `<<"${escaped}">>` : `<<"${escaped}"/utf8>>`
}
