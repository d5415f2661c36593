// Settings that name a file or a directory. Every such setting has this type: a configuration that comes over the API is
// checked by it, whatever the setting is called.

import type { PathBase } from './named-path.ts'
import { type SettingType, text } from './setting-type.ts'

const maxPathBytes = 4_096

/** The path of a file or a directory. An empty text names nothing. */
export function path(
  base: PathBase,
  {
    isWritten = false,
    isEmptyAllowed = false,
  }: { readonly isWritten?: boolean; readonly isEmptyAllowed?: boolean } = {},
): SettingType<string> {
  return {
    ...text({ maxBytes: maxPathBytes, isEmptyAllowed }),
    pathsIn: (value) => (value === '' ? [] : [{ path: value, base, isWritten }]),
  }
}

/** An absolute path that nobody checks: only the local configuration may name it. */
export const localDirectory: SettingType<string> = text({
  maxBytes: maxPathBytes,
  form: { pattern: /^\//, name: 'an absolute path' },
})
