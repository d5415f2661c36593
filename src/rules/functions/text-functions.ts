// Functions on texts. Lengths and positions count graphemes.

import {
  type Budget,
  isArray,
  joinTexts,
  type RuleArray,
  RuleError,
  type RuleText,
  type RuleValue,
  toTextForm,
} from '../../values/index.ts'
import { requireInteger, requireOption } from './arguments.ts'
import { countGraphemes, splitGraphemes, sliceGraphemes } from './graphemes.ts'
import type { Call, FunctionDefinition, FunctionDefinitions } from './rule-function.ts'
import { formatSqlValues } from './sql-values.ts'
import { sprintf } from './sprintf.ts'
import { unescape } from './formats/unescape.ts'

const maxPosition = Number.MAX_SAFE_INTEGER

/** White space of Unicode patterns. */
const leadingSpace = /^[\t-\r \u0085\u200e\u200f\u2028\u2029]+/

function trimStart(text: string): string {
  return text.replace(leadingSpace, '')
}

function trimEnd(text: string): string {
  // A pattern with an end anchor would take quadratic time.
  let end = text.length
  while (end > 0 && leadingSpace.test(text[end - 1])) end--
  return text.slice(0, end)
}

/** Removes the graphemes of `characters`, in any order, from the start, the end, or both. */
function trimCharacters(text: string, characters: string, { side, budget }: TrimOptions): string {
  const graphemes = splitGraphemes(text, budget)
  const removed = new Set(splitGraphemes(characters, budget))
  let start = 0
  let end = graphemes.length
  if (side !== 'end') while (start < end && removed.has(graphemes[start])) start++
  if (side !== 'start') while (end > start && removed.has(graphemes[end - 1])) end--
  return graphemes.slice(start, end).join('')
}

interface TrimOptions {
  readonly side: 'start' | 'end' | 'both'
  readonly budget: Budget
}

function createTrimFunction(
  side: TrimOptions['side'],
  place: string,
  trimSpace: (text: string) => string,
): FunctionDefinition {
  return {
    signatures: ['text: text', 'text: text, characters: text'],
    returns: 'text',
    description: `Text without white space, or without any of the characters, at ${place}.`,
    run: ([text, characters], { budget }) => {
      budget.countCreated((text as string).length)
      return characters === undefined
        ? trimSpace(text as string)
        : trimCharacters(text as string, characters as string, { side, budget })
    },
  }
}

function createTextFunction(
  description: string,
  compute: (text: string, call: Call) => RuleValue,
  returns = 'text',
): FunctionDefinition {
  return {
    signatures: ['text: text'],
    returns,
    description,
    run: ([text], call) => {
      call.budget.countCreated((text as string).length)
      return compute(text as string, call)
    },
  }
}

function substr([text, start, length]: readonly RuleValue[], { budget }: Call): RuleValue {
  const from = requireInteger(start, 'substr: start', 0, maxPosition)
  const count = length === undefined ? maxPosition : requireInteger(length, 'substr: length', 0, maxPosition)
  return sliceGraphemes(text as string, from, count, budget)
}

const splitOptions = ['all', 'notrim', 'leading', 'leading_notrim', 'trailing', 'trailing_notrim'] as const

/** The empty separator cuts nothing. */
function split([text, separator, option = 'all']: readonly RuleValue[], { budget }: Call): RuleArray {
  const mode = requireOption(option, 'split: the option', splitOptions)
  const [whole, cut] = [text as string, separator as string]
  budget.countCreated(9 * whole.length + 8)
  const pieces = cutText(whole, cut, mode)
  return mode.endsWith('notrim') ? pieces : pieces.filter((piece) => piece !== '')
}

function cutText(text: string, separator: string, mode: (typeof splitOptions)[number]): string[] {
  if (separator === '') return [text]
  if (mode === 'all' || mode === 'notrim') return text.split(separator)
  const at = mode.startsWith('leading') ? text.indexOf(separator) : text.lastIndexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}

function tokens([text, separators, option]: readonly RuleValue[], { budget }: Call): RuleArray {
  if (option !== undefined) requireOption(option, 'tokens: the option', ['nocrlf'])
  const cuts = new Set(separators as string)
  if (option !== undefined) cuts.add('\r').add('\n')
  budget.countCreated(9 * (text as string).length)
  const found: string[] = []
  let token = ''
  for (const character of text as string) {
    if (!cuts.has(character)) token += character
    else if (token !== '') {
      found.push(token)
      token = ''
    }
  }
  return token === '' ? found : [...found, token]
}

function concat(args: readonly RuleValue[], { budget }: Call): RuleText {
  const pieces = args.length === 1 && isArray(args[0]) ? args[0] : args
  return joinTexts(
    pieces.map((piece) => toTextForm(piece, budget)),
    budget,
  )
}

const sides = ['trailing', 'leading', 'both'] as const

/** The padding is one unit, also if it is more than one grapheme. With an odd count, `both` pads one more at the end. */
function pad([text, length, side = 'trailing', padding = ' ']: readonly RuleValue[], { budget }: Call): RuleValue {
  const mode = requireOption(side, 'pad: the side', sides)
  const wanted = requireInteger(length, 'pad: the length', 0, maxPosition)
  const missing = Math.max(0, wanted - countGraphemes(text as string, budget))
  budget.countCreated((text as string).length + missing * (padding as string).length)
  const before = mode === 'leading' ? missing : mode === 'both' ? Math.floor(missing / 2) : 0
  return (padding as string).repeat(before) + (text as string) + (padding as string).repeat(missing - before)
}

function replace([text, what, by, option = 'all']: readonly RuleValue[], { budget }: Call): RuleValue {
  const mode = requireOption(option, 'replace: the option', ['all', 'leading', 'trailing'])
  if (what === '') return text
  const pieces = cutText(text as string, what as string, mode)
  budget.countCreated((text as string).length + (pieces.length - 1) * (by as string).length)
  return pieces.join(by as string)
}

function ascii(bytes: Uint8Array): RuleValue {
  if (bytes.length === 0) throw new RuleError('ascii: the text is empty')
  return bytes[0]
}

/** Returns the rest of the text from the first or last hit. */
function find([text, part, side = 'leading']: readonly RuleValue[], { budget }: Call): RuleValue {
  const mode = requireOption(side, 'find: the side', ['leading', 'trailing'])
  if (part === '') return text
  const whole = text as string
  budget.countCreated(whole.length)
  const at = mode === 'leading' ? whole.indexOf(part as string) : whole.lastIndexOf(part as string)
  return at === -1 ? '' : whole.slice(at)
}

function joinToString(args: readonly RuleValue[], { budget }: Call): RuleText {
  const [separator, list] = args.length === 1 ? [', ', args[0]] : args
  return joinWith(separator as string, list as RuleArray, budget)
}

function joinWith(separator: string, list: RuleArray, budget: Budget): RuleText {
  const pieces = list.flatMap((item, index) => {
    const piece = toTextForm(item, budget)
    return index === 0 ? [piece] : [separator, piece]
  })
  return joinTexts(pieces, budget)
}

export const textFunctions: FunctionDefinitions = {
  lower: createTextFunction('Text in lower case.', (text) => text.toLowerCase()),
  upper: createTextFunction('Text in upper case.', (text) => text.toUpperCase()),
  trim: createTrimFunction('both', 'both ends', (text) => trimEnd(trimStart(text))),
  ltrim: createTrimFunction('start', 'the start', trimStart),
  rtrim: createTrimFunction('end', 'the end', trimEnd),
  reverse: createTextFunction('Text in reverse order.', (text, { budget }) =>
    splitGraphemes(text, budget).toReversed().join(''),
  ),
  strlen: createTextFunction('Number of graphemes.', (text, { budget }) => countGraphemes(text, budget), 'integer'),
  substr: {
    signatures: ['text: text, start: integer', 'text: text, start: integer, length: integer'],
    returns: 'text',
    description: 'Part of a text. The first grapheme has the position 0.',
    run: substr,
  },
  split: {
    signatures: ['text: text, separator: text', 'text: text, separator: text, option: text'],
    returns: 'array',
    description:
      'Pieces between separators, without empty pieces. Options: `leading` and `trailing` cut once; `notrim`, `leading_notrim` and `trailing_notrim` keep empty pieces.',
    run: split,
  },
  tokens: {
    signatures: ['text: text, separators: text', 'text: text, separators: text, option: text'],
    returns: 'array',
    description:
      'Pieces between any of the separator characters, without empty pieces. The option `nocrlf` cuts at CR and LF too.',
    run: tokens,
  },
  concat: {
    signatures: ['list: array', 'first: any, second: any'],
    returns: 'text',
    description: 'Joined text forms of two values or of the elements of an array.',
    run: concat,
  },
  sprintf: {
    signatures: ['format: text, ...values: any'],
    returns: 'text',
    description:
      'Formatted text: `~s` inserts a text, `~p` and `~w` any value as an Erlang term, `~n` a line feed, `~~` a tilde.',
    run: sprintf,
  },
  pad: {
    signatures: [
      'text: text, length: integer',
      'text: text, length: integer, side: text',
      'text: text, length: integer, side: text, padding: text',
    ],
    returns: 'text',
    description: 'Text padded to a number of graphemes, at the side `trailing`, `leading` or `both`.',
    run: pad,
  },
  replace: {
    signatures: ['text: text, what: text, by: text', 'text: text, what: text, by: text, option: text'],
    returns: 'text',
    description: 'Text with replaced parts: `all`, or only the first (`leading`) or last (`trailing`).',
    run: replace,
  },
  ascii: {
    signatures: ['text: bytes'],
    returns: 'integer',
    description: 'Value of the first byte.',
    run: ([bytes]) => ascii(bytes as Uint8Array),
  },
  find: {
    signatures: ['text: text, part: text', 'text: text, part: text, side: text'],
    returns: 'text',
    description: 'Rest of the text from the first (`leading`) or last (`trailing`) hit; an empty text without a hit.',
    run: find,
  },
  rm_prefix: {
    signatures: ['text: text, prefix: text'],
    returns: 'text',
    description: 'Text without a prefix; the text itself if it does not start with the prefix.',
    run: ([text, prefix]) =>
      (text as string).startsWith(prefix as string) ? (text as string).slice((prefix as string).length) : text,
  },
  join_to_string: {
    signatures: ['list: array', 'separator: text, list: array'],
    returns: 'text',
    description: 'Text forms of the elements, joined by a separator (`, ` by default).',
    run: joinToString,
  },
  unescape: createTextFunction(
    'Text with resolved escapes: \\\\ \\n \\t \\r \\b \\f \\v \\\' \\" \\? \\a \\xHH.',
    unescape,
  ),
  join_to_sql_values_string: {
    signatures: ['list: array'],
    returns: 'text',
    description: 'Elements as SQL values, joined by commas: texts in quotes, undefined and null as NULL.',
    run: ([list], { budget }) => formatSqlValues(list as RuleArray, budget),
  },
}
