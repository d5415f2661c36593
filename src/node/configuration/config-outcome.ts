// Results of configuration changes.

import type { Difference, GodwitConfig, Warning } from '../../config/index.ts'
import type { ConfigRefusal } from './config-refusals.ts'

/** The result of a change. */
export type ConfigOutcome = ConfigChange | ConfigRefusal

export interface ConfigChange {
  readonly isDone: true
  /** Applied. */
  readonly changed: readonly Difference[]
  /** Written, and applied at the next start; including those of earlier changes. */
  readonly needsRestart: readonly Difference[]
  /** Accepted without effect. */
  readonly withoutEffect: readonly Difference[]
  /** Keys with a `--set` value, which has priority over the written one. */
  readonly pinned: readonly string[]
  readonly warnings: readonly Warning[]
}

/** The effect of a change. */
export interface PreviewedChange {
  readonly isDone: true
  /** The configuration after the change. */
  readonly config: GodwitConfig
  readonly live: readonly Difference[]
  readonly needsRestart: readonly Difference[]
}
