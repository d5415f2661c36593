// Opens the installed plugins of a node, and connects them with the processes that run them.

import { join } from 'node:path'
import { type GodwitConfig, reservedPluginNames } from '../config/index.ts'
import { dataEntries, PluginManager, type Problem } from '../node/index.ts'
import { PluginLibrary, type PluginRuntime } from '../plugins/index.ts'
import type { PreparedParts } from './config-parts.ts'

/** A problem is a sentence for administrators: without its plugins, the broker could accept clients that they refuse. */
export async function openPluginLibrary(dataDirectory: string): Promise<{ readonly library: PluginLibrary } | Problem> {
  const opened = await PluginLibrary.open(join(dataDirectory, dataEntries.plugins), reservedPluginNames)
  return 'problem' in opened ? { problem: `plugins: ${opened.problem}` } : opened
}

export function createPluginManager(
  config: GodwitConfig,
  library: PluginLibrary,
  { alarms, log }: Pick<PreparedParts, 'alarms' | 'log'>,
): PluginManager {
  return new PluginManager({ library, runtime: missingRuntime, config, alarms, log })
}

/** Refuses each start. The runtime of plugins takes its place. */
const missingRuntime: PluginRuntime = {
  start: async () => ({ started: false, reason: 'this version does not run plugins yet' }),
  stop: async () => {},
  replace: async () => ({ started: false, reason: 'this version does not run plugins yet' }),
  setOrder: () => {},
  states: () => [],
}
