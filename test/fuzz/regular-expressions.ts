// Finds every regular expression of the sources, and texts on which a backtracking expression takes more than linear time.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, visitorKeys } from 'oxc-parser'

export interface FoundExpression {
  /** `file:pattern` */
  readonly name: string
  readonly expression: RegExp
}

const sources = new URL('../../src/', import.meta.url).pathname

/** The regular expressions of all files below `src/`. */
export function expressionsInSources(): readonly FoundExpression[] {
  const found = new Map<string, FoundExpression>()
  for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const { program } = parseSync(file, readFileSync(join(sources, file), 'utf8'))
    for (const { pattern, flags } of expressionsIn(program)) {
      const name = `${file}: /${pattern}/${flags}`
      found.set(name, { name, expression: new RegExp(pattern, flags) })
    }
  }
  return [...found.values()]
}

function* expressionsIn(node: unknown): Generator<{ readonly pattern: string; readonly flags: string }> {
  if (Array.isArray(node)) {
    for (const item of node) yield* expressionsIn(item)
    return
  }
  if (typeof node !== 'object' || node === null || !('type' in node)) return
  const { type, regex } = node as { readonly type: string; readonly regex?: { pattern: string; flags: string } }
  if (regex !== undefined) yield regex
  for (const key of visitorKeys[type] ?? []) yield* expressionsIn((node as Record<string, unknown>)[key])
}

const usualCharacters = ['a', 'Z', '0', '-', '.', ':', '/', ' ', '\t', '+', ',', '=', '_', '\\', '"', '%']
/** Ends of texts that do not match and cause backtracking. */
const ends = ['', '\u0000', '!', '\n']
const maxCharacters = 14

/** Texts of `length` characters that repeat one character or two of those in the expression. */
export function* textsFor({ source }: RegExp, length: number): Generator<string> {
  const own = [...new Set(source.replaceAll(/\\[dDwWsSbBpPuxk]|[()[\]{}?*|^$\\]/g, ''))].slice(0, maxCharacters)
  const characters = [...new Set([...own, ...usualCharacters])]
  for (const [index, character] of characters.entries()) {
    const next = characters[(index + 1) % characters.length] ?? ''
    for (const unit of [character, `${character}${next}`, `${character} `, `%${character}`]) {
      const text = unit.repeat(Math.ceil(length / unit.length))
      // Also after a matching beginning, because many expressions examine the rest only then.
      for (const end of ends) yield text + end
      yield `a ${text}!`
      yield `a="${text}!`
    }
  }
}
