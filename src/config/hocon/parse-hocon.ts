import type { ConfigError } from '../config-errors.ts'
import { parseDocument, type IncludeReader, type Reading } from './parse-document.ts'
import { resolve, type Environment } from './resolve.ts'
import type { ConfigObject } from './values.ts'

export interface HoconOptions {
  /** The name by which faults call the text. */
  readonly file: string
  /** Reads an included file, and decides which files may be read at all. Without it includes are refused. */
  readonly readInclude?: IncludeReader | undefined
  /** What `${NAME}` falls back to when the text does not set it. Without it nothing outside the text is seen. */
  readonly environment?: Environment | undefined
}

/**
 * Reads HOCON: comments, dotted keys, `=` or `:` or neither before `{`, joined values, substitutions, `+=`, includes.
 * For any text at all it returns, within the limits of `hoconLimits`: the value, or every fault that was found.
 */
export function parseHocon(
  text: string,
  options: HoconOptions,
): { readonly value: ConfigObject } | { readonly faults: readonly ConfigError[] } {
  const reading: Reading = { faults: [], readInclude: options.readInclude, characters: 0, values: 0, includes: 0 }
  const root = parseDocument(text, options.file, reading)
  // What is half read cannot be resolved: each fault would be followed by its echo.
  if (reading.faults.length > 0) return { faults: reading.faults }
  const value = resolve(root, reading.faults, options.environment)
  return reading.faults.length > 0 ? { faults: reading.faults } : { value }
}
