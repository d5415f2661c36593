// Dependencies of the configuration of a running node.

import type { GodwitConfig, Warning } from '../../config/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { AllowedPaths } from './layers/allowed-paths.ts'
import type { ConfigConsumer, Problem } from './config-consumers.ts'
import type { ConfigHistory } from './config-history.ts'
import type { ConfigDependencies, ConfigLayers } from './layers/config-layers.ts'

export interface ConfigManagerOptions {
  readonly dependencies: ConfigDependencies
  readonly layers: ConfigLayers
  /** The result of `layers`, which is applied. */
  readonly config: GodwitConfig
  /** Files that a change over the API may name. */
  readonly paths: AllowedPaths
  readonly history: ConfigHistory
  readonly consumers: readonly ConfigConsumer[]
  /** Returns why a configuration cannot be applied, beyond the checks of the module config. */
  findProblem(config: GodwitConfig): Problem | undefined
  /** Returns warnings of a configuration, beyond those of the module config. */
  findWarnings(config: GodwitConfig): readonly Warning[]
  /** Returns the key of a changed setting for which the whole change waits for a restart. */
  findRestartSetting(config: GodwitConfig, running: GodwitConfig): string | undefined
  readonly log: Logger
}
