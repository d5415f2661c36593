// Messages between the main thread and the process of a plugin, on its first channel: one JSON text in each line.

import type { HookName } from '../manifest/plugin-manifest.ts'

/** Number of the descriptor of this channel in the process; those of the shards follow. */
export const controlDescriptor = 3

export type ControlToProcess =
  | {
      readonly kind: 'start'
      /** URL of the entry of the plugin. */
      readonly entry: string
      readonly hooks: readonly HookName[]
      readonly config: unknown
      readonly shards: number
      /** Whether it has the permission `net`. */
      readonly hasNetwork: boolean
    }
  /** The response is `pong`: the process runs its event loop. */
  | { readonly kind: 'ping' }
  /** The response is `configured`. */
  | { readonly kind: 'configure'; readonly config: unknown }
  /** No calls follow: the process aborts the signal of the plugin and ends. */
  | { readonly kind: 'stop' }

export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevelOfPlugin = (typeof logLevels)[number]

export type ControlFromProcess =
  | { readonly kind: 'ready' }
  /** The plugin cannot be started; the process ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'pong' }
  /** `error` undefined: applied. `isUnknown`: the plugin has no `configure`. */
  | { readonly kind: 'configured'; readonly error: string | undefined; readonly isUnknown: boolean }
  | { readonly kind: 'log'; readonly level: LogLevelOfPlugin; readonly text: string }
  /** Lines of the log that were dropped since the last report. */
  | { readonly kind: 'log-dropped'; readonly lines: number }
  /** All metrics of the plugin; sent each second if one has changed. */
  | {
      readonly kind: 'metrics'
      readonly counters: Readonly<Record<string, number>>
      readonly gauges: Readonly<Record<string, number>>
    }

/** Splits a channel into lines. */
export class LineReader {
  readonly #maxBytes: number
  #rest = ''

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns false if a line is too long: then the channel cannot be read any further. */
  read(chunk: string, handle: (line: string) => void): boolean {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) handle(line)
    return this.#rest.length <= this.#maxBytes
  }
}
