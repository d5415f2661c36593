// Assigns the settings of the running node to the parts that apply them.

import { join } from 'node:path'
import { createConfigError, type GodwitConfig, type Warning } from '../config/index.ts'
import type { ShardSettings } from '../shard/index.ts'
import type { Logger } from '../telemetry/index.ts'
import {
  toAccessSettings,
  AllowedPaths,
  ConfigHistory,
  nothingChanged,
  type ConfigConsumer,
  ConfigManager,
  type ConfigurationSources,
  createLogConsumer,
  resolveLogLevel,
  findPasswordRisk,
  wellKnownPasswordText,
  type ShardSupervisor,
  toConnectionLimits,
  type SysTopics,
  dataEntries,
} from '../node/index.ts'

export interface ConfigManagerDependencies {
  readonly config: GodwitConfig
  /** Undefined: the configuration has no file, as in tests. */
  readonly sources: ConfigurationSources | undefined
  readonly dataDirectory: string
  /** Secret of this node. Values that are derived from it look random and stay the same. */
  readonly secret: Uint8Array
  readonly supervisor: ShardSupervisor
  readonly sysTopics: SysTopics
  readonly log: Logger
  /** Further consumers. They are called first, before the consumers of logs, shards and `$SYS` topics. */
  readonly consumers: readonly ConfigConsumer[]
}

/** Consumer of `node.allowed_directories`, which does nothing: `ConfigManager` reads the directories at each change. */
const allowedDirectoriesConsumer: ConfigConsumer = {
  canApply: (key) => key === 'node.allowed_directories',
  apply: async () => undefined,
}

export async function createConfigManager(dependencies: ConfigManagerDependencies): Promise<ConfigManager> {
  const { config, dataDirectory, secret, sysTopics, log, consumers } = dependencies
  const sources = dependencies.sources ?? createSources(config, dataDirectory)
  return new ConfigManager({
    ...sources,
    config,
    history: await ConfigHistory.open(dataDirectory, secret),
    consumers: [
      ...consumers,
      allowedDirectoriesConsumer,
      createLogConsumer(log, dataDirectory, config),
      createShardsConsumer(dependencies),
      createSysTopicsConsumer(sysTopics),
    ],
    findProblem: (changed) => {
      const converted = toAccessSettings(changed, secret)
      return 'problem' in converted ? converted : undefined
    },
    findWarnings,
    findRestartSetting,
    log,
  })
}

/** Returns the sources of a configuration without a file. All paths in it count as local configuration. */
function createSources(config: GodwitConfig, dataDirectory: string): ConfigurationSources {
  const paths = new AllowedPaths(dataDirectory)
  paths.setLocal(config, dataDirectory)
  return {
    dependencies: {
      file: join(dataDirectory, dataEntries.configuration),
      changesFile: join(dataDirectory, dataEntries.changedSettings),
      overrides: [],
      environment: {},
    },
    layers: { document: undefined, changes: nothingChanged, untilRestart: nothingChanged },
    paths,
  }
}

/** Returns a warning about a well-known password. `findExposureProblem` has already refused passwords that must not be used. */
function findWarnings(config: GodwitConfig): readonly Warning[] {
  if (!config.http.isEnabled || findPasswordRisk(config, true) === undefined) return []
  const { key, message, hint } = wellKnownPasswordText
  return [createConfigError(config.places.get(key) ?? { file: '', line: 0, column: 0 }, key, message, hint)]
}

/**
 * Returns the key of a changed setting for which the whole change waits for a restart. Defaults depend on the security profile, and
 * a mixture of both profiles is invalid.
 */
function findRestartSetting(changed: GodwitConfig, running: GodwitConfig): string | undefined {
  return changed.node.securityProfile === running.node.securityProfile ? undefined : 'node.security_profile'
}

/** Beginnings of the keys of settings that shards use. */
const shardSettingPrefixes = [
  'auth.',
  'auto_subscribe.',
  'delayed.',
  'flapping_detect.',
  'limits.',
  'mqtt.',
  'modules.',
  'retainer.',
  'rewrite',
  'sys_topics.client_events',
  'log.level',
]

/** Returns the consumer for settings of shards. It is called at each change, because files with rules and keys may have changed too. */
function createShardsConsumer({
  secret,
  supervisor,
}: Pick<ConfigManagerDependencies, 'secret' | 'supervisor'>): ConfigConsumer {
  return {
    canApply: (key) => shardSettingPrefixes.some((prefix) => key.startsWith(prefix)),
    isAlwaysApplied: true,
    apply: async (config) => {
      const converted = toAccessSettings(config, secret)
      if ('problem' in converted) return converted
      const { autoSubscriptions, core, maxPropertyBytes, log, sysTopics } = config
      const { access } = converted
      const limits = toConnectionLimits(config, supervisor.size)
      const settings: ShardSettings = {
        autoSubscriptions,
        core,
        access,
        maxPropertyBytes,
        logLevel: resolveLogLevel(log),
        publishesClientEvents: sysTopics.clientEvents,
        ...limits,
      }
      await supervisor.change((change) => ({ kind: 'settings', change, settings }), settings)
      return undefined
    },
  }
}

function createSysTopicsConsumer(sysTopics: SysTopics): ConfigConsumer {
  return {
    canApply: (key) => key === 'sys_topics.interval',
    apply: async (config) => {
      sysTopics.changeInterval(config.sysTopics.intervalMs)
      return undefined
    },
  }
}
