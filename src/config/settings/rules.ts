// rules, preset, plugin, and other settings of NanoMQ that are accepted without effect.

import { listOf, record } from '../schema/collections.ts'
import { path } from '../schema/path-type.ts'
import { duration } from '../schema/quantities.ts'
import { appliedAtOnce, namedSection, openSection, section, setting } from '../schema/setting.ts'
import { choice, integer, optional, text } from '../schema/setting-type.ts'

const maybeText = optional(text(), 'none')

const maxKeepAliveMs = 65_535_000

const tableRule = record('a rule', { sql: text(), table: text() }, ['sql'])

const tableRules = setting(listOf(tableRule), [], {
  description:
    'Rules of NanoMQ for this database. Each has sql, the statement, and table, the table that its rows are written to.',
})

function createDatabaseSection(product: string) {
  return namedSection(`Rules of NanoMQ that write rows to ${product}. The key is a label without effect.`, {
    entries: {},
    placeholder: 'name',
    named: section('A database and the rules that write to it.', {
      conn: section('The connection to the database server.', {
        host: setting(maybeText, undefined, { description: 'Host name or address of the server.' }),
        port: setting(optional(integer({ min: 1, max: 65_535 }), 'auto'), undefined, {
          description: 'Port of the server.',
        }),
        username: setting(maybeText, undefined, { description: 'User name for the server.' }),
        password: setting(maybeText, undefined, { description: 'Password for the server.', isSecret: true }),
        database: setting(maybeText, undefined, { description: 'Name of the database.' }),
      }),
      rules: tableRules,
    }),
  })
}

const republishRule = record(
  'a rule',
  {
    server: text(),
    topic: text(),
    proto_ver: choice(['3', '4', '5']),
    clientid: text(),
    keepalive: duration({ minMs: 0, maxMs: maxKeepAliveMs }),
    clean_start: choice(['true', 'false']),
    username: text(),
    password: text({ isEmptyAllowed: true }),
    sql: text(),
  },
  ['sql'],
)

export const rules = appliedAtOnce(
  section(
    'Rules in the form of NanoMQ: an SQL statement over messages, and the database or broker that gets its results. Each becomes a rule with an action.',
    {
      sqlite: section('Rules of NanoMQ that write rows to an SQLite file.', {
        path: setting(optional(path('working-directory', { isWritten: true }), 'none'), undefined, {
          description: 'Path of the SQLite file. Tables that do not exist are created.',
          defaultWords: 'rule_engine.db in the data directory',
        }),
        rules: tableRules,
      }),
      mysql: createDatabaseSection('MySQL'),
      postgresql: createDatabaseSection('PostgreSQL'),
      timescaledb: createDatabaseSection('TimescaleDB'),
      repub: section('Rules of NanoMQ that publish their results to another broker, as JSON with QoS 1.', {
        rules: setting(listOf(republishRule), [], {
          description:
            'Rules of NanoMQ that publish to another broker. Each has sql, server and topic, and the options of the connection: proto_ver, clientid (a prefix of the client IDs), keepalive, username, password. clean_start has no effect: each connection starts a new session.',
          isSecret: true,
        }),
      }),
    },
  ),
)

const presetTopic = record('a subscription', { remote_topic: text(), qos: choice(['0', '1', '2']) }, ['remote_topic'])

export const preset = section('Sessions that NanoMQ creates before clients connect.', {
  session: namedSection('Sessions that NanoMQ creates when it starts. The key is a label without effect.', {
    entries: {},
    placeholder: 'name',
    named: section('A session with its subscriptions.', {
      clientid: setting(maybeText, undefined, { description: 'Client ID of the session.' }),
      topic: setting(listOf(presetTopic), [], {
        description: 'Subscriptions of the session: remote_topic is the topic filter, qos the maximum QoS.',
      }),
    }),
  }),
})

export const plugin = section('Native plugins of NanoMQ.', {
  libs: setting(listOf(record('a plugin', { path: path('working-directory') }, ['path'])), [], {
    description: 'Plugins that NanoMQ loads. Each has path, the path of its file.',
  }),
})

export const dds = openSection('Settings of the DDS gateway of NanoMQ.')
export const forwardRules = openSection('Topics that the DDS gateway of NanoMQ forwards.')
export const vsomeip = openSection('Settings of the SOME/IP gateway of NanoMQ.')
export const exchangeClient = openSection('Message exchanges of NanoMQ, which keep messages in ring buffers.')
export const parquet = openSection('Parquet files to which NanoMQ writes messages.')
