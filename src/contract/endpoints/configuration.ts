// Reads and changes the configuration of the running broker, and lists earlier versions.

import { answer, endpoint } from '../endpoint.ts'
import { type Static, Type } from '../schema.ts'

/** The settings of `/reload`. */
export const hotSettings = Type.Object({
  property_size: Type.Optional(Type.Integer({ description: 'The largest properties section of a packet, in KiB.' })),
  msq_len: Type.Optional(Type.Integer({ description: 'Messages that wait in memory for one session.' })),
  qos_duration: Type.Optional(
    Type.Integer({ description: 'Seconds after which an unacknowledged message is sent again.' }),
  ),
  allow_anonymous: Type.Optional(Type.Boolean({ description: 'Whether clients without a known name are let in.' })),
  max_packet_size: Type.Optional(Type.Integer({ description: 'The largest packet, in KiB.' })),
  client_max_packet_size: Type.Optional(
    Type.Integer({ description: 'A second limit of the same kind, in KiB: the smaller of the two holds.' }),
  ),
  keepalive_backoff: Type.Optional(
    Type.Number({
      description:
        'Thousandths of the keep alive after which a silent client is lost; below 100 it is the factor itself.',
    }),
  ),
})

export type HotSettings = Static<typeof hotSettings>

const section = Type.Record(Type.String(), Type.Unknown())

const change = Type.Object({
  key: Type.String({ description: 'Dotted key of the setting.' }),
  old: Type.Optional(Type.String({ description: 'As in a file; secrets are masked. Absent: it was not there.' })),
  new: Type.Optional(Type.String()),
})

const outcome = Type.Object({
  changed: Type.Array(change, { description: 'What holds from now on.' }),
  needs_restart: Type.Array(change, { description: 'What is written and holds from the next start on.' }),
  without_engine: Type.Array(change, { description: 'Settings that are accepted without effect.' }),
  pinned: Type.Array(Type.String(), {
    description: 'Keys that `--set` holds: what was written of them does not count.',
  }),
  warnings: Type.Array(Type.String()),
})

const certificate = Type.Object({
  listener: Type.String({ description: '`kind:name`' }),
  file: Type.String(),
  state: Type.Union([Type.Literal('in-force'), Type.Literal('not-used')], {
    description: '`not-used`: the listener goes on with the certificate that it read before.',
  }),
  ends: Type.Optional(Type.String({ description: 'When it expires, ISO 8601; of one in force.' })),
  problem: Type.Optional(Type.String({ description: 'Why it is not used.' })),
})

const reloadOutcome = Type.Object({
  ...outcome.properties,
  certificates: Type.Array(certificate, { description: 'Certificates of TLS listeners, as their files are now.' }),
})

const listedSetting = Type.Object({
  key: Type.String({ description: 'Dotted key.' }),
  path: Type.Array(Type.String(), { description: 'The parts of the key: a name among them may hold dots.' }),
  type: Type.String({ description: 'In words.' }),
  values: Type.Optional(Type.Array(Type.String(), { description: 'Of a choice.' })),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  lines: Type.Boolean({ description: 'Whether a value may have several lines.' }),
  default: Type.String({ description: 'As in a file, or in words.' }),
  description: Type.String(),
  takes_hold: Type.Union([Type.Literal('at-once'), Type.Literal('on-next-connect'), Type.Literal('at-restart')]),
  without_engine: Type.Boolean({ description: 'The setting is accepted without effect.' }),
  secret: Type.Boolean(),
  required: Type.Boolean({ description: 'Without it, a new entry of the section is refused.' }),
  local: Type.Boolean({ description: 'Only the configuration file and `--set` may change it.' }),
  value: Type.String({ description: 'As in a file; secrets are masked.' }),
  source: Type.Union([
    Type.Literal('default'),
    Type.Literal('file'),
    Type.Literal('api'),
    Type.Literal('command-line'),
  ]),
  place: Type.Optional(Type.String({ description: 'File and line; `--set` of the command line.' })),
})

const version = {
  number: Type.Integer(),
  at: Type.String({ description: 'When, ISO 8601.' }),
  by: Type.String({ description: 'The account, or the kind of access without an account.' }),
  address: Type.String(),
  act: Type.String({ description: 'What was asked for.' }),
  changed: Type.Array(Type.String(), { description: 'Keys that differ from the version before.' }),
}

const numberOfVersion = Type.Object({ number: Type.String({ description: 'Of a version in the history.' }) })
const changeFailures = ['missingParameter', 'invalidParameter', 'configNotWritten'] as const

export const configurationEndpoints = {
  get_reload: endpoint({
    method: 'GET',
    path: '/reload',
    summary: 'The settings that can be changed with one small request.',
    reply: answer(Type.Required(hotSettings)),
    access: 'read',
  }),
  post_reload: endpoint({
    method: 'POST',
    path: '/reload',
    summary: 'Changes some settings at once: all that are given, or none. Until the restart, or with persist for good.',
    // The handler checks `data`, because it has its own codes for errors.
    body: Type.Object({
      data: Type.Optional(Type.Unsafe<HotSettings>({ description: 'The settings, as GET tells them; any of them.' })),
      persist: Type.Optional(
        Type.Boolean({ description: 'Whether they hold after a restart as well. Default: false.' }),
      ),
    }),
    reply: answer(outcome),
    failures: changeFailures,
    access: 'change',
  }),
  update_config: endpoint({
    method: 'POST',
    path: '/config_update',
    summary:
      'Puts a whole configuration, as HOCON, in the place of the one there is, and in force as far as that can be.',
    query: Type.Object({
      merge: Type.Optional(Type.Boolean({ description: 'Change only the settings in the text. Default: false.' })),
      dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing, and answer what would change.' })),
    }),
    body: 'text',
    reply: answer(outcome),
    failures: [...changeFailures, 'notHocon'],
    access: 'change',
  }),
  reload_configuration: endpoint({
    method: 'POST',
    path: '/configuration_reload',
    summary: 'Reads the configuration file and what it names again, as SIGHUP does.',
    reply: answer(reloadOutcome),
    failures: [...changeFailures, 'notHocon'],
    access: 'change',
  }),
  get_broker_configuration: endpoint({
    method: 'GET',
    path: '/configuration/',
    summary: 'The whole configuration as it holds, secrets masked.',
    reply: answer(section),
    access: 'read',
  }),
  get_configuration_section: endpoint({
    method: 'GET',
    path: '/configuration/:section',
    summary: 'One section of the configuration, secrets masked.',
    params: Type.Object({ section: Type.String({ description: '`mqtt`, `auth`, `listeners`, ...' }) }),
    reply: answer(section),
    failures: ['rpcError'],
    otherStatuses: [['rpcError', 404]],
    access: 'read',
  }),
  set_broker_configuration: endpoint({
    method: 'POST',
    path: '/configuration/',
    summary: 'Changes the settings that are given, for good: all of them, or none.',
    body: Type.Object({ data: section }),
    reply: answer(outcome),
    failures: changeFailures,
    access: 'change',
  }),
  set_configuration_section: endpoint({
    method: 'POST',
    path: '/configuration/:section',
    summary: 'Changes settings of one section, for good: all that are given, or none.',
    params: Type.Object({ section: Type.String({ description: '`mqtt`, `auth`, `listeners`, ...' }) }),
    body: Type.Object({ data: section }),
    reply: answer(outcome),
    failures: [...changeFailures, 'rpcError'],
    otherStatuses: [['rpcError', 404]],
    access: 'change',
  }),
  list_configuration_history: endpoint({
    method: 'GET',
    path: '/configuration_history',
    summary: 'The last 20 configurations, the newest first: who changed what, and when.',
    reply: answer(Type.Array(Type.Object(version))),
    access: 'read',
  }),
  get_configuration_version: endpoint({
    method: 'GET',
    path: '/configuration_history/:number',
    summary: 'A configuration of the history: what in it was not as by default, secrets masked.',
    params: numberOfVersion,
    reply: answer(Type.Object({ ...version, text: Type.String() })),
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'read',
  }),
  diff_configuration: endpoint({
    method: 'GET',
    path: '/configuration_history/:number/diff',
    summary: 'What is otherwise in another version of the history, or without `to` in the newest.',
    params: numberOfVersion,
    query: Type.Object({ to: Type.Optional(Type.Integer({ description: 'The other version.' })) }),
    reply: answer(Type.Object({ from: Type.Integer(), to: Type.Integer(), changes: Type.Array(change) })),
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'read',
  }),
  get_configuration_schema: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/configuration_schema',
    summary:
      'Every setting with its definition, its value, and where that is from. An account of a namespace asks for new connectors, actions and sources, and is told what it can set.',
    query: Type.Object({
      new: Type.Optional(
        Type.String({
          description:
            'A section with named entries in it or below it, such as `connectors`, `actions`, `sources` or `gateway.stomp.listeners`: only the settings of a new entry, with `<name>` in its place.',
        }),
      ),
    }),
    failures: ['invalidParameter'],
    reply: answer(Type.Array(listedSetting)),
    access: 'read',
    isForNamespaces: true,
  }),
  check_configuration: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/configuration_check',
    summary: 'What a configuration, as HOCON, would change in the place of the one there is. Nothing is changed.',
    body: 'text',
    reply: answer(Type.Object({ changes: Type.Array(change) })),
    access: 'change',
    audit: 'never',
  }),
  rollback_configuration: endpoint({
    method: 'POST',
    path: '/configuration_history/:number/rollback',
    summary: 'Makes everything as it was in a version of the history.',
    params: numberOfVersion,
    reply: answer(outcome),
    failures: changeFailures,
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
}
