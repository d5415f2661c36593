// Rules: SQL over messages and events, with actions for the results.

import { endpoint, Type } from '../../contract/index.ts'

const id = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'ID of the rule: up to 64 letters, digits, `_` and `-`.',
})
const sql = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: 'SQL statement of the rule, as `docs/RULES.md` describes.',
})
const republish = Type.Object({
  function: Type.Union([Type.Literal('republish'), Type.Literal('console'), Type.Literal('do_nothing')]),
  args: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
const oneAction = Type.Union([Type.String(), republish])
const withFallbacks = Type.Object({ action: oneAction, fallbacks: Type.Array(oneAction, { maxItems: 8 }) })
const actions = Type.Array(Type.Union([Type.String(), republish, withFallbacks]), {
  maxItems: 64,
  description:
    'Actions of the rule: names (`type:name`), functions, or objects with one of these as `action`. An object can have `fallbacks`, which get the results for which the action fails.',
})
const whenFailed = Type.Union([Type.Literal('continue'), Type.Literal('stop')], {
  description:
    'What follows if an action fails for a result. `stop`: only the fallbacks of the action get the result, no further action.',
})
const time = Type.Union([Type.String(), Type.Null()], {
  description: 'Time in RFC 3339; null: the configuration file defines the rule.',
})
const rule = {
  id: Type.String(),
  name: Type.String({ description: 'Another name for `id`.' }),
  sql: Type.String(),
  from: Type.Array(Type.String(), { description: 'Sources in the FROM clause: topic filters, events and sources.' }),
  actions,
  on_action_failed: whenFailed,
  enable: Type.Boolean(),
  description: Type.String(),
  warnings: Type.Array(Type.String(), {
    description: 'Faults of the SQL statement: unknown columns, functions and schemas.',
  }),
  created_at: time,
  last_modified_at: time,
}
const ruleReply = Type.Object(rule)
const settings = {
  name: Type.Optional(id),
  sql,
  actions: Type.Optional(actions),
  on_action_failed: Type.Optional(whenFailed),
  enable: Type.Optional(Type.Boolean()),
  description: Type.Optional(Type.String({ maxLength: 65_535 })),
}
const params = Type.Object({ id: Type.String() })
const number = Type.Number({ minimum: 0 })
const metrics = Type.Object({
  matched: number,
  'matched.rate': number,
  'matched.rate.max': number,
  'matched.rate.last5m': number,
  passed: number,
  failed: number,
  'failed.exception': number,
  'failed.no_result': number,
  'actions.total': number,
  'actions.success': number,
  'actions.failed': number,
  'actions.discarded': number,
  last_error: Type.String({ description: 'Last error; empty: none.' }),
})
const nothing = Type.Null()
const context = Type.Record(Type.String(), Type.Unknown(), {
  description:
    "Columns of the sample data; `event_type` names the event. Absent columns have the values of the event's sample.",
})

export const ruleEndpoints = {
  get_rules: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/rules',
    summary: 'Lists rules.',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    }),
    reply: Type.Object({
      data: Type.Array(ruleReply),
      meta: Type.Object({ page: number, limit: number, count: number, hasnext: Type.Boolean() }),
    }),
    access: 'read',
    isForNamespaces: true,
  }),
  add_rule: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/rules',
    summary: 'Creates a rule. Without `id`, the rule gets a random ID.',
    body: Type.Object({ id: Type.Optional(id), ...settings }),
    status: 201,
    reply: ruleReply,
    reasons: ['CONFLICT'],
    access: 'change',
    isForNamespaces: true,
  }),
  get_rule: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/rules/:id',
    summary: 'Returns a rule.',
    params,
    reply: ruleReply,
    reasons: ['NOT_FOUND'],
    access: 'read',
    isForNamespaces: true,
  }),
  change_rule: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/rules/:id',
    summary: 'Replaces a rule. Absent members get their defaults.',
    params,
    body: Type.Object(settings),
    reply: ruleReply,
    reasons: ['NOT_FOUND'],
    access: 'change',
    isForNamespaces: true,
  }),
  remove_rule: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/rules/:id',
    summary: 'Deletes a rule. The results that wait for its actions are sent.',
    params,
    status: 204,
    reply: nothing,
    reasons: ['NOT_FOUND'],
    access: 'change',
    isForNamespaces: true,
  }),
  get_rule_metrics: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/rules/:id/metrics',
    summary: 'Returns the counters of a rule since the start or the last reset.',
    params,
    reply: Type.Object({
      id: Type.String(),
      metrics,
      node_metrics: Type.Array(Type.Object({ node: Type.String(), metrics })),
    }),
    reasons: ['NOT_FOUND'],
    access: 'read',
    isForNamespaces: true,
  }),
  reset_rule_metrics: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/rules/:id/metrics/reset',
    summary: 'Sets the counters of a rule to zero.',
    params,
    status: 204,
    reply: nothing,
    reasons: ['NOT_FOUND'],
    access: 'change',
    isForNamespaces: true,
  }),
  test_rule: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/rule_test',
    summary: 'Runs an SQL statement on sample data, without actions. The response is the output of the statement.',
    body: Type.Object({ sql, context: Type.Optional(context) }),
    reply: Type.Unknown(),
    reasons: ['NOT_MATCH'],
    access: 'read',
    isForNamespaces: true,
    audit: 'never',
  }),
  test_stored_rule: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/rules/:id/test',
    summary:
      'Runs the SQL statement of a rule on sample data, without actions. The response is the output of the statement.',
    params,
    body: Type.Object({ context: Type.Optional(context) }),
    bodyMayBeAbsent: true,
    reply: Type.Unknown(),
    reasons: ['NOT_FOUND', 'NOT_MATCH'],
    access: 'read',
    isForNamespaces: true,
    audit: 'never',
  }),
  explain_rule: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/rules/:id/explain',
    summary: 'Explains why a rule runs or does not run for a message or event.',
    params,
    body: Type.Object({ context: Type.Optional(context) }),
    bodyMayBeAbsent: true,
    reply: Type.Object({
      outcome: Type.String({
        description: 'Outcome: `passed`, `no-source`, `condition-false`, `no-items` or `failed`.',
      }),
      summary: Type.String(),
      sources: Type.Array(Type.Object({ text: Type.String(), matches: Type.Boolean() })),
      condition: Type.Array(
        Type.Object({ text: Type.String(), depth: number, value: Type.String(), line: number, column: number }),
      ),
      outputs: Type.Array(Type.Unknown()),
      error: Type.Union([Type.String(), Type.Null()]),
    }),
    reasons: ['NOT_FOUND'],
    access: 'read',
    isForNamespaces: true,
    audit: 'never',
  }),
  convert_rule: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/rules/convert',
    summary: 'Converts SQL of version 3 of EMQX. SQL of later versions stays as it is.',
    body: Type.Object({ rawsql: sql }),
    reply: Type.Object({ rawsql: Type.String(), warnings: Type.Array(Type.String()) }),
    access: 'read',
    isForNamespaces: true,
    audit: 'never',
  }),
  get_rule_events: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/rule_events',
    summary: 'Lists the events of rules with their columns.',
    reply: Type.Array(
      Type.Object({
        event: Type.String(),
        title: Type.String(),
        description: Type.String(),
        test_columns: Type.Record(Type.String(), Type.String()),
        columns: Type.Array(Type.String()),
        sql_example: Type.String(),
      }),
    ),
    access: 'read',
    isForNamespaces: true,
  }),
}
