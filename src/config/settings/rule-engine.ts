// rule_engine, connectors, actions: rules in SQL over messages and events, and the services that their results go to.

import { linesOfText, ruleActions } from '../schema/rule-action.ts'
import { listOf, textMap } from '../schema/collections.ts'
import { duration } from '../schema/quantities.ts'
import { namedSection, section, setting, appliedAtOnce } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'
import { clientCertificates } from './bridges.ts'

const maxSqlBytes = 262_144
const anyText = text({ isEmptyAllowed: true })
const maybeText = optional(anyText, 'none')
const template = linesOfText(maxSqlBytes)
const hourMs = 3_600_000
const dayMs = 24 * hourMs

const rule = section('One rule.', {
  sql: setting(template, '', { description: 'The SQL statement: see RULES.' }),
  actions: setting(ruleActions, [], {
    description:
      'What happens with each result: "type:name" of an action, {function = republish, args {topic, qos, retain, payload, mqtt_properties, user_properties}}, or {function = console}.',
  }),
  enable: setting(boolean, true, { description: 'Whether the rule runs.' }),
  description: setting(template, '', { description: 'For administrators.' }),
  created_at: setting(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0, {
    description: 'When the rule was created; the API sets it.',
    unit: 'milliseconds since 1970',
  }),
})

export const ruleEngine = appliedAtOnce(
  section('Rules: SQL over messages and events, with actions for the results.', {
    ignore_sys_message: setting(boolean, true, {
      description: 'Whether messages below $SYS/ run no rules. If false, they run the rules that name $SYS.',
    }),
    rules: namedSection('The rules, by their IDs.', { entries: {}, placeholder: 'id', named: rule }),
  }),
)

const resourceOptions = section('How messages are stored and sent.', {
  batch_size: setting(integer({ min: 1, max: 10_000 }), 1, { description: 'Maximum messages sent together.' }),
  batch_time: setting(duration({ minMs: 0, maxMs: 60_000, bareUnitMs: 1 }), 0, {
    description: 'How long an incomplete batch waits for more messages.',
  }),
  inflight_window: setting(integer({ min: 1, max: 2_000 }), 100, {
    description:
      'Messages that may be sent before the first of them is confirmed. With 1, the order is kept at retries.',
  }),
  max_buffer_messages: setting(integer({ min: 1, max: 100_000_000 }), 1_000_000, {
    description: 'Maximum messages that are stored for the action, in each shard.',
  }),
  overflow: setting(choice(['block', 'drop']), 'block', {
    description: 'If the maximum is reached: publishers of QoS 1 and 2 wait, or new messages are dropped and counted.',
  }),
  max_retries: setting(integer({ min: 0, max: 100 }), 2, {
    description: 'Retries of a message that the service refuses for good. Then it becomes a dead letter.',
  }),
  retry_interval: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 1_000, {
    description: 'First pause after a failure. It doubles up to 30 seconds.',
  }),
  request_timeout: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
    description: 'How long the service may take to answer.',
  }),
  health_check_interval: setting(duration({ minMs: 100, maxMs: dayMs, bareUnitMs: 1 }), 15_000, {
    description: 'How often the service is checked while there is nothing to send.',
  }),
})

const httpConnector = section('One HTTP service.', {
  enable: setting(boolean, true, { description: 'Whether the connector is used.' }),
  description: setting(anyText, '', { description: 'For administrators.' }),
  url: setting(maybeText, undefined, { description: 'Address, such as http://127.0.0.1:8080/base.' }),
  headers: setting(textMap, new Map(), { description: 'Headers of each request.', isSecret: true }),
  connect_timeout: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
    description: 'How long connecting may take.',
  }),
  pool_size: setting(integer({ min: 1, max: 1_024 }), 8, { description: 'Connections of each shard.' }),
  ssl: clientCertificates,
})

const serverSettings = {
  enable: setting(boolean, true, { description: 'Whether the connector is used.' }),
  description: setting(anyText, '', { description: 'For administrators.' }),
  server: setting(maybeText, undefined, { description: 'Address, such as 127.0.0.1:5432.' }),
  username: setting(maybeText, undefined, { description: 'User name.' }),
  password: setting(maybeText, undefined, { description: 'Password.', isSecret: true }),
  connect_timeout: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
    description: 'How long connecting may take.',
  }),
  ssl: clientCertificates,
}

const sqlConnector = section('One database.', {
  ...serverSettings,
  database: setting(maybeText, undefined, { description: 'Name of the database.' }),
  pool_size: setting(integer({ min: 1, max: 1_024 }), 8, { description: 'Connections of each shard.' }),
})

const redisConnector = section('One Redis server.', {
  ...serverSettings,
  database: setting(integer({ min: 0, max: 65_535 }), 0, { description: 'Number of the database.' }),
})

const actionSettings = {
  enable: setting(boolean, true, {
    description: 'Whether the action sends. A disabled action stores what its rules bring.',
  }),
  description: setting(anyText, '', { description: 'For administrators.' }),
  connector: setting(maybeText, undefined, { description: 'Name of the connector, which has the type of the action.' }),
}

const httpAction = section('One kind of request.', {
  ...actionSettings,
  parameters: section('The request. Texts are templates with ${...}.', {
    method: setting(choice(['post', 'put', 'get', 'delete']), 'post', { description: 'Method.' }),
    path: setting(anyText, '', { description: 'Is appended to the URL of the connector.' }),
    headers: setting(textMap, new Map(), { description: 'Headers beside those of the connector.', isSecret: true }),
    body: setting(optional(template, 'none'), undefined, { description: 'Body.', defaultWords: 'all columns as JSON' }),
  }),
  resource_opts: resourceOptions,
})

const sqlAction = section('One kind of row.', {
  ...actionSettings,
  parameters: section('The statement.', {
    sql: setting(template, '', {
      description:
        'SQL with ${...} for values: INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value}). Values are bound and never become SQL.',
    }),
  }),
  resource_opts: resourceOptions,
})

const redisAction = section('One kind of command.', {
  ...actionSettings,
  parameters: section('The command.', {
    command_template: setting(listOf(template, 1_024), [], {
      description: 'The words of the command. Each is a template: [SET, "${topic}", "${payload}"].',
    }),
  }),
  resource_opts: resourceOptions,
})

const databases = <Named extends typeof sqlConnector | typeof sqlAction>(named: Named) => ({
  pgsql: namedSection('PostgreSQL.', { entries: {}, placeholder: 'name', named }),
  timescale: namedSection('TimescaleDB.', { entries: {}, placeholder: 'name', named }),
  mysql: namedSection('MySQL and MariaDB.', { entries: {}, placeholder: 'name', named }),
})

export const connectors = appliedAtOnce(
  section('Services that actions send to.', {
    http: namedSection('HTTP services.', { entries: {}, placeholder: 'name', named: httpConnector }),
    ...databases(sqlConnector),
    redis: namedSection('Redis.', { entries: {}, placeholder: 'name', named: redisConnector }),
  }),
)

export const actions = appliedAtOnce(
  section('What rules send to services. Each action stores messages until the service has confirmed them.', {
    http: namedSection('HTTP requests.', { entries: {}, placeholder: 'name', named: httpAction }),
    ...databases(sqlAction),
    redis: namedSection('Redis.', { entries: {}, placeholder: 'name', named: redisAction }),
  }),
)
