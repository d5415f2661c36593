import type { ReplyOf, sourceEndpoints } from '../../../contract/index.ts'
import type { ApiError } from '../../api-error.ts'
import type { Handlers } from '../../handler.ts'
import type { RuleOperations, SourceMetrics } from '../../operations/rules.ts'
import { Resources } from './actions.ts'

type Known = typeof sourceEndpoints

export function sourceHandlers(rules: RuleOperations): Handlers<Known> {
  const resources = new Resources(rules)
  const ofSource = async <Reply>(id: string, work: () => Promise<Reply>): Promise<Reply | ApiError> => {
    const found = resources.find('sources', id)
    return 'settings' in found ? work() : found
  }
  return {
    probe_source: ({ body, caller }) => resources.probe('sources', body, caller),
    get_sources: () => resources.list('sources'),
    add_source: ({ body, caller }) => resources.add('sources', body, caller),
    get_source: ({ params: { id } }) => resources.show('sources', id),
    change_source: ({ params: { id }, body, caller }) => resources.change('sources', id, body, caller),
    remove_source: ({ params: { id }, caller }) => resources.remove('sources', id, caller),
    enable_source: ({ params: { id, enable }, caller }) => resources.enable('sources', id, enable === 'true', caller),
    control_source: ({ params: { id, operation } }) =>
      ofSource(id, async () => {
        await rules.controlSource(id, operation)
        return null
      }),
    get_source_metrics: ({ params: { id } }) =>
      ofSource(id, async () => {
        const metrics = writtenMetrics((await rules.sourceMetrics()).get(id))
        return { metrics, node_metrics: [{ node: rules.nodeName, metrics }] }
      }),
    reset_source_metrics: ({ params: { id } }) =>
      ofSource(id, async () => {
        await rules.resetSource(id)
        return null
      }),
  }
}

function writtenMetrics(of: SourceMetrics | undefined): ReplyOf<Known['get_source_metrics']>['metrics'] {
  return { received: of?.received ?? 0, dropped: of?.dropped ?? 0, last_error: of?.lastError ?? '' }
}
