// Sources: what rules receive from services.

import { endpoint, Type, changed, newOne, params, probed, createStatusFields } from '../../contract/index.ts'

const number = Type.Number({ minimum: 0 })
const nothing = Type.Null()
const source = Type.Object(
  {
    type: Type.String(),
    name: Type.String(),
    enable: Type.Boolean(),
    ...createStatusFields('`connected`, `connecting` or `disconnected`.'),
  },
  {
    additionalProperties: true,
    description: 'Source with its settings as in `sources.TYPE.NAME`. Secrets are masked.',
  },
)
const metrics = Type.Object({
  received: number,
  dropped: Type.Number({
    minimum: 0,
    description: 'Number of messages that the broker cannot accept, for example because they are too large.',
  }),
  last_error: Type.String({ description: 'Last error; empty: none.' }),
})
const common = { version: 'v5', reasons: ['NOT_FOUND'] } as const
const noContent = { status: 204, reply: nothing, access: 'change', isForNamespaces: true } as const

export const sourceEndpoints = {
  probe_source: endpoint({
    ...noContent,
    version: 'v5',
    method: 'POST',
    path: '/sources_probe',
    summary:
      'Checks the settings of a source and whether the service of its connector can be reached. Receives nothing.',
    body: probed,
    reasons: ['TEST_FAILED'],
    audit: 'never',
  }),
  get_sources: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/sources',
    summary: 'Lists sources.',
    reply: Type.Array(source),
    access: 'read',
    isForNamespaces: true,
  }),
  add_source: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/sources',
    summary: 'Creates a source. Rules name the source as `$bridges/type:name` after FROM.',
    body: newOne,
    status: 201,
    reply: source,
    reasons: ['CONFLICT'],
    access: 'change',
    isForNamespaces: true,
  }),
  get_source: endpoint({
    ...common,
    method: 'GET',
    path: '/sources/:id',
    summary: 'Returns a source.',
    params,
    reply: source,
    access: 'read',
    isForNamespaces: true,
  }),
  change_source: endpoint({
    ...common,
    method: 'PUT',
    path: '/sources/:id',
    summary: 'Replaces the settings of a source.',
    params,
    body: changed,
    reply: source,
    access: 'change',
    isForNamespaces: true,
  }),
  remove_source: endpoint({
    ...common,
    ...noContent,
    method: 'DELETE',
    path: '/sources/:id',
    summary: 'Deletes a source that no rule uses.',
    params,
  }),
  enable_source: endpoint({
    ...common,
    ...noContent,
    method: 'PUT',
    path: '/sources/:id/enable/:enable',
    summary: 'Enables or disables a source.',
    params: Type.Object({ id: Type.String(), enable: Type.Union([Type.Literal('true'), Type.Literal('false')]) }),
  }),
  control_source: endpoint({
    ...common,
    ...noContent,
    method: 'POST',
    path: '/sources/:id/:operation',
    summary: 'Starts, stops or restarts a source until the next change or start.',
    params: Type.Object({
      id: Type.String(),
      operation: Type.Union([Type.Literal('start'), Type.Literal('stop'), Type.Literal('restart')]),
    }),
  }),
  get_source_metrics: endpoint({
    ...common,
    method: 'GET',
    path: '/sources/:id/metrics',
    summary: 'Returns the counters of a source since the start or the last reset.',
    params,
    reply: Type.Object({
      metrics,
      node_metrics: Type.Array(Type.Object({ node: Type.String(), metrics })),
    }),
    access: 'read',
    isForNamespaces: true,
  }),
  reset_source_metrics: endpoint({
    ...common,
    ...noContent,
    method: 'PUT',
    path: '/sources/:id/metrics/reset',
    summary: 'Sets the counters of a source to zero.',
    params,
  }),
}
