// Connectors and actions: services, and what rules send to them.

import { endpoint, Type, changed, newOne, params, probed, createStatusFields } from '../../contract/index.ts'

const number = Type.Number({ minimum: 0 })
const nothing = Type.Null()
const state = createStatusFields('`connected`, `connecting`, `disconnected` or `inconsistent`.')
const connector = Type.Object(
  { type: Type.String(), name: Type.String(), enable: Type.Boolean(), ...state },
  {
    additionalProperties: true,
    description: 'Connector with its settings as in `connectors.TYPE.NAME`. Secrets are masked.',
  },
)
const action = Type.Object(
  { type: Type.String(), name: Type.String(), enable: Type.Boolean(), ...state },
  {
    additionalProperties: true,
    description: 'Action with its settings as in `actions.TYPE.NAME`. Secrets are masked.',
  },
)
const letterQuery = Type.Object({
  letter: Type.Optional(Type.String({ description: 'ID of a dead letter; absent: all dead letters of the action.' })),
})
const storedEntry = {
  rule: Type.String(),
  attributes: Type.Record(Type.String(), Type.String()),
  payload_encoding: Type.Union([Type.Literal('plain'), Type.Literal('base64')]),
}
const metrics = Type.Object({
  matched: number,
  rate: Type.Number({ minimum: 0, description: 'Rate of `matched`, per second.' }),
  rate_max: number,
  rate_last5m: number,
  success: number,
  failed: number,
  dropped: number,
  'dropped.queue_full': number,
  'dropped.other': number,
  retried: number,
  queuing: number,
  inflight: number,
  dead_letters: number,
  'dropped.dead_letters': Type.Integer({
    minimum: 0,
    description:
      'Dead letters that were dropped, because there were `max_buffer_messages` of them. Not a part of `dropped`.',
  }),
  oldest_age: Type.Union([number, Type.Null()], {
    description: 'Age of the oldest waiting result in milliseconds; null: no result waits.',
  }),
  last_error: Type.String({ description: 'Last error; empty: none.' }),
})
const retryProgress = Type.Object({
  state: Type.Union([Type.Literal('running'), Type.Literal('done')], {
    description:
      'running: the job continues. A change of the action or a restart ends it; letters that were not sent again stay.',
  }),
  count: Type.Integer({
    minimum: 0,
    description: 'Dead letters that are sent again: the action queue has their results.',
  }),
  stayed: Type.Integer({ minimum: 0, description: 'Dead letters that could not be sent again.' }),
  pending: Type.Integer({ minimum: 0, description: 'Dead letters that were not tried yet.' }),
  reason: Type.String({ description: 'Why a dead letter stayed; empty: none did.' }),
})
const common = { version: 'v5', reasons: ['NOT_FOUND'] } as const
const noContent = { status: 204, reply: nothing, access: 'change', isForNamespaces: true } as const

export const actionEndpoints = {
  get_connectors: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/connectors',
    summary: 'Lists connectors.',
    reply: Type.Array(connector),
    access: 'read',
    isForNamespaces: true,
  }),
  add_connector: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/connectors',
    summary: 'Creates a connector.',
    body: newOne,
    status: 201,
    reply: connector,
    reasons: ['CONFLICT'],
    access: 'change',
    isForNamespaces: true,
  }),
  get_connector: endpoint({
    ...common,
    method: 'GET',
    path: '/connectors/:id',
    summary: 'Returns a connector.',
    params,
    reply: connector,
    access: 'read',
    isForNamespaces: true,
  }),
  change_connector: endpoint({
    ...common,
    method: 'PUT',
    path: '/connectors/:id',
    summary: 'Replaces the settings of a connector.',
    params,
    body: changed,
    reply: connector,
    access: 'change',
    isForNamespaces: true,
  }),
  remove_connector: endpoint({
    ...common,
    ...noContent,
    method: 'DELETE',
    path: '/connectors/:id',
    summary: 'Deletes a connector that no action uses.',
    params,
  }),
  enable_connector: endpoint({
    ...common,
    ...noContent,
    method: 'PUT',
    path: '/connectors/:id/enable/:enable',
    summary: 'Enables or disables a connector. Its actions store messages while it is disabled.',
    params: Type.Object({ id: Type.String(), enable: Type.Union([Type.Literal('true'), Type.Literal('false')]) }),
  }),
  control_connector: endpoint({
    ...common,
    ...noContent,
    method: 'POST',
    path: '/connectors/:id/:operation',
    summary: 'Starts, stops or restarts the actions and sources of a connector until the next change or start.',
    params: Type.Object({
      id: Type.String(),
      operation: Type.Union([Type.Literal('start'), Type.Literal('stop'), Type.Literal('restart')]),
    }),
  }),
  probe_connector: endpoint({
    ...noContent,
    version: 'v5',
    method: 'POST',
    path: '/connectors_probe',
    summary: 'Checks the settings of a connector and whether its service can be reached. Stores nothing.',
    body: probed,
    reasons: ['TEST_FAILED'],
    audit: 'never',
  }),
  probe_action: endpoint({
    ...noContent,
    version: 'v5',
    method: 'POST',
    path: '/actions_probe',
    summary:
      'Checks the settings of an action and whether the service of its connector can be reached. Stores nothing.',
    body: probed,
    reasons: ['TEST_FAILED'],
    audit: 'never',
  }),
  get_actions: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/actions',
    summary: 'Lists actions.',
    reply: Type.Array(action),
    access: 'read',
    isForNamespaces: true,
  }),
  add_action: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/actions',
    summary: 'Creates an action.',
    body: newOne,
    status: 201,
    reply: action,
    reasons: ['CONFLICT'],
    access: 'change',
    isForNamespaces: true,
  }),
  get_action: endpoint({
    ...common,
    method: 'GET',
    path: '/actions/:id',
    summary: 'Returns an action.',
    params,
    reply: action,
    access: 'read',
    isForNamespaces: true,
  }),
  change_action: endpoint({
    ...common,
    method: 'PUT',
    path: '/actions/:id',
    summary: 'Replaces the settings of an action. Results that wait are sent with its new templates.',
    params,
    body: changed,
    reply: action,
    access: 'change',
    isForNamespaces: true,
  }),
  remove_action: endpoint({
    ...common,
    ...noContent,
    method: 'DELETE',
    path: '/actions/:id',
    summary: 'Deletes an action that no rule uses. If messages are stored for it, `force=true` discards them.',
    params,
    query: Type.Object({ force: Type.Optional(Type.Boolean()) }),
  }),
  enable_action: endpoint({
    ...common,
    ...noContent,
    method: 'PUT',
    path: '/actions/:id/enable/:enable',
    summary: 'Enables or disables an action. It stores messages while it is disabled.',
    params: Type.Object({ id: Type.String(), enable: Type.Union([Type.Literal('true'), Type.Literal('false')]) }),
  }),
  control_action: endpoint({
    ...common,
    ...noContent,
    method: 'POST',
    path: '/actions/:id/:operation',
    summary: 'Starts, stops or restarts an action until the next change or start.',
    params: Type.Object({
      id: Type.String(),
      operation: Type.Union([Type.Literal('start'), Type.Literal('stop'), Type.Literal('restart')]),
    }),
  }),
  get_action_metrics: endpoint({
    ...common,
    method: 'GET',
    path: '/actions/:id/metrics',
    summary: 'Returns the counters of an action since the start or the last reset.',
    params,
    reply: Type.Object({
      metrics,
      node_metrics: Type.Array(Type.Object({ node: Type.String(), metrics })),
    }),
    access: 'read',
    isForNamespaces: true,
  }),
  reset_action_metrics: endpoint({
    ...common,
    ...noContent,
    method: 'PUT',
    path: '/actions/:id/metrics/reset',
    summary: 'Sets the counters of an action to zero.',
    params,
  }),
  get_queued_results: endpoint({
    ...common,
    method: 'GET',
    path: '/actions/:id/queue',
    summary: 'Lists the results that wait for the service of an action: the oldest 1,000 of each shard.',
    params,
    reply: Type.Object({
      data: Type.Array(
        Type.Object({
          id: Type.String({ description: 'ID of the result for the query `entry`. Valid until the shard restarts.' }),
          refusals: Type.Number({ minimum: 0, description: 'Number of times that the service refused the result.' }),
          reason: Type.String({ description: 'Why the service refused it last; empty: it has not refused it.' }),
          ...storedEntry,
          payload: Type.String({ description: 'What the present templates of the action make of the result.' }),
          result: Type.String({
            description: 'Columns of the result as JSON; empty if an earlier version stored the result.',
          }),
        }),
      ),
    }),
    access: 'read',
    isForNamespaces: true,
  }),
  discard_queued_results: endpoint({
    ...common,
    method: 'POST',
    path: '/actions/:id/queue/discard',
    summary: 'Moves one waiting result of an action to its dead letters, or the oldest 1,000 of each shard.',
    params,
    query: Type.Object({
      entry: Type.Optional(
        Type.String({ description: 'ID of a waiting result; absent: the oldest 1,000 of each shard.' }),
      ),
    }),
    reply: Type.Object({ count: number }),
    access: 'change',
    isForNamespaces: true,
  }),
  get_dead_letters: endpoint({
    ...common,
    method: 'GET',
    path: '/actions/:id/dead_letters',
    summary: 'Lists the dead letters of an action (results that the service refused): the oldest 1,000 of each shard.',
    params,
    reply: Type.Object({
      data: Type.Array(
        Type.Object({
          id: Type.String({
            description: 'ID of the dead letter for the query `letter`. Valid until the shard restarts.',
          }),
          reason: Type.String(),
          at: Type.String({ description: 'Time at which the result became a dead letter, in RFC 3339.' }),
          ...storedEntry,
          payload: Type.String({
            description:
              'What the service refused; empty if the templates failed. If the rule was stopped, the payload of the message.',
          }),
          result: Type.String({
            description:
              'Columns of the result as JSON; empty if the rule was stopped. It is rendered again if it is sent again.',
          }),
        }),
      ),
    }),
    access: 'read',
    isForNamespaces: true,
  }),
  remove_dead_letters: endpoint({
    ...common,
    method: 'DELETE',
    path: '/actions/:id/dead_letters',
    summary: 'Deletes one dead letter of an action, or all.',
    params,
    query: letterQuery,
    reply: Type.Object({ count: number }),
    access: 'change',
    isForNamespaces: true,
  }),
  retry_dead_letters: endpoint({
    ...common,
    method: 'POST',
    path: '/actions/:id/dead_letters/retry',
    summary: 'Sends one dead letter of an action again, or all. Responds after 5 s at most; the job may continue.',
    params,
    query: letterQuery,
    reply: retryProgress,
    access: 'change',
    isForNamespaces: true,
  }),
  get_dead_letters_retry: endpoint({
    ...common,
    method: 'GET',
    path: '/actions/:id/dead_letters/retry',
    summary: 'Shows the progress of sending all dead letters of an action again, or the result of the last time.',
    params,
    reply: retryProgress,
    access: 'read',
    isForNamespaces: true,
  }),
}
