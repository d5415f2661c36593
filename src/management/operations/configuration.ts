import type { DescribedSetting } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'

/** Configuration of the node, for the API. */
export interface ConfigurationOperations {
  /** The settings of `/reload`, in internal units. */
  hotSettings(): {
    readonly maxPropertyKibibytes: number
    readonly maxQueuedMessages: number
    readonly retryIntervalMs: number
    readonly allowsAnonymous: boolean
    readonly maxPacketBytes: number
    readonly clientMaxPacketBytes: number
    readonly keepAliveMultiplier: number
  }
  /** By section, each an object of settings; secrets masked. */
  sections(): Readonly<Record<string, unknown>>
  /**
   * Changes settings by section and key, as in `sections`; absent ones are unchanged. `act`: name of the change in the
   * history.
   */
  change(
    settings: Readonly<Record<string, unknown>>,
    options: { readonly by: Caller; readonly persists: boolean; readonly act: string },
  ): Promise<ConfigurationOutcome>
  /** Every setting with its definition, its value and its origin. */
  settings(): readonly ListedSetting[]
  /**
   * Settings of a new entry of a section (`connectors`) with their defaults; undefined: no such section has named entries.
   * `isKeptToNamespace`: only those that an account of a namespace can use.
   */
  settingsOfNew(section: string, options: { readonly isKeptToNamespace: boolean }): readonly ListedSetting[] | undefined
  /** Returns what a text would change if it replaced the configuration; nothing is changed. */
  previewText(text: string): readonly SettingDifference[] | ConfigurationRefusal
  replaceText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** Changes only the settings in `text` (HOCON). */
  mergeText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** Returns the effect of either. */
  tryText(text: string, how: { readonly merges: boolean }): Promise<ConfigurationOutcome>
  /** Drops stored changes, so that the file or the default applies again; removes named entries. */
  unset(
    keys: readonly string[],
    how: { readonly by: Caller; readonly isDryRun: boolean },
  ): Promise<ConfigurationOutcome>
  reload(by: Caller): Promise<ConfigurationOutcome>
  /** Returns the certificates of TLS listeners from their current files. */
  certificates(): readonly CertificateInForce[]
  /** Oldest first. */
  versions(): readonly ConfigurationVersion[]
  /** Returns the values of an existing version that differ from defaults; secrets masked. */
  textOf(number: number): string
  /** Differences between two existing versions. */
  differencesOf(from: number, to: number): readonly SettingDifference[]
  rollback(number: number, by: Caller): Promise<ConfigurationOutcome>
}

/** A certificate file of a TLS listener. */
export type CertificateInForce = { readonly listener: string; readonly file: string } & (
  | { readonly endsAtMs: number; readonly problem?: undefined }
  /** The file is unusable; the listener continues with the certificate that it has read before. */
  | { readonly problem: string }
)

export interface ConfigurationVersion {
  readonly number: number
  readonly atMs: number
  readonly author: { readonly name: string; readonly by: string; readonly address: string }
  readonly act: string
  readonly changed: readonly string[]
}

export interface SettingDifference {
  readonly key: string
  readonly old: string | undefined
  readonly new: string | undefined
}

export interface ListedSetting extends Omit<DescribedSetting, 'place' | 'isDefault'> {
  readonly source: 'default' | 'file' | 'api' | 'command-line'
  /** File and line. */
  readonly place: string | undefined
}

type ConfigurationRefusal = Extract<ConfigurationOutcome, { readonly isDone: false }>

export type ConfigurationOutcome =
  | {
      readonly isDone: true
      readonly changed: readonly SettingDifference[]
      readonly needsRestart: readonly SettingDifference[]
      readonly withoutEffect: readonly SettingDifference[]
      readonly pinned: readonly string[]
      /** A sentence each, with position and key. */
      readonly warnings: readonly string[]
    }
  | {
      readonly isDone: false
      readonly why: 'empty' | 'not-hocon' | 'invalid' | 'not-written' | 'unknown-version' | 'forbidden'
      readonly message: string
    }
