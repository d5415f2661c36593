// Settings that name a file or a directory. All such settings have this type: a configuration from the API is checked
// by it.

import type { PathBase } from './named-path.ts'
import { type SettingType, text } from './setting-type.ts'

const maxPathBytes = 4_096

/** The path of a file or a directory. An empty text means none. */
export function path(
  base: PathBase,
  {
    isWritten = false,
    isEmptyAllowed = false,
  }: { readonly isWritten?: boolean; readonly isEmptyAllowed?: boolean } = {},
): SettingType<string> {
  return {
    ...text({ maxBytes: maxPathBytes, isEmptyAllowed }),
    listPaths: (value) => (value === '' ? [] : [{ path: value, base, isWritten }]),
  }
}

/** An absolute path without a check: only the local configuration may set it. */
export const localDirectory: SettingType<string> = text({
  maxBytes: maxPathBytes,
  form: { pattern: /^\//, name: 'an absolute path' },
})
