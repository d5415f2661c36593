// The list of installed plugins as it is on disk: `plugins/installed.json` in the data directory, in the order of their hooks.

import { createHash } from 'node:crypto'
import type { PluginConfig } from '../manifest/config-schema.ts'
import type { PluginManifest } from '../manifest/plugin-manifest.ts'

export interface PluginRecord {
  readonly name: string
  readonly version: string
  /** As it was checked at the installation, so that a changed directory changes nothing. */
  readonly manifest: PluginManifest
  /** Text of the JSON Schema of the configuration; absent: it has none. */
  readonly schema?: string | undefined
  /** SHA-256 of the archive, and of the unpacked files (`directory-digest.ts`), in hexadecimal digits. */
  readonly sha256: string
  readonly directorySha256: string
  /** Whether it starts with the broker. */
  readonly isEnabled: boolean
  readonly config: PluginConfig
  /** Permissions that an administrator has allowed: `net`, `fs:read:PATH`, `fs:write:PATH`. */
  readonly allowedPermissions: readonly string[]
  /** Permissions of a version that was refused for them, until an administrator allows them. */
  readonly refusedPermissions: readonly string[]
  /** Wall clock. */
  readonly installedAtMs: number
}

/** Name of the directory of a version, and of its archive without `.tgz`. */
export function formatVersionedName({ name, version }: Pick<PluginRecord, 'name' | 'version'>): string {
  return `${name}-${version}`
}

const format = 1

export function encodeRecords(plugins: readonly PluginRecord[]): string {
  const text = JSON.stringify(plugins)
  return `${JSON.stringify({ format, sha256: digestText(text), plugins }, null, 2)}\n`
}

/** A problem is a sentence: the file is damaged, or a newer version has written it. */
export function decodeRecords(text: string): readonly PluginRecord[] | { readonly problem: string } {
  const damaged = { problem: 'the list of installed plugins is damaged: restore it from a backup, or delete it' }
  let content: { readonly format?: unknown; readonly sha256?: unknown; readonly plugins?: unknown } | null
  try {
    content = JSON.parse(text) as typeof content
  } catch {
    return damaged
  }
  if (typeof content !== 'object' || content === null) return damaged
  if (typeof content.format === 'number' && content.format > format) {
    return { problem: `a newer version has written the list of installed plugins (format ${content.format}): use it` }
  }
  const { plugins } = content
  // Only this module writes the file: with the right digest it has the right shape.
  if (!Array.isArray(plugins) || content.sha256 !== digestText(JSON.stringify(plugins))) return damaged
  return plugins as readonly PluginRecord[]
}

function digestText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
