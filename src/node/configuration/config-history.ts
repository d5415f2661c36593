// The history of configurations: author, time, and the state to return to. Each version has one file in the data
// directory. Secrets are added only as digests with the node's own key.

import { createHmac } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type GodwitConfig, mask, maskUrlSecrets, type PlainValue } from '../../config/index.ts'
import { historyFolder, versionFile } from '../data-dir/earlier-run.ts'
import { stageFile } from './staged-file.ts'

/** Maximum number of versions. */
export const maxConfigurations = 20

/** The author of a change. */
export interface ConfigAuthor {
  /** The account; '' for a local change. */
  readonly name: string
  readonly by: 'administrator' | 'account' | 'api-key' | 'token' | 'socket' | 'nobody' | 'signal' | 'file' | 'start'
  readonly address: string
}

export interface ConfigVersion extends ConfigState {
  readonly number: number
  readonly atMs: number
  readonly author: ConfigAuthor
  /** The action: `config_update`, `reload`, ... */
  readonly act: string
  /** Keys that differ from the version before. */
  readonly changed: readonly string[]
  /** The text is that of `godwit.conf` in the data directory. Versions of older releases do not say it. */
  readonly isOwnFile?: boolean
}

/** The state to which a version can be restored. */
export interface ConfigState {
  /** Text of the file; undefined: there was none. */
  readonly text: string | undefined
  readonly changes: PlainValue
  readonly untilRestart: PlainValue
  /** Values that differ from defaults, by key: as written, or the digest of a secret. */
  readonly settings: Readonly<Record<string, { readonly text: string } | { readonly digest: string }>>
}

export interface VersionDifference {
  readonly key: string
  /** undefined: the default. */
  readonly old: string | undefined
  readonly new: string | undefined
}

export class ConfigHistory {
  readonly #folder: string
  readonly #secret: Uint8Array
  #versions: readonly ConfigVersion[]

  private constructor(folder: string, secret: Uint8Array, versions: readonly ConfigVersion[]) {
    this.#folder = folder
    this.#secret = secret
    this.#versions = versions
  }

  /** Reads the existing versions. Unreadable ones are skipped and not listed. */
  static async open(dataDirectory: string, secret: Uint8Array): Promise<ConfigHistory> {
    const folder = join(dataDirectory, historyFolder)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => versionFile.test(name)).toSorted()
    const versions: ConfigVersion[] = []
    for (const name of names.slice(-maxConfigurations)) {
      const version = await readVersion(join(folder, name))
      if (version !== undefined) versions.push(version)
    }
    return new ConfigHistory(folder, secret, versions)
  }

  /** Oldest first. */
  get versions(): readonly ConfigVersion[] {
    return this.#versions
  }

  get newest(): ConfigVersion | undefined {
    return this.#versions.at(-1)
  }

  find(number: number): ConfigVersion | undefined {
    return this.#versions.find((version) => version.number === number)
  }

  /** Returns whether it is the state of the newest version. */
  isNewest(state: ConfigState): boolean {
    return this.newest !== undefined && JSON.stringify(orderState(this.newest)) === JSON.stringify(orderState(state))
  }

  /** Values that differ from defaults. */
  toSettings(config: GodwitConfig): ConfigVersion['settings'] {
    const settings: Record<string, { text: string } | { digest: string }> = Object.create(null) as never
    for (const [key, setting] of config.settingTexts) {
      if (setting.isDefault) continue
      settings[key] = setting.isSecret ? { digest: this.#digest(key, setting.text) } : { text: setting.text }
    }
    return settings
  }

  /** Rejects with the system's error. */
  async add(version: Omit<ConfigVersion, 'number' | 'changed'>): Promise<ConfigVersion> {
    const newest = this.newest
    const changed = newest === undefined ? [] : compareVersions(newest, version).map(({ key }) => key)
    const added = { ...version, changed, number: (newest?.number ?? 0) + 1 }
    const staged = await stageFile(this.#resolveFile(added.number), JSON.stringify(added), { keepsOld: false })
    await staged.commit()
    const all = [...this.#versions, added]
    for (const old of all.slice(0, -maxConfigurations)) await rm(this.#resolveFile(old.number), { force: true })
    this.#versions = all.slice(-maxConfigurations)
    return added
  }

  #resolveFile(number: number): string {
    return join(this.#folder, `${String(number).padStart(8, '0')}.json`)
  }

  #digest(key: string, text: string): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([key, text]))
      .digest('base64url')
  }
}

/** With a fixed order of keys. */
function orderState({ text, changes, untilRestart, settings }: ConfigState): ConfigState {
  return { text, changes, untilRestart, settings }
}

async function readVersion(path: string): Promise<ConfigVersion | undefined> {
  try {
    return parseVersion(await readFile(path, 'utf8'))
  } catch {
    // A file that cannot be read: the others are still used.
    return undefined
  }
}

/** Returns undefined for an incomplete file, as after a disk failure. */
export function parseVersion(text: string): ConfigVersion | undefined {
  try {
    const version = JSON.parse(text) as Partial<ConfigVersion> | null
    const isWhole = typeof version?.number === 'number' && typeof version.settings === 'object'
    return isWhole ? (version as ConfigVersion) : undefined
  } catch {
    return undefined
  }
}

/** Returns the settings in which two versions differ, secrets masked. */
export function compareVersions(
  before: Pick<ConfigVersion, 'settings'>,
  after: Pick<ConfigVersion, 'settings'>,
): readonly VersionDifference[] {
  const keys = [
    ...Object.keys(before.settings),
    ...Object.keys(after.settings).filter((key) => !Object.hasOwn(before.settings, key)),
  ]
  const found: VersionDifference[] = []
  for (const key of keys) {
    const [old, now] = [before.settings[key], after.settings[key]]
    if (!isSame(old, now)) found.push({ key, old: formatSetting(old), new: formatSetting(now) })
  }
  return found
}

/** Returns the settings of a version as in a configuration file, secrets masked. */
export function formatVersion({ settings }: Pick<ConfigVersion, 'settings'>): string {
  return Object.entries(settings)
    .map(([key, setting]) => `${key} = ${formatSetting(setting)}\n`)
    .join('')
}

type Noted = ConfigVersion['settings'][string] | undefined

function isSame(old: Noted, now: Noted): boolean {
  if (old === undefined || now === undefined) return old === now
  if ('digest' in old) return 'digest' in now && old.digest === now.digest
  return 'text' in now && old.text === now.text
}

const formatSetting = (setting: Noted): string | undefined =>
  setting === undefined ? undefined : 'digest' in setting ? `"${mask}"` : maskUrlSecrets(setting.text)
