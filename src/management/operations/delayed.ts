import type { Caller } from '../../contract/index.ts'
import type { RuleProblem } from './rules.ts'

export interface DelayedSettings {
  readonly enable: boolean
  readonly max_delayed_messages: number
}

/** A message that is not published yet. */
export interface DelayedRow {
  readonly id: string
  readonly dueAtMs: number
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publishedAtMs: number
  readonly payloadBytes: number
}

/** Delayed messages, for the API. Undefined instead of a result: a shard does not respond. */
export interface DelayedOperations {
  readonly nodeName: string
  settings(): DelayedSettings
  changeSettings(settings: Partial<DelayedSettings>, by: Caller): Promise<RuleProblem | undefined>
  list(
    skip: number,
    maxRows: number,
  ): Promise<{ readonly count: number; readonly rows: readonly DelayedRow[] } | undefined>
  /** null: no message has that ID. */
  find(id: string): Promise<(DelayedRow & { readonly payload: Uint8Array }) | null | undefined>
  /** False: no message has that ID. A text: why it was not deleted. */
  remove(id: string): Promise<boolean | string | undefined>
}
