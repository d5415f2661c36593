// Tokens of a jq program. A text with interpolations has the tokens of each `\(...)` inside.

import { RuleError } from '../../values/index.ts'

export type JqToken =
  | {
      readonly kind: 'name' | 'symbol' | 'field' | 'variable' | 'number' | 'format' | 'end'
      readonly text: string
      readonly at: number
    }
  | {
      readonly kind: 'text'
      readonly text: ''
      readonly parts: readonly (string | readonly JqToken[])[]
      readonly at: number
    }

const pattern =
  /(?<space>\s+|#[^\n]*)|(?<field>\.[A-Za-z_]\w*)|(?<variable>\$[A-Za-z_]\w*(?:::\w+)*)|(?<format>@[A-Za-z]\w*)|(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_]\w*)|(?<symbol>\?\/\/=?|\/\/=|\|=|\+=|-=|\*=|\/=|%=|==|!=|<=|>=|\/\/|\.\.|[.[\](){}|,:;?=<>+\-*/%])/uy

const kinds = ['field', 'variable', 'format', 'number', 'name', 'symbol'] as const

/** Throws RuleError with the character where it stops. */
export function tokenizeJq(program: string): JqToken[] {
  const { tokens, at } = readTokens(program, 0, false)
  return [...tokens, { kind: 'end', text: 'the end', at }]
}

function readTokens(program: string, start: number, isInside: boolean): { tokens: JqToken[]; at: number } {
  const tokens: JqToken[] = []
  let depth = 0
  let at = start
  while (at < program.length) {
    const character = program[at]
    if (character === '"') {
      const text = readText(program, at)
      tokens.push(text.token)
      at = text.at
      continue
    }
    if (character === '(') depth++
    if (character === ')' && --depth < 0 && isInside) return { tokens, at }
    const token = readToken(program, at)
    if (token.kind !== undefined) tokens.push({ kind: token.kind, text: token.text, at })
    at += token.text.length
  }
  if (isInside) throw new RuleError(`jq: \\( at character ${start - 1} has no end`)
  return { tokens, at }
}

function readToken(program: string, at: number): { kind: (typeof kinds)[number] | undefined; text: string } {
  pattern.lastIndex = at
  const groups = pattern.exec(program)?.groups
  if (groups === undefined)
    throw new RuleError(`jq: ${JSON.stringify(program[at])} at character ${at + 1} is not expected`)
  for (const kind of kinds) {
    const text = groups[kind]
    if (text !== undefined) return { kind, text }
  }
  return { kind: undefined, text: groups['space'] ?? '' }
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '"': '"',
  '\\': '\\',
  '/': '/',
}

function readText(program: string, start: number): { token: JqToken; at: number } {
  const parts: (string | readonly JqToken[])[] = []
  let text = ''
  let at = start + 1
  for (;;) {
    const character = program[at]
    if (character === undefined) throw new RuleError(`jq: the text at character ${start + 1} has no end`)
    if (character === '"') break
    if (character !== '\\') {
      text += character
      at++
      continue
    }
    const escaped = program[at + 1] ?? ''
    if (escaped === '(') {
      const inner = readTokens(program, at + 2, true)
      parts.push(text, [...inner.tokens, { kind: 'end', text: ')', at: inner.at }])
      text = ''
      at = inner.at + 1
    } else if (escaped === 'u') {
      const digits = program.slice(at + 2, at + 6)
      if (!/^[\dA-Fa-f]{4}$/u.test(digits)) throw new RuleError(`jq: \\u at character ${at + 1} needs four hex digits`)
      text += String.fromCharCode(Number.parseInt(digits, 16))
      at += 6
    } else {
      const plain = escapes[escaped]
      if (plain === undefined) throw new RuleError(`jq: \\${escaped} at character ${at + 1} is not an escape sequence`)
      text += plain
      at += 2
    }
  }
  parts.push(text)
  return { token: { kind: 'text', text: '', parts, at: start }, at: at + 1 }
}
