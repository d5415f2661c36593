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

/** What the management asks of the node about delayed messages. Undefined in place of an answer: a shard is silent. */
export interface DelayedOperations {
  readonly nodeName: string
  settings(): DelayedSettings
  changeSettings(settings: Partial<DelayedSettings>, by: Caller): Promise<RuleProblem | undefined>
  list(
    skip: number,
    most: number,
  ): Promise<{ readonly count: number; readonly rows: readonly DelayedRow[] } | undefined>
  /** null: there is none of that ID. */
  find(id: string): Promise<(DelayedRow & { readonly payload: Uint8Array }) | null | undefined>
  /** False: there is none of that ID. A text: why it stays. */
  remove(id: string): Promise<boolean | string | undefined>
}
