import type { IncludeReader, Reading } from './reading.ts'
import type { ConfigError } from './config-errors.ts'
import { parseDocument } from './parse-document.ts'
import { resolveDocument, type Environment } from './resolve.ts'
import type { ConfigObject } from './config-values.ts'

export interface HoconOptions {
  /** Name of the text in errors. */
  readonly file: string
  /** Reads an included file, and decides which files may be read. If absent, includes are refused. */
  readonly readInclude?: IncludeReader | undefined
  /** Values for `${NAME}` that the text does not define. If absent, there are none. */
  readonly environment?: Environment | undefined
}

/**
 * Parses HOCON: comments, dotted keys, `=` or `:` or neither before `{`, concatenated values, substitutions, `+=`,
 * includes. For any text it returns, within the limits of `hoconLimits`, the value or all errors.
 */
export function parseHocon(
  text: string,
  options: HoconOptions,
): { readonly value: ConfigObject } | { readonly errors: readonly ConfigError[] } {
  const reading: Reading = { errors: [], readInclude: options.readInclude, characters: 0, values: 0, includes: 0 }
  const root = parseDocument(text, options.file, reading)
  // A partly parsed text is not resolved, because each error would cause others.
  if (reading.errors.length > 0) return { errors: reading.errors }
  const value = resolveDocument(root, reading.errors, options.environment)
  return reading.errors.length > 0 ? { errors: reading.errors } : { value }
}
