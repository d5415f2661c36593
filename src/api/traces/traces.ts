// Traces: operations of the node, and handlers.

import type { traceEndpoints } from './endpoints.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import { type Handlers, type ApiError, refuse, localTime } from '../../management/index.ts'
import type { TraceOperations } from '../../node/index.ts'

const defaultDurationSeconds = 600
const msPerSecond = 1_000
const dayMs = 86_400_000

export function traceHandlers(operations: TraceOperations): Handlers<typeof traceEndpoints> {
  return {
    list_traces: () => ({
      code: 0,
      data: operations.list().map(({ name, type, value, isRunning, startedAtMs, endsAtMs, bytes }) => ({
        name,
        type,
        [type]: value,
        status: isRunning ? ('running' as const) : ('stopped' as const),
        start_at: localTime(startedAtMs),
        end_at: localTime(endsAtMs),
        log_size: bytes,
      })),
    }),
    create_trace: async ({ body }) => {
      const { name, type } = body
      const value = body[type]
      if (value === undefined) return refuse('missingParameter', `${type} is missing: a trace by ${type} needs it`)
      if (type === 'topic' && parseTopicFilter(value) === undefined)
        return refuse('invalidTopic', `'${value}' is not a topic filter`)
      const durationMs = durationOf(body)
      if (durationMs === undefined)
        return refuse(
          'invalidParameter',
          'end_at must be a time in RFC 3339 within a day from now, and cannot be used with duration',
        )
      const problem = await operations.create({ name, type, value, durationMs })
      if (problem === 'taken') return refuse('invalidParameter', `there is a trace '${name}' already: delete it first`)
      if (problem === 'too-many')
        return refuse('invalidParameter', 'the maximum number of traces exists: delete one first')
      return { code: 0 }
    },
    delete_traces: async () => {
      await operations.removeAll()
      return { code: 0 }
    },
    delete_trace: async ({ params }) => ((await operations.remove(params.name)) ? { code: 0 } : unknown(params.name)),
    stop_trace: async ({ params }) => ((await operations.stop(params.name)) ? { code: 0 } : unknown(params.name)),
    download_trace: async ({ params }) => (await operations.read(params.name)) ?? unknown(params.name),
  }
}

/** In ms; undefined: invalid. */
function durationOf({ duration, end_at: endAt }: { duration?: number; end_at?: string }): number | undefined {
  if (endAt === undefined) return (duration ?? defaultDurationSeconds) * msPerSecond
  const leftMs = /^\d{4}-\d\d-\d\dT/.test(endAt) ? Date.parse(endAt) - Date.now() : Number.NaN
  return duration === undefined && leftMs > 0 && leftMs <= dayMs ? leftMs : undefined
}

function unknown(name: string): ApiError {
  return refuse('invalidParameter', `there is no trace '${name}'`, 404)
}
