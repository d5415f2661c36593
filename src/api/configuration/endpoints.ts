// Reads and changes the configuration of the running broker, and lists earlier versions.

import { responseWith, endpoint, type Static, Type } from '../../contract/index.ts'

/** The settings of `/reload`. */
export const hotSettings = Type.Object({
  property_size: Type.Optional(Type.Integer({ description: 'Maximum size of the properties of a packet, in KiB.' })),
  msq_len: Type.Optional(Type.Integer({ description: 'Maximum number of messages in the queue of a session.' })),
  qos_duration: Type.Optional(
    Type.Integer({ description: 'Time after which an unacknowledged message is redelivered, in seconds.' }),
  ),
  allow_anonymous: Type.Optional(Type.Boolean({ description: 'true: clients may connect without authentication.' })),
  max_packet_size: Type.Optional(Type.Integer({ description: 'Maximum size of a packet, in KiB.' })),
  client_max_packet_size: Type.Optional(
    Type.Integer({ description: 'Second maximum size of a packet, in KiB. The smaller of both limits applies.' }),
  ),
  keepalive_backoff: Type.Optional(
    Type.Number({
      description:
        'Factor for the keep alive, in thousandths: a client that is silent for longer is disconnected. A value below 100 is the factor itself.',
    }),
  ),
})

export type HotSettings = Static<typeof hotSettings>

const section = Type.Record(Type.String(), Type.Unknown())

const change = Type.Object({
  key: Type.String({ description: 'Dotted key of the setting.' }),
  old: Type.Optional(
    Type.String({
      description: 'Old value as in a configuration file; secrets are masked. Absent: the setting did not exist.',
    }),
  ),
  new: Type.Optional(Type.String()),
})

const outcome = Type.Object({
  changed: Type.Array(change, { description: 'Changes that took effect at once.' }),
  needs_restart: Type.Array(change, { description: 'Changes that are written and take effect at the next start.' }),
  without_engine: Type.Array(change, { description: 'Settings that are accepted without effect.' }),
  pinned: Type.Array(Type.String(), {
    description: 'Keys that the command line sets with `--set`. Changes of these keys have no effect.',
  }),
  warnings: Type.Array(Type.String()),
})

const certificate = Type.Object({
  listener: Type.String({ description: 'Listener as `kind:name`.' }),
  file: Type.String(),
  state: Type.Union([Type.Literal('in-force'), Type.Literal('not-used')], {
    description: 'Result of reading the certificate. `not-used`: the listener continues with its previous certificate.',
  }),
  ends: Type.Optional(Type.String({ description: 'Expiry of a certificate in use, in ISO 8601.' })),
  problem: Type.Optional(Type.String({ description: 'Reason why the certificate is not used.' })),
})

const reloadOutcome = Type.Object({
  ...outcome.properties,
  certificates: Type.Array(certificate, { description: 'Certificates of TLS listeners, as read from their files.' }),
})

const listedSetting = Type.Object({
  key: Type.String({ description: 'Dotted key of the setting.' }),
  path: Type.Array(Type.String(), { description: 'Parts of the key. A part that is a name can contain dots.' }),
  type: Type.String({ description: 'Description of the type of the value.' }),
  values: Type.Optional(
    Type.Array(Type.String(), { description: 'Allowed values; absent: the setting is not a choice.' }),
  ),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  lines: Type.Boolean({ description: 'true: the value can have several lines.' }),
  default: Type.String({ description: 'Default as in a configuration file, or a description of the default.' }),
  description: Type.String(),
  takes_hold: Type.Union([Type.Literal('at-once'), Type.Literal('on-next-connect'), Type.Literal('at-restart')]),
  without_engine: Type.Boolean({ description: 'The setting is accepted without effect.' }),
  secret: Type.Boolean(),
  required: Type.Boolean({ description: 'true: a new entry of the section without this setting is refused.' }),
  local: Type.Boolean({ description: 'true: only the configuration file and `--set` can change this setting.' }),
  value: Type.String({ description: 'Current value as in a configuration file; secrets are masked.' }),
  source: Type.Union([
    Type.Literal('default'),
    Type.Literal('file'),
    Type.Literal('api'),
    Type.Literal('command-line'),
  ]),
  place: Type.Optional(
    Type.String({ description: 'Where the value is set: file and line, or `--set` of the command line.' }),
  ),
})

const version = {
  number: Type.Integer(),
  at: Type.String({ description: 'Time of the change, in ISO 8601.' }),
  by: Type.String({ description: 'Account that made the change, or the kind of access without an account.' }),
  address: Type.String(),
  act: Type.String({ description: 'Request that caused the change.' }),
  changed: Type.Array(Type.String(), { description: 'Keys that differ from the previous version.' }),
}

const numberOfVersion = Type.Object({ number: Type.String({ description: 'Number of a version in the history.' }) })
/** Each key is checked against the whole configuration. */
const maxUnsetKeys = 100
const maxKeyLength = 1_000
const changeFailures = ['missingParameter', 'invalidParameter', 'configNotWritten'] as const

export const configurationEndpoints = {
  get_reload: endpoint({
    method: 'GET',
    path: '/reload',
    summary: 'Returns the settings that `POST /reload` can change.',
    reply: responseWith(Type.Required(hotSettings)),
    access: 'read',
  }),
  post_reload: endpoint({
    method: 'POST',
    path: '/reload',
    summary:
      'Changes settings at once: all given settings or none. They hold until the restart, with `persist` also afterwards.',
    // The handler checks `data`, because it has its own codes for errors.
    body: Type.Object({
      data: Type.Optional(
        Type.Unsafe<HotSettings>({ description: 'Settings to change, with the names that `GET /reload` returns.' }),
      ),
      persist: Type.Optional(
        Type.Boolean({ description: 'true: the settings also hold after a restart. Default: false.' }),
      ),
    }),
    reply: responseWith(outcome),
    failures: changeFailures,
    access: 'change',
  }),
  update_config: endpoint({
    method: 'POST',
    path: '/config_update',
    summary:
      'Replaces the complete configuration by a text in HOCON. Settings that cannot change at once take effect at the next start.',
    query: Type.Object({
      merge: Type.Optional(Type.Boolean({ description: 'Change only the settings in the text. Default: false.' })),
      dry_run: Type.Optional(
        Type.Boolean({ description: 'Change nothing, and return what would change. Default: false.' }),
      ),
    }),
    body: 'text',
    reply: responseWith(outcome),
    failures: [...changeFailures, 'notHocon'],
    access: 'change',
  }),
  unset_settings: endpoint({
    method: 'POST',
    path: '/configuration_unset',
    summary:
      'Drops stored changes of settings, so that the configuration file or the default applies again. A named entry of the file, such as a bridge, is removed.',
    query: Type.Object({
      dry_run: Type.Optional(
        Type.Boolean({ description: 'Change nothing, and return what would change. Default: false.' }),
      ),
    }),
    body: Type.Object({
      keys: Type.Array(Type.String({ maxLength: maxKeyLength }), {
        minItems: 1,
        maxItems: maxUnsetKeys,
        description: 'Dotted keys of settings, of groups of settings or of named entries.',
      }),
    }),
    reply: responseWith(outcome),
    failures: changeFailures,
    access: 'change',
  }),
  reload_configuration: endpoint({
    method: 'POST',
    path: '/configuration_reload',
    summary: 'Reads the configuration file and the files that it names again, as SIGHUP does.',
    reply: responseWith(reloadOutcome),
    failures: [...changeFailures, 'notHocon'],
    access: 'change',
  }),
  list_configuration_files: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/configuration_files',
    summary:
      'Returns the configuration file and the files that it names, with the hash of the applied content. They are watched if `http_server.operator_keyfile` is set.',
    reply: responseWith(
      Type.Object({
        watched: Type.Boolean({ description: 'true: changes of these files are applied without a request.' }),
        files: Type.Array(
          Type.Object({
            path: Type.String(),
            sha256: Type.Union([Type.String(), Type.Null()], {
              description: 'SHA-256 of the applied content, in hexadecimal; null: no content is applied.',
            }),
            problem: Type.Union([Type.String(), Type.Null()], {
              description: 'Reason why the current content is not applied.',
            }),
          }),
        ),
      }),
    ),
    access: 'read',
  }),
  get_broker_configuration: endpoint({
    method: 'GET',
    path: '/configuration/',
    summary: 'Returns the complete current configuration; secrets are masked.',
    reply: responseWith(section),
    access: 'read',
  }),
  get_configuration_section: endpoint({
    method: 'GET',
    path: '/configuration/:section',
    summary: 'Returns a section of the current configuration; secrets are masked.',
    params: Type.Object({
      section: Type.String({ description: 'Name of the section, such as `mqtt`, `auth` or `listeners`.' }),
    }),
    reply: responseWith(section),
    failures: ['rpcError'],
    otherStatuses: [['rpcError', 404]],
    access: 'read',
  }),
  set_broker_configuration: endpoint({
    method: 'POST',
    path: '/configuration/',
    summary: 'Changes settings permanently: all given settings, or none if one is invalid.',
    body: Type.Object({ data: section }),
    reply: responseWith(outcome),
    failures: changeFailures,
    access: 'change',
  }),
  set_configuration_section: endpoint({
    method: 'POST',
    path: '/configuration/:section',
    summary: 'Changes settings of a section permanently: all given settings, or none if one is invalid.',
    params: Type.Object({
      section: Type.String({ description: 'Name of the section, such as `mqtt`, `auth` or `listeners`.' }),
    }),
    body: Type.Object({ data: section }),
    reply: responseWith(outcome),
    failures: [...changeFailures, 'rpcError'],
    otherStatuses: [['rpcError', 404]],
    access: 'change',
  }),
  list_configuration_history: endpoint({
    method: 'GET',
    path: '/configuration_history',
    summary: 'Lists the last 20 versions of the configuration, newest first, with time, account and changed keys.',
    reply: responseWith(Type.Array(Type.Object(version))),
    access: 'read',
  }),
  get_configuration_version: endpoint({
    method: 'GET',
    path: '/configuration_history/:number',
    summary: 'Returns a version of the history: the settings that differed from their defaults. Secrets are masked.',
    params: numberOfVersion,
    reply: responseWith(Type.Object({ ...version, text: Type.String() })),
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'read',
  }),
  diff_configuration: endpoint({
    method: 'GET',
    path: '/configuration_history/:number/diff',
    summary:
      'Lists the differences between two versions of the history. Without `to`, compares with the newest version.',
    params: numberOfVersion,
    query: Type.Object({
      to: Type.Optional(Type.Integer({ description: 'Number of the version to compare with. Default: the newest.' })),
    }),
    reply: responseWith(Type.Object({ from: Type.Integer(), to: Type.Integer(), changes: Type.Array(change) })),
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'read',
  }),
  get_configuration_schema: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/configuration_schema',
    summary:
      'Lists the settings with definition, value and origin. An account of a namespace gets the settings of new connectors, actions and sources that it can set.',
    query: Type.Object({
      new: Type.Optional(
        Type.String({
          description:
            'A section with named entries in it or below it, such as `connectors`, `actions`, `sources` or `gateway.stomp.listeners`: only the settings of a new entry, with `<name>` in its place.',
        }),
      ),
    }),
    failures: ['invalidParameter'],
    reply: responseWith(Type.Array(listedSetting)),
    access: 'read',
    isForNamespaces: true,
  }),
  check_configuration: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/configuration_check',
    summary: 'Returns what would change if a text in HOCON replaced the configuration. Changes nothing.',
    body: 'text',
    reply: responseWith(Type.Object({ changes: Type.Array(change) })),
    access: 'change',
    audit: 'never',
  }),
  rollback_configuration: endpoint({
    method: 'POST',
    path: '/configuration_history/:number/rollback',
    summary: 'Restores the configuration to a version of the history.',
    params: numberOfVersion,
    reply: responseWith(outcome),
    failures: changeFailures,
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
}
