// Handlers of the endpoints for sources (`/sources`): bridges that send messages to rules.

import type { ReplyOf } from '../../contract/index.ts'
import type { sourceEndpoints } from './source-endpoints.ts'
import type { ApiError, Handlers } from '../../management/index.ts'
import type { ConfiguredRules } from './configured-rules.ts'
import type { SourceMetrics } from './to-source-states.ts'
import { Resources } from './actions.ts'

export function createSourceHandlers(rules: ConfiguredRules): Handlers<typeof sourceEndpoints> {
  const resources = new Resources(rules)
  /** Runs `work` if the source exists. */
  const runIfExists = async <Reply>(id: string, work: () => Promise<Reply>): Promise<Reply | ApiError> => {
    const found = resources.find('sources', id)
    return 'settings' in found ? work() : found
  }
  return {
    probe_source: ({ body, caller }) => resources.probe('sources', body, caller),
    get_sources: () => resources.list('sources'),
    add_source: ({ body, caller }) => resources.add('sources', body, caller),
    get_source: ({ params: { id } }) => resources.respondWithResource('sources', id),
    change_source: ({ params: { id }, body, caller }) => resources.change('sources', id, body, caller),
    remove_source: ({ params: { id }, caller }) => resources.remove('sources', id, caller),
    enable_source: ({ params: { id, enable }, caller }) => resources.enable('sources', id, enable === 'true', caller),
    control_source: ({ params: { id, operation } }) =>
      runIfExists(id, async () => {
        await rules.controlSource(id, operation)
        return null
      }),
    get_source_metrics: ({ params: { id } }) =>
      runIfExists(id, async () => {
        const metrics = toMetricsResponse((await rules.readSourceMetrics()).get(id))
        return { metrics, node_metrics: [{ node: rules.nodeName, metrics }] }
      }),
    reset_source_metrics: ({ params: { id } }) =>
      runIfExists(id, async () => {
        await rules.resetSource(id)
        return null
      }),
  }
}

function toMetricsResponse(
  metrics: SourceMetrics | undefined,
): ReplyOf<(typeof sourceEndpoints)['get_source_metrics']>['metrics'] {
  return { received: metrics?.received ?? 0, dropped: metrics?.dropped ?? 0, last_error: metrics?.lastError ?? '' }
}
