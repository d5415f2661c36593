// State of reading one text with its includes.

import type { ConfigError } from './config-errors.ts'

/**
 * Returns the content of `include "path"` in the file `from`. `file` is its name in errors and for its own includes;
 * default: `path` relative to `from`.
 */
export type IncludeReader = (
  path: string,
  from: string,
) => { readonly text: string; readonly file?: string } | { readonly error: string }

/** State that a text and its includes share. */
export interface Reading {
  readonly errors: ConfigError[]
  readonly readInclude: IncludeReader | undefined
  characters: number
  values: number
  includes: number
}
