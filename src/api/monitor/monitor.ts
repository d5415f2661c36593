// History of metrics for the dashboard (`/monitor`).

import type { Handlers } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { monitorEndpoints } from './endpoints.ts'

const defaultSeconds = 3_600
const msPerSecond = 1_000

export function createMonitorHandlers({
  observation: { history, gauges },
}: Pick<ApiContext, 'observation'>): Handlers<typeof monitorEndpoints> {
  return {
    get_monitor: ({ query }) => ({
      code: 0,
      data: [...history.listLatest((query.latest ?? defaultSeconds) * msPerSecond)],
    }),
    get_monitor_current: () => {
      const { counters, rates } = gauges.read()
      return {
        code: 0,
        data: {
          connections: counters.connectionsOpen,
          sessions: counters.sessionsStored,
          topics: counters.topicsStored,
          subscriptions: counters.subscriptionsStored,
          retained: counters.retainedOfClientsStored,
          received_rate: rates.received,
          sent_rate: rates.sent,
          dropped_rate: rates.dropped,
        },
      }
    },
  }
}
