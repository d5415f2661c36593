import { createConfigError, type ConfigError } from './config-errors.ts'
import { hoconLimits } from './hocon-limits.ts'
import type { Path } from './nodes.ts'
import { parseHocon } from './parse-hocon.ts'
import { readPath, HoconSyntaxError } from './read-text.ts'
import { TextCursor } from './text-cursor.ts'
import { readScalar, type ConfigValue, type Position } from './config-values.ts'

const at: Position = { file: '--set', line: 0, column: 0 }

/**
 * Parses `KEY=VALUE` of `--set`. A value that starts with a quote, bracket or brace is parsed as in a file; any other
 * is taken literally, so that `--set listeners.tcp.bind=127.0.0.1:1883` needs no quotes.
 */
export function parseOverride(
  text: string,
): { readonly path: Path; readonly value: ConfigValue } | { readonly error: ConfigError } {
  const path = parseKey(text)
  if ('error' in path) return path
  const raw = text.slice(path.length).trim()
  const value = /^["[{]/.test(raw) ? parseStructure(raw, path.path.join('.')) : readPlain(raw, path.path.join('.'))
  return 'error' in value ? value : { path: path.path, value: value.value }
}

function parseKey(text: string): { readonly path: Path; readonly length: number } | { readonly error: ConfigError } {
  const usage = 'write --set KEY=VALUE'
  const equals = findEquals(text)
  if (equals === -1) return { error: createConfigError(at, text.trim(), 'there is no = in it', usage) }
  const cursor = new TextCursor(text.slice(0, equals).trim(), at.file)
  try {
    const path = readPath(cursor)
    if (!cursor.isAtEnd) return { error: createConfigError(at, text.slice(0, equals), 'this is not a key', usage) }
    if (path.length > hoconLimits.maxDepth) {
      return {
        error: createConfigError(at, text.slice(0, equals), `the key has more than ${hoconLimits.maxDepth} parts`),
      }
    }
    return { path, length: equals + 1 }
  } catch (error) {
    if (!(error instanceof HoconSyntaxError)) throw error
    return { error: createConfigError(at, text.slice(0, equals), error.message, error.hint || usage) }
  }
}

/** Returns the position of the first `=` outside quotes. */
function findEquals(text: string): number {
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '"') isQuoted = !isQuoted
    else if (text[index] === '=' && !isQuoted) return index
  }
  return -1
}

type OverrideValue = { readonly value: ConfigValue } | { readonly error: ConfigError }

function parseStructure(text: string, key: string): OverrideValue {
  const parsed = parseHocon(`value = ${text}`, { file: at.file })
  if ('value' in parsed) {
    const value = parsed.value.entries.get('value')
    if (value !== undefined && parsed.value.entries.size === 1) return { value: removePositions(value) }
    return { error: createConfigError(at, key, 'text follows the value', 'write each setting in its own --set') }
  }
  const [first] = parsed.errors
  return { error: createConfigError(at, key, first?.message ?? 'the value cannot be read', first?.hint) }
}

/** Returns the value without positions, because there is no file. */
function removePositions(value: ConfigValue): ConfigValue {
  if (value.kind === 'array') return { ...value, items: value.items.map(removePositions), at }
  if (value.kind !== 'object') return { ...value, at }
  return { ...value, entries: new Map([...value.entries].map(([key, part]) => [key, removePositions(part)])), at }
}

function readPlain(text: string, key: string): OverrideValue {
  if (!text.isWellFormed()) return { error: createConfigError(at, key, 'the value is not well-formed text') }
  return { value: readScalar(text, at) }
}
