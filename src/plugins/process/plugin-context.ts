// The context that a plugin gets: see `PluginContext`. Requests go to the first shard, except `kick`: only the shard of the client finds it.

import type { PluginContext } from '../manifest/plugin-types.ts'
import { runningDepth } from './hook-runner.ts'
import type { LimitedLog } from './limited-log.ts'
import type { PluginMetricSet } from './plugin-metric-set.ts'
import type { ProcessChannel } from './process-channel.ts'
import { toBytes } from './to-message-change.ts'

export interface ContextDependencies {
  readonly config: unknown
  readonly log: LimitedLog
  readonly metrics: PluginMetricSet
  readonly channels: readonly ProcessChannel[]
  readonly signal: AbortSignal
}

export function createContext({ config, log, metrics, channels, signal }: ContextDependencies): PluginContext {
  const [first] = channels
  const request = (fields: object): Promise<unknown> =>
    first.request((writer, requestId) => writer.writeRequest(requestId, fields))
  return {
    config,
    metrics,
    signal,
    log: {
      debug: (text) => log.write('debug', text),
      info: (text) => log.write('info', text),
      warn: (text) => log.write('warn', text),
      error: (text) => log.write('error', text),
    },
    store: {
      get: (key) => request({ kind: 'store-get', key }),
      set: async (key, value) => void (await request({ kind: 'store-set', key, value })),
      delete: async (key) => void (await request({ kind: 'store-delete', key })),
    },
    async publish({ topic, payload, qos = 0, retain = false }) {
      const message = { topic, payload: toBytes(payload), qos, retain }
      const depth = runningDepth.getStore() ?? 0
      await first.request((writer, requestId) => writer.writePublishRequest(requestId, depth, message))
    },
    async kick(clientid) {
      const found = await Promise.all(
        channels.map((channel) =>
          channel.request((writer, requestId) => writer.writeRequest(requestId, { kind: 'kick', clientid })),
        ),
      )
      return found.includes(true)
    },
  }
}
