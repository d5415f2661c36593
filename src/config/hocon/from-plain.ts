import type { ConfigError } from './config-errors.ts'
import { parseHocon } from './parse-hocon.ts'
import type { ConfigObject, ConfigValue, Position } from './config-values.ts'

/** Converts a plain value into configuration values. `file` is the name in errors, which have no lines. */
export function fromPlain(
  plain: Readonly<Record<string, unknown>>,
  file: string,
): { readonly value: ConfigObject } | { readonly errors: readonly ConfigError[] } {
  const at: Position = { file, line: 0, column: 0 }
  // JSON is HOCON: the limits and forbidden keys of HOCON apply here as well.
  const parsed = parseHocon(JSON.stringify(plain), { file })
  if ('errors' in parsed) return { errors: parsed.errors.map((error) => ({ ...error, line: 0, column: 0 })) }
  return { value: moveObject(parsed.value, at) }
}

function moveObject(object: ConfigObject, at: Position): ConfigObject {
  return { ...object, entries: new Map([...object.entries].map(([key, part]) => [key, move(part, at)])), at }
}

function move(value: ConfigValue, at: Position): ConfigValue {
  if (value.kind === 'object') return moveObject(value, at)
  if (value.kind === 'array') return { ...value, items: value.items.map((item) => move(item, at)), at }
  return { ...value, at }
}
