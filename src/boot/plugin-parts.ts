// Opens the installed plugins of a node, and connects them with the processes that run them.

import { join } from 'node:path'
import { type GodwitConfig, reservedPluginNames } from '../config/index.ts'
import { dataEntries, PluginManager, type Problem, type ShardSupervisor } from '../node/index.ts'
import { PluginLibrary } from '../plugins/index.ts'
import type { PreparedParts } from './config-parts.ts'
import { createPluginSupervisor } from './create-plugin-supervisor.ts'

/** A problem is a sentence for administrators: without its plugins, the broker could accept clients that they refuse. */
export async function openPluginLibrary(dataDirectory: string): Promise<{ readonly library: PluginLibrary } | Problem> {
  const opened = await PluginLibrary.open(join(dataDirectory, dataEntries.plugins), reservedPluginNames)
  return 'problem' in opened ? { problem: `plugins: ${opened.problem}` } : opened
}

export function createPluginManager(
  config: GodwitConfig,
  supervisor: ShardSupervisor,
  {
    alarms,
    log,
    directory,
    pluginLibrary: library,
  }: Pick<PreparedParts, 'alarms' | 'log' | 'directory' | 'pluginLibrary'>,
): PluginManager {
  const runtime = createPluginSupervisor(supervisor, directory, log)
  return new PluginManager({ library, runtime, config, alarms, log })
}
