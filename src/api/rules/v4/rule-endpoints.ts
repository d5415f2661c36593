// Rules in the forms of EMQX 4 and NanoMQ. They are the rules of `v5/rules.ts`.

import { responseWith, endpoint, noContent, Type } from '../../../contract/index.ts'

const count = Type.Number({ minimum: 0 })
const object = Type.Record(Type.String(), Type.Unknown())
const rawsql = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: 'SQL statement of the rule, as `docs/RULES.md` describes.',
})
const description = Type.String({ maxLength: 65_535 })
const actionMetrics = Type.Object({ node: Type.String(), success: count, failed: count, taken: count })
const whenFailed = Type.Union([Type.Literal('continue'), Type.Literal('stop')], {
  description:
    'What follows if an action fails for a result. `stop`: only the fallbacks of the action get the result, no further action.',
})
const shownAction = {
  id: Type.String(),
  name: Type.String(),
  params: object,
  metrics: Type.Array(actionMetrics),
}
const action = Type.Object({
  ...shownAction,
  fallbacks: Type.Array(Type.Object({ ...shownAction, fallbacks: Type.Array(Type.Unknown(), { maxItems: 0 }) })),
})
const rule = Type.Object({
  id: Type.String({ description: 'ID of the rule: `rule:` and the ID in version 5 of the API.' }),
  rawsql: Type.String(),
  for: Type.Array(Type.String(), { description: 'Sources in the FROM clause.' }),
  enabled: Type.Boolean(),
  description: Type.String(),
  on_action_failed: whenFailed,
  created_at: Type.Integer({
    minimum: 0,
    description:
      'Time at which the rule was created, in milliseconds since 1970; 0: the configuration file defines the rule.',
  }),
  warnings: Type.Array(Type.String(), {
    description:
      'Faults of the SQL statement: unknown columns, functions and schemas, and what version 3 of EMQX wrote.',
  }),
  metrics: Type.Array(
    Type.Object({
      node: Type.String(),
      matched: count,
      passed: count,
      failed: count,
      exception: count,
      no_result: count,
      speed: count,
      speed_max: count,
      speed_last5m: count,
    }),
  ),
  actions: Type.Array(action),
})
const sentSettings = {
  id: Type.Optional(Type.String({ description: 'ID of an existing action of the rule, which then stays.' })),
  name: Type.String({
    description:
      'Kind of the action: a name from `GET /actions`, or `repub`, `sqlite`, `mysql`, `postgresql` or `timescaledb`.',
  }),
  params: Type.Optional(object),
}
const sentAction = Type.Object({
  ...sentSettings,
  fallbacks: Type.Optional(
    Type.Array(Type.Object({ ...sentSettings, fallbacks: Type.Optional(Type.Array(Type.Unknown())) }), {
      maxItems: 8,
      description: 'Actions that get a result for which this action fails.',
    }),
  ),
})
const changes = {
  actions: Type.Optional(Type.Array(sentAction, { maxItems: 64 })),
  enabled: Type.Optional(Type.Boolean()),
  description: Type.Optional(description),
  on_action_failed: Type.Optional(whenFailed),
}
const ofNanoMq = Type.Object({
  code: Type.Literal(0),
  data: Type.Object({ rawsql: Type.String(), id: Type.Integer({ minimum: 1 }), enabled: Type.Boolean() }),
  actions: Type.Array(Type.Unknown()),
})
const params = Type.Object({ id: Type.String({ description: 'ID of the rule, as `rule:ID` or `ID`.' }) })
const ofOne = {
  params,
  failures: ['invalidParameter'],
  otherStatuses: [['invalidParameter', 404]],
} as const

export const v4RuleEndpoints = {
  list_rules: endpoint({
    method: 'GET',
    path: '/rules',
    summary: 'Lists rules.',
    reply: responseWith(Type.Array(rule)),
    access: 'read',
    isForNamespaces: true,
  }),
  create_rule: endpoint({
    method: 'POST',
    path: '/rules',
    summary:
      'Creates a rule. With `test=true`, runs the SQL on sample data instead. Actions in the format of NanoMQ are accepted.',
    query: Type.Object({ test: Type.Optional(Type.Boolean()) }),
    body: Type.Object({
      id: Type.Optional(Type.String({ description: 'ID of the rule as `rule:ID` or `ID`; absent: a random ID.' })),
      rawsql,
      ctx: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: 'Columns of the sample data, for a test.' }),
      ),
      ...changes,
    }),
    reply: Type.Union([responseWith(rule), ofNanoMq, responseWith(Type.Union([object, Type.Array(object)]))]),
    failures: ['missingParameter', 'invalidParameter', 'pluginClosed'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
  show_rule: endpoint({
    ...ofOne,
    method: 'GET',
    path: '/rules/:id',
    summary: 'Returns a rule with its counters.',
    reply: responseWith(rule),
    access: 'read',
    isForNamespaces: true,
  }),
  update_rule: endpoint({
    ...ofOne,
    method: 'PUT',
    path: '/rules/:id',
    summary: 'Changes a rule. Absent members stay unchanged.',
    body: Type.Object({ rawsql: Type.Optional(rawsql), ...changes }),
    reply: responseWith(rule),
    access: 'change',
    isForNamespaces: true,
  }),
  delete_rule: endpoint({
    ...ofOne,
    method: 'DELETE',
    path: '/rules/:id',
    summary:
      'Deletes a rule and the actions that were created with it. If messages are stored for these, `force=true` discards them.',
    query: Type.Object({ force: Type.Optional(Type.Boolean()) }),
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  reset_metrics: endpoint({
    ...ofOne,
    method: 'PUT',
    path: '/rules/:id/reset_metrics',
    summary: 'Sets the counters of a rule and of its actions to zero.',
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  convert_sql: endpoint({
    method: 'POST',
    path: '/rules/convert',
    summary: 'Converts SQL of version 3 of EMQX. SQL of later versions stays as it is.',
    body: Type.Object({ rawsql }),
    reply: responseWith(Type.Object({ rawsql: Type.String(), warnings: Type.Array(Type.String()) })),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
    audit: 'never',
  }),
  list_events: endpoint({
    method: 'GET',
    path: '/rule_events',
    summary: 'Lists events with their columns.',
    reply: responseWith(
      Type.Array(
        Type.Object({
          event: Type.String(),
          title: Type.String(),
          description: Type.String(),
          test_columns: Type.Record(Type.String(), Type.String()),
          columns: Type.Array(Type.String()),
          sql_example: Type.String(),
        }),
      ),
    ),
    access: 'read',
    isForNamespaces: true,
  }),
}
