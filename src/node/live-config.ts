// The node's configuration while it runs: which part of the node takes which setting.

import { join } from 'node:path'
import type { AccessSettings } from '../access/index.ts'
import type { GodwitConfig } from '../config/index.ts'
import type { ShardSettings } from '../shard/index.ts'
import type { Logger } from '../telemetry/index.ts'
import { accessSettingsOf } from './access-settings.ts'
import { ConfigHistory } from './configuration/config-history.ts'
import { nothingChanged } from './configuration/config-layers.ts'
import type { ConfigOwner, Problem } from './configuration/config-owners.ts'
import { LiveConfig } from './configuration/live-config.ts'
import type { ConfigurationSources } from './configuration/read-configuration.ts'
import type { ShardCrew } from './shard-crew.ts'
import type { SysTopics } from './sys-topics.ts'

export interface LiveConfigGround {
  readonly config: GodwitConfig
  /** undefined: the node was started with a configuration that was made elsewhere. */
  readonly sources: ConfigurationSources | undefined
  readonly dataDirectory: string
  /** Of this node: what is made of it looks random and stays the same. */
  readonly secret: Uint8Array
  readonly crew: ShardCrew
  readonly sysTopics: SysTopics
  readonly log: Logger
  /** Owners of their own: they are asked before those that cannot refuse. */
  readonly others: readonly ConfigOwner[]
}

export async function createLiveConfig(ground: LiveConfigGround): Promise<LiveConfig> {
  const { config, dataDirectory, secret, crew, sysTopics, log, others } = ground
  const sources = ground.sources ?? {
    ground: {
      file: join(dataDirectory, 'godwit.conf'),
      changesFile: join(dataDirectory, 'changed-settings.conf'),
      overrides: [],
      environment: {},
    },
    layers: { document: undefined, changes: nothingChanged, untilRestart: nothingChanged },
    trustedFiles: new Set<string>(),
  }
  return new LiveConfig({
    ...sources,
    config,
    history: await ConfigHistory.open(dataDirectory, secret),
    owners: [...others, shardsOwner(secret, crew), logOwner(log), sysTopicsOwner(sysTopics)],
    problemOf: (changed, running) => problemOf(changed, running, secret),
    log,
  })
}

/** What a node that runs cannot be told at all. */
function problemOf(changed: GodwitConfig, running: GodwitConfig, secret: Uint8Array): Problem | undefined {
  // What is not said about access depends on the profile, and half a profile is none.
  if (changed.node.securityProfile !== running.node.securityProfile) {
    return { problem: 'node.security_profile has another value: stop the broker and start it again for that' }
  }
  const admission = accessSettingsOf(changed, secret)
  return 'problem' in admission ? admission : undefined
}

/** What of `config` is for the shards. */
export function shardSettingsOf(config: GodwitConfig, access: AccessSettings): ShardSettings {
  return { core: config.core, access, maxPropertyBytes: config.maxPropertyBytes, logLevel: config.log.level }
}

const shardSections = ['auth.', 'flapping_detect.', 'mqtt.', 'retainer.', 'log.level']

/** Asked always: files of rules and keys may say something else, too. */
function shardsOwner(secret: Uint8Array, crew: ShardCrew): ConfigOwner {
  return {
    owns: (key) => shardSections.some((section) => key.startsWith(section)),
    isAlwaysAsked: true,
    apply: async (config) => {
      const admission = accessSettingsOf(config, secret)
      if ('problem' in admission) return admission
      const settings = shardSettingsOf(config, admission.access)
      await crew.change((change) => ({ kind: 'settings', change, settings }), settings)
      return undefined
    },
  }
}

function logOwner(log: Logger): ConfigOwner {
  return {
    owns: (key) => key === 'log.level',
    apply: async (config) => {
      log.changeLevel(config.log.level)
      return undefined
    },
  }
}

function sysTopicsOwner(sysTopics: SysTopics): ConfigOwner {
  return {
    owns: (key) => key === 'sys_topics.interval',
    apply: async (config) => {
      sysTopics.changeInterval(config.sysTopics.intervalMs)
      return undefined
    },
  }
}
