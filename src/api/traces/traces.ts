// Traces of clients. The name of a trace is that of its file. In a namespace, the file is `ns.<namespace>.<name>`: other names contain no
// dot.

import { type ApiError, type Handlers, formatLocalTime, refuse } from '../../management/index.ts'
import type { NewTrace, TraceRecord, Traces } from '../../node/index.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { Names } from '../context/names.ts'
import type { traceEndpoints } from './endpoints.ts'

/** Maximum for one namespace, so that others can have traces. */
const maxTracesPerNamespace = 5
const defaultDurationSeconds = 600
const msPerSecond = 1_000
const dayMs = 86_400_000

export function createTraceHandlers({
  observation,
  names,
}: Pick<ApiContext, 'observation' | 'names'>): Handlers<typeof traceEndpoints> {
  const traces = new OwnTraces(observation.traces, names)
  return {
    list_traces: () => ({
      code: 0,
      data: traces.list().map(({ name, type, value, isRunning, startedAtMs, endsAtMs, bytes }) => ({
        name,
        type,
        [type]: value,
        status: isRunning ? ('running' as const) : ('stopped' as const),
        start_at: formatLocalTime(startedAtMs),
        end_at: formatLocalTime(endsAtMs),
        log_size: bytes,
      })),
    }),
    create_trace: async ({ body }) => {
      const { name, type } = body
      const value = body[type]
      if (value === undefined) return refuse('missingParameter', `${type} is missing: a trace by ${type} needs it`)
      if (type === 'topic' && parseTopicFilter(value) === undefined)
        return refuse('invalidTopic', `'${value}' is not a topic filter`)
      const durationMs = parseDuration(body)
      if (durationMs === undefined)
        return refuse(
          'invalidParameter',
          'end_at must be a time in RFC 3339 within a day from now, and cannot be used with duration',
        )
      const problem = await traces.create({ name, type, value, durationMs })
      if (problem === 'taken') return refuse('invalidParameter', `there is a trace '${name}' already: delete it first`)
      if (problem === 'too-many')
        return refuse('invalidParameter', 'the maximum number of traces exists: delete one first')
      return { code: 0 }
    },
    delete_traces: async () => {
      await traces.removeAll()
      return { code: 0 }
    },
    delete_trace: async ({ params }) =>
      (await traces.remove(params.name)) ? { code: 0 } : refuseUnknownTrace(params.name),
    stop_trace: async ({ params }) =>
      (await traces.stop(params.name)) ? { code: 0 } : refuseUnknownTrace(params.name),
    download_trace: async ({ params }) => (await traces.read(params.name)) ?? refuseUnknownTrace(params.name),
  }
}

/** The traces that a request can name: those of its namespace, or all. */
class OwnTraces {
  readonly #traces: Traces
  readonly #names: Names
  readonly #prefix: string

  constructor(traces: Traces, names: Names) {
    this.#traces = traces
    this.#names = names
    this.#prefix = names.namespace === undefined ? '' : `ns.${names.namespace}.`
  }

  list(): readonly TraceRecord[] {
    return this.#listOwn().map((trace) => ({ ...trace, name: trace.name.slice(this.#prefix.length) }))
  }

  async create(trace: NewTrace): Promise<'taken' | 'too-many' | undefined> {
    const { namespace } = this.#names
    if (namespace === undefined) return this.#traces.create(trace)
    if (!this.#isOwn(trace.name) && this.#listOwn().length >= maxTracesPerNamespace) return 'too-many'
    return this.#traces.create({ ...trace, namespace, name: `${this.#prefix}${trace.name}` })
  }

  async stop(name: string): Promise<boolean> {
    return this.#isOwn(name) && this.#traces.stop(`${this.#prefix}${name}`)
  }

  async remove(name: string): Promise<boolean> {
    return this.#isOwn(name) && this.#traces.remove(`${this.#prefix}${name}`)
  }

  async removeAll(): Promise<void> {
    for (const { name } of this.#listOwn()) await this.#traces.remove(name)
  }

  /** In a namespace, the names in the file are those of its requests. */
  async read(name: string): Promise<string | undefined> {
    const text = this.#isOwn(name) ? await this.#traces.read(`${this.#prefix}${name}`) : undefined
    if (this.#names.namespace === undefined) return text
    const sessions = `"${JSON.stringify(this.#names.toSessionName('')).slice(1, -1)}`
    return text
      ?.replaceAll(sessions, '"')
      .replaceAll(`"${this.#names.mount('')}`, '"')
      .replaceAll(`"${this.#prefix}`, '"')
  }

  #listOwn(): readonly TraceRecord[] {
    const { namespace } = this.#names
    const all = this.#traces.list()
    if (namespace === undefined) return all
    return all.filter((trace) => trace.namespace === namespace && trace.name.startsWith(this.#prefix))
  }

  #isOwn(name: string): boolean {
    return this.#listOwn().some((trace) => trace.name === `${this.#prefix}${name}`)
  }
}

/** In ms; undefined: invalid. */
function parseDuration({ duration, end_at: endAt }: { duration?: number; end_at?: string }): number | undefined {
  if (endAt === undefined) return (duration ?? defaultDurationSeconds) * msPerSecond
  const leftMs = /^\d{4}-\d\d-\d\dT/.test(endAt) ? Date.parse(endAt) - Date.now() : Number.NaN
  return duration === undefined && leftMs > 0 && leftMs <= dayMs ? leftMs : undefined
}

function refuseUnknownTrace(name: string): ApiError {
  return refuse('invalidParameter', `there is no trace '${name}'`, 404)
}
