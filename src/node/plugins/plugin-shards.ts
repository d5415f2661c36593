// The shards of the node, as the supervisor of plugins uses them.

import type { PluginPlan, PluginShards } from '../../plugins/index.ts'
import { dataEntries } from '../data-dir/data-entries.ts'
import { prepareSocketPath } from '../data-dir/socket-path.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

export function createPluginShards(supervisor: ShardSupervisor, dataDirectory: string): PluginShards {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const openChannel = async (shard: number, process: number, plugin: string): Promise<number | string | undefined> => {
    // Only this account can open the data directory, so no other program can connect.
    const socket = await prepareSocketPath(dataDirectory, `${dataEntries.pluginSocket}-${process}-${shard}`)
    try {
      const query = { kind: 'open-plugin-channel', process, plugin, socketPath: socket.path } as const
      const opened = await supervisor.query(shard, query)
      // A shard of another node, or one that is restarting: after its restart the process is replaced.
      if (opened === undefined) return undefined
      return 'problem' in opened ? opened.problem : opened.descriptor
    } finally {
      await socket.remove()
    }
  }
  return {
    count: supervisor.size,
    async openChannels(process, plugin) {
      const opened = await Promise.all(shards.map((shard) => openChannel(shard, process, plugin)))
      const problem = opened.find((result) => typeof result === 'string')
      if (problem === undefined) return { descriptors: opened.filter((result) => typeof result === 'number') }
      await Promise.all(shards.map((shard) => supervisor.query(shard, { kind: 'close-plugin-channel', process })))
      return { problem }
    },
    async releaseChannels(process) {
      await Promise.all(shards.map((shard) => supervisor.query(shard, { kind: 'release-plugin-channel', process })))
    },
    async closeChannels(process) {
      await Promise.all(shards.map((shard) => supervisor.query(shard, { kind: 'close-plugin-channel', process })))
    },
    apply: (plan: PluginPlan) => supervisor.change((change) => ({ kind: 'plugins', change, plan }), { plugins: plan }),
  }
}
