// Drains the broker before it stops.

import type { ReplyOf } from '../../contract/index.ts'
import type { Handlers } from '../../management/index.ts'
import type { DrainReport } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { drainEndpoints } from './endpoints.ts'

const defaultClientsPerSecond = 1_000

export function createDrainHandlers({ drain }: Pick<ApiContext, 'drain'>): Handlers<typeof drainEndpoints> {
  return {
    get_drain: async () => toResponse(await drain.report()),
    start_drain: async ({ body }) => toResponse(await drain.start(body.clients_per_second ?? defaultClientsPerSecond)),
    cancel_drain: async () => toResponse(await drain.cancel()),
  }
}

type Response = ReplyOf<(typeof drainEndpoints)['get_drain']>

function toResponse({ isDraining, connected, sessions, startedAtMs }: DrainReport): Response {
  return { code: 0, data: { draining: isDraining, connected, sessions, started_at: startedAtMs ?? null } }
}
