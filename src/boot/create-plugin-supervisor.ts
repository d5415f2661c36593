// What runs the plugins of the node.

import { createPluginShards, type ShardSupervisor } from '../node/index.ts'
import { PluginSupervisor } from '../plugins/index.ts'
import type { Logger } from '../telemetry/index.ts'

/** A shard that restarts has no channels to the processes of plugins, so these are replaced. */
export function createPluginSupervisor(supervisor: ShardSupervisor, directory: string, log: Logger): PluginSupervisor {
  const plugins = new PluginSupervisor({ shards: createPluginShards(supervisor, directory), log })
  supervisor.onShardRestart = () => {
    plugins.handleShardRestart().catch((error: unknown) => log.error('plugins not restarted', { error: String(error) }))
  }
  return plugins
}
