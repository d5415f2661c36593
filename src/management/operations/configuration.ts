import type { DescribedSetting } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'

/** What the management asks of the node about its configuration. */
export interface ConfigurationOperations {
  /** Of what `/reload` is about, in the units of the house. */
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
  /** Settings by section and key, as in `sections`; only those that are given. `act`: as it is called in the history. */
  change(
    settings: Readonly<Record<string, unknown>>,
    options: { readonly by: Caller; readonly persists: boolean; readonly act: string },
  ): Promise<ConfigurationOutcome>
  /** Every setting with its definition, its value and where that is from. */
  settings(): readonly ListedSetting[]
  /** What a text would change in the place of the configuration; nothing is changed. */
  previewText(text: string): readonly SettingDifference[] | ConfigurationRefusal
  replaceText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** Only the settings in `text`, as HOCON. */
  mergeText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** What either would do. */
  tryText(text: string, how: { readonly merges: boolean }): Promise<ConfigurationOutcome>
  reload(by: Caller): Promise<ConfigurationOutcome>
  /** Of TLS listeners, as their files are now. */
  certificates(): readonly CertificateInForce[]
  /** The oldest first. */
  versions(): readonly ConfigurationVersion[]
  /** What was not as by default in a version that there is; secrets masked. */
  textOf(number: number): string
  /** Between two versions that there are. */
  differencesOf(from: number, to: number): readonly SettingDifference[]
  rollback(number: number, by: Caller): Promise<ConfigurationOutcome>
}

/** A file of a certificate that a TLS listener names. */
export type CertificateInForce = { readonly listener: string; readonly file: string } & (
  | { readonly endsAtMs: number; readonly problem?: undefined }
  /** It is not used; the listener goes on with the certificate that it has read before. */
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
      readonly withoutEngine: readonly SettingDifference[]
      readonly pinned: readonly string[]
      /** A sentence each, with place and key. */
      readonly warnings: readonly string[]
    }
  | {
      readonly isDone: false
      readonly why: 'empty' | 'not-hocon' | 'invalid' | 'not-written' | 'unknown-version' | 'forbidden'
      readonly message: string
    }
