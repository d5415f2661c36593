// Connectors and actions.

import type { Resource, ResourceKind } from '../../actions/index.ts'
import type { actionEndpoints } from './action-endpoints.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import { refuseFor, type ApiError, type Handlers } from '../../management/index.ts'
import { refuseChange } from '../context/setting-writer.ts'
import type { ConfiguredRules } from './configured-rules.ts'
import type { ActionMetrics, NodeQueuedResult } from './rule-reports.ts'
import type { NodeDeadLetter, NodeRetryProgress } from './dead-letter-operations.ts'

type Known = typeof actionEndpoints
type Written = ReplyOf<Known['get_connector']>

export function createActionHandlers(rules: ConfiguredRules): Handlers<Known> {
  const resources = new Resources(rules)
  const runForAction = async <Reply>(id: string, work: () => Promise<Reply>): Promise<Reply | ApiError> => {
    const found = resources.find('actions', id)
    return 'settings' in found ? work() : found
  }
  return {
    get_connectors: () => resources.list('connectors'),
    add_connector: ({ body, caller }) => resources.add('connectors', body, caller),
    get_connector: ({ params: { id } }) => resources.respondWithResource('connectors', id),
    change_connector: ({ params: { id }, body, caller }) => resources.change('connectors', id, body, caller),
    remove_connector: ({ params: { id }, caller }) => resources.remove('connectors', id, caller),
    enable_connector: ({ params: { id, enable }, caller }) =>
      resources.enable('connectors', id, enable === 'true', caller),
    control_connector: async ({ params: { id, operation } }) => {
      const found = resources.find('connectors', id)
      if (!('settings' in found)) return found
      // An action and a source of one connector may have the same ID.
      const users = rules.listUsers('connectors', found)
      const has = (kind: ResourceKind, id: string): boolean => 'settings' in resources.find(kind, id)
      await Promise.all([
        ...users.flatMap((user) => (has('actions', user) ? [rules.controlAction(user, operation)] : [])),
        ...users.flatMap((user) => (has('sources', user) ? [rules.controlSource(user, operation)] : [])),
      ])
      return null
    },
    probe_connector: ({ body, caller }) => resources.probe('connectors', body, caller),
    probe_action: ({ body, caller }) => resources.probe('actions', body, caller),
    get_actions: () => resources.list('actions'),
    add_action: ({ body, caller }) => resources.add('actions', body, caller),
    get_action: ({ params: { id } }) => resources.respondWithResource('actions', id),
    change_action: ({ params: { id }, body, caller }) => resources.change('actions', id, body, caller),
    remove_action: ({ params: { id }, query: { force = false }, caller }) =>
      runForAction(id, async () => {
        const { queuing = 0, inflight = 0, deadLetters = 0 } = (await rules.readActionMetrics()).get(id) ?? {}
        const stored = queuing + inflight + deadLetters
        if (stored > 0 && !force)
          return refuseFor('BAD_REQUEST', `${stored} messages are stored for ${id}: force=true discards them`)
        const removed = await resources.remove('actions', id, caller)
        if (removed === null) await rules.discardAction(id)
        return removed
      }),
    enable_action: ({ params: { id, enable }, caller }) => resources.enable('actions', id, enable === 'true', caller),
    control_action: ({ params: { id, operation } }) =>
      runForAction(id, async () => {
        await rules.controlAction(id, operation)
        return null
      }),
    get_action_metrics: ({ params: { id } }) =>
      runForAction(id, async () => {
        const found = (await rules.readActionMetrics()).get(id)
        if (found === undefined) return refuseFor('SERVICE_UNAVAILABLE', 'no shard responds: retry')
        const metrics = toMetricsResponse(found)
        return { metrics, node_metrics: [{ node: rules.nodeName, metrics }] }
      }),
    reset_action_metrics: ({ params: { id } }) =>
      runForAction(id, async () => {
        await rules.resetAction(id)
        return null
      }),
    ...createStoredResultHandlers(rules, runForAction),
  }
}

type StoredResultName =
  | 'get_queued_results'
  | 'discard_queued_results'
  | 'get_dead_letters'
  | 'remove_dead_letters'
  | 'retry_dead_letters'
  | 'get_dead_letters_retry'

/** Handlers for what waits for the service of an action, and for what it refused. */
function createStoredResultHandlers(
  rules: ConfiguredRules,
  ofAction: <Reply>(id: string, work: () => Promise<Reply>) => Promise<Reply | ApiError>,
): Pick<Handlers<Known>, StoredResultName> {
  return {
    get_queued_results: ({ params: { id } }) =>
      ofAction(id, async () => ({ data: (await rules.listQueuedResults(id)).map(toQueuedResultResponse) })),
    discard_queued_results: ({ params: { id }, query: { entry } }) =>
      ofAction(id, async () => ({ count: await rules.discardQueuedResults(id, entry) })),
    get_dead_letters: ({ params: { id } }) =>
      ofAction(id, async () => ({ data: (await rules.listDeadLetters(id)).map(toDeadLetterResponse) })),
    remove_dead_letters: ({ params: { id }, query: { letter } }) =>
      ofAction(id, async () => ({ count: await rules.deleteDeadLetters(id, letter) })),
    retry_dead_letters: ({ params: { id }, query: { letter } }) =>
      ofAction(id, async () => toProgressResponse(await rules.retryDeadLetters(id, letter))),
    get_dead_letters_retry: ({ params: { id } }) =>
      ofAction(id, async () => toProgressResponse(await rules.readRetryProgress(id))),
  }
}

/** Connectors, actions and sources have the same operations. */
export class Resources {
  readonly #rules: ConfiguredRules

  constructor(rules: ConfiguredRules) {
    this.#rules = rules
  }

  async #readStates(): Promise<ReadonlyMap<string, State>> {
    const [actions, sources] = await Promise.all([this.#rules.readActionMetrics(), this.#rules.readSourceMetrics()])
    return new Map<string, State>([
      ...[...actions].map(([id, state]) => [`actions ${id}`, state] as const),
      ...[...sources].map(([id, state]) => [`sources ${id}`, state] as const),
    ])
  }

  find(kind: ResourceKind, id: string): Resource | ApiError {
    const found = this.#rules.listResources(kind).find(({ type, name }) => `${type}:${name}` === id)
    return (
      found ?? refuseFor('NOT_FOUND', `there is no ${describeKind(kind)} ${JSON.stringify(id)}: its ID is type:name`)
    )
  }

  async list(kind: ResourceKind): Promise<Written[]> {
    const states = await this.#readStates()
    return this.#rules.listResources(kind).map((resource) => this.#toResponse(kind, resource, states))
  }

  async respondWithResource(kind: ResourceKind, id: string): Promise<Written | ApiError> {
    const found = this.find(kind, id)
    return 'settings' in found ? this.#toResponse(kind, found, await this.#readStates()) : found
  }

  async add(
    kind: ResourceKind,
    { type, name, ...settings }: { readonly type: string; readonly name: string },
    by: Caller,
  ): Promise<Written | ApiError> {
    const id = `${type}:${name}`
    if ('settings' in this.find(kind, id))
      return refuseFor('CONFLICT', `there is a ${describeKind(kind)} ${id} already: change it with PUT`)
    return this.#put(kind, { type, name }, omitStatus(settings), by)
  }

  async probe(
    kind: ResourceKind,
    { type, name = '', ...settings }: { readonly type: string; readonly name?: string },
    by: Caller,
  ): Promise<null | ApiError> {
    const problem = await this.#rules.probe(kind, { type, name }, omitStatus(settings), by)
    return problem === undefined ? null : refuseFor('TEST_FAILED', problem)
  }

  async change(kind: ResourceKind, id: string, settings: object, by: Caller): Promise<Written | ApiError> {
    const found = this.find(kind, id)
    return 'settings' in found ? this.#put(kind, found, omitStatus(settings), by) : found
  }

  async enable(kind: ResourceKind, id: string, enable: boolean, by: Caller): Promise<null | ApiError> {
    const found = this.find(kind, id)
    if (!('settings' in found)) return found
    const outcome = await this.#put(kind, found, { ...found.settings, enable }, by)
    return 'status_reason' in outcome ? null : outcome
  }

  async remove(kind: ResourceKind, id: string, by: Caller): Promise<null | ApiError> {
    const found = this.find(kind, id)
    if (!('settings' in found)) return found
    const users = this.#rules.listUsers(kind, found)
    if (users.length > 0)
      return refuseFor(
        'BAD_REQUEST',
        `the ${describeKind(kind)} ${id} is used by ${users.join(', ')}: change those first`,
      )
    const problem = await this.#rules.putResource(kind, found, undefined, by)
    return problem === undefined ? null : refuseChange(problem)
  }

  async #put(
    kind: ResourceKind,
    { type, name }: { readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>>,
    by: Caller,
  ): Promise<Written | ApiError> {
    const problem = await this.#rules.putResource(kind, { type, name }, settings, by)
    return problem === undefined ? this.respondWithResource(kind, `${type}:${name}`) : refuseChange(problem)
  }

  #toResponse(kind: ResourceKind, { type, name, settings }: Resource, states: ReadonlyMap<string, State>): Written {
    const id = `${type}:${name}`
    const keys =
      kind === 'connectors'
        ? this.#rules.listUsers(kind, { type, name }).flatMap((user) => [`actions ${user}`, `sources ${user}`])
        : [`${kind} ${id}`]
    const { status, statusReason } = deriveState(
      kind,
      keys.flatMap((key) => states.get(key) ?? []),
    )
    const node = { node: this.#rules.nodeName, status, status_reason: statusReason }
    const enable = settings['enable'] !== false
    return { ...settings, type, name, enable, status, status_reason: statusReason, node_status: [node] }
  }
}

/** The state of a connector is that of its actions and sources, because only these use the service. */
function deriveState(kind: ResourceKind, users: readonly State[]): State {
  const worst =
    users.find(({ status }) => status === 'disconnected') ??
    users.find(({ status }) => status !== 'connected') ??
    users[0]
  if (worst !== undefined) return worst
  if (kind === 'sources') return { status: 'disconnected', statusReason: 'the source does not run' }
  return { status: 'connecting', statusReason: kind === 'actions' ? '' : 'no action uses it' }
}

type State = Pick<ActionMetrics, 'status' | 'statusReason'>

const names = { actions: 'action', connectors: 'connector', sources: 'source' } as const
const describeKind = (kind: ResourceKind): string => names[kind]

/** Values from a response may be sent back. */
function omitStatus(settings: object): Readonly<Record<string, unknown>> {
  const shown = ['type', 'name', 'status', 'status_reason', 'node_status']
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !shown.includes(key)))
}

function toMetricsResponse(metrics: ActionMetrics): ReplyOf<Known['get_action_metrics']>['metrics'] {
  return {
    matched: metrics.matched,
    rate: metrics.rate,
    rate_max: metrics.rateMax,
    rate_last5m: metrics.rateLast5m,
    success: metrics.success,
    failed: metrics.failed,
    dropped: metrics.droppedQueueFull + metrics.droppedOther,
    'dropped.queue_full': metrics.droppedQueueFull,
    'dropped.other': metrics.droppedOther,
    retried: metrics.retried,
    queuing: metrics.queuing,
    inflight: metrics.inflight,
    dead_letters: metrics.deadLetters,
    'dropped.dead_letters': metrics.droppedDeadLetters,
    oldest_age: metrics.oldestAgeMs ?? null,
    last_error: metrics.lastError,
  }
}

function toDeadLetterResponse({
  why,
  atMs,
  ...stored
}: NodeDeadLetter): ReplyOf<Known['get_dead_letters']>['data'][number] {
  return { ...toEntryFields(stored), reason: why, at: new Date(atMs).toISOString() }
}

function toProgressResponse({
  isComplete,
  isRunning,
  sent,
  stayed,
  pending,
  why,
}: NodeRetryProgress): ReplyOf<Known['retry_dead_letters']> | ApiError {
  if (!isComplete) return refuseFor('SERVICE_UNAVAILABLE', 'a shard does not respond: ask for the progress later')
  return { state: isRunning ? 'running' : 'done', count: sent, stayed, pending, reason: why }
}

function toQueuedResultResponse({
  refusals,
  why,
  ...stored
}: NodeQueuedResult): ReplyOf<Known['get_queued_results']>['data'][number] {
  return { ...toEntryFields(stored), refusals, reason: why }
}

function toEntryFields({ id, rule, attributes, payload, result }: Omit<NodeDeadLetter, 'why' | 'atMs'>) {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  return {
    id,
    rule,
    attributes: Object.fromEntries(attributes),
    payload: isText ? text : bytes.toString('base64'),
    payload_encoding: isText ? ('plain' as const) : ('base64' as const),
    result,
  }
}
