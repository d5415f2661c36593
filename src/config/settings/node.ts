// node, storage, limits, sys_topics, system: the process and its data.

import { deniedAddresses } from '../schema/access-rule.ts'
import { address } from '../schema/bind.ts'
import { listOf } from '../schema/collections.ts'
import { choice, boolean, integer, optional, text } from '../schema/setting-type.ts'
import { localDirectory, path } from '../schema/path-type.ts'
import { duration, size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'

export const maxCount = 4_294_967_295

const nodeName = text({
  maxBytes: 255,
  form: { pattern: /^[A-Za-z0-9_-]{1,128}(?:@[A-Za-z0-9._:-]{1,248})?$/, name: 'a node name such as godwit@plant-7' },
})

export const node = section('The node: its name, its data directory, its memory limit and its security profile.', {
  name: setting(optional(nodeName, 'auto'), undefined, {
    field: 'name',
    description: 'Name of the node. It is stored in the data directory, so that it does not change with the host name.',
    defaultWords: 'godwit@ and the host name, at the first start',
  }),
  data_dir: setting(optional(path('working-directory', { isWritten: true }), 'auto'), undefined, {
    field: 'dataDir',
    description: 'Directory of all data of the node. `--data` sets it as well.',
    defaultWords:
      './data in a checkout, ~/.local/share/godwit for an installation of a user, /var/lib/godwit for a service of root',
  }),
  allowed_directories: setting(listOf(localDirectory, 64), [], {
    field: 'allowedDirectories',
    description:
      'Further directories whose files a configuration from the API or `godwit ctl` can name, in addition to the data directory. Absolute paths. ' +
      'Only the configuration file and --set can change this setting, and they can name any file.',
    isLocal: true,
    appliesOn: 'at-once',
  }),
  shards: setting(optional(integer({ min: 1, max: 250 }), 'auto'), undefined, {
    field: 'shards',
    description: 'Number of shards: worker threads that share the sessions among them.',
    defaultWords: 'the number of processor cores',
  }),
  memory_limit: setting(
    optional(size({ minBytes: 192 * 1_048_576, maxBytes: 1_024 * 1_073_741_824 }), 'auto'),
    undefined,
    {
      field: 'memoryLimitBytes',
      description:
        'Maximum memory of the process. From 70 % on (level soft), garbage is collected, an alarm names the clients that use most memory, and the byte limits of each client are a quarter. ' +
        'From 80 % on (level hard), new sessions and subscriptions are refused with reason code 0x97, the oldest queued messages of clean sessions are dropped, and the clients that use most memory are disconnected. ' +
        'Persistent sessions lose nothing.',
      defaultWords: 'three quarters of the memory of the machine or of its control group, whichever is less',
    },
  ),
  security_profile: setting(choice(['hardened', 'legacy']), 'hardened', {
    field: 'securityProfile',
    description:
      'hardened: a listener with only a port is bound to loopback, and anonymous clients are accepted on loopback only. ' +
      'legacy: a listener with only a port is bound to all addresses, and anonymous clients are accepted unless auth.allow_anonymous is false.',
  }),
  default_listener_address: setting(optional(address, 'none'), undefined, {
    field: 'defaultListenerAddress',
    description: 'Address of listeners with only a port. 0.0.0.0 makes them reachable from the network.',
    defaultWords: 'hardened: the loopback address; legacy: all addresses',
  }),
  denied_addresses: setting(listOf(deniedAddresses, 256), [], {
    field: 'deniedAddresses',
    description:
      'Addresses to which bridges, connectors and HTTP clients of the broker must not connect, also if a host name resolves to them: loopback, ' +
      'private (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7), or networks. Link-local addresses are never used.',
  }),
})

export const storage = section('Writes and syncs of the store of the node.', {
  sync: setting(choice(['commit', 'interval', 'never']), 'commit', {
    field: 'sync',
    description:
      'commit: messages are acknowledged after they are written and synced. interval: the disk is synced at intervals; a power cut loses the ' +
      'changes since the last sync. never: the operating system decides when it writes.',
  }),
  sync_interval: setting(duration({ minMs: 10, maxMs: 3_600_000 }), 1_000, {
    field: 'syncIntervalMs',
    description: 'Time between two syncs if storage.sync is interval.',
  }),
  recovered_session_expiry: setting(duration({ minMs: 60_000, maxMs: 31_536_000_000, stepMs: 1_000 }), 604_800_000, {
    description:
      'Session expiry of sessions that the node restores after damage to the store: their queued messages are intact, their own records are lost. ' +
      'The messages wait for this time until the client connects. See the alarm sessions-recovered.',
  }),
})

const perSecond = optional(integer({ min: 1, max: maxCount }), 'unlimited')

/** Limits of the node, and of each listener if set there. */
export const limits = section('Limits of the whole node. Each listener has the same settings for its own clients.', {
  max_connections: setting(perSecond, undefined, {
    field: 'maxConnections',
    description:
      'Maximum number of connections, including the clients of gateways. A further one is closed at once. A lower limit does not close open connections.',
    appliesOn: 'at-once',
  }),
  max_connection_rate: setting(perSecond, undefined, {
    field: 'maxConnectionRate',
    description:
      'Maximum number of new connections per second. Further connections wait; one that would wait longer than 5 seconds is closed at once.',
    appliesOn: 'at-once',
  }),
  messages_rate: setting(perSecond, undefined, {
    description:
      'Maximum number of messages per second that the broker reads from one client. A burst of the messages of one second is allowed.',
    appliesOn: 'on-next-connect',
  }),
  bytes_rate: setting(perSecond, undefined, {
    description:
      'Maximum number of bytes per second that the broker reads from one client. A burst of the bytes of one second is allowed.',
    appliesOn: 'on-next-connect',
  }),
  deliveries_rate: setting(perSecond, undefined, {
    description:
      'Maximum number of messages per second to one client. A burst of the messages of one second is allowed. Beyond it, QoS 1 and 2 messages wait in the queue of the session, and QoS 0 messages are dropped.',
    appliesOn: 'on-next-connect',
  }),
  subscriptions_rate: setting(perSecond, undefined, {
    description:
      'Maximum number of topic filters per second that one client can subscribe to. A burst of the filters of one second is allowed. A further one is rejected with reason code 0x97, before MQTT 5.0 with 0x80.',
    appliesOn: 'on-next-connect',
  }),
})

export const sysTopics = section('Messages to topics below $SYS, in which the broker reports its state.', {
  interval: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 60_000, {
    field: 'intervalMs',
    description: 'Interval at which the broker publishes the $SYS messages, at least 1s. 0: it publishes none.',
    appliesOn: 'at-once',
  }),
  client_events: setting(boolean, true, {
    field: 'clientEvents',
    description:
      'Whether the broker publishes a message when a client connects or disconnects, at most 100 per second. In the topic, the characters /, +, # and U+0000 of a client ID are %2F, %2B, %23 and %00; a client ID that is too long is cut and followed by %- and its SHA-256. The payload contains the whole client ID.',
    appliesOn: 'at-once',
  }),
})

const threads = integer({ min: 0, max: 1_024 })

/** Internal settings of NanoMQ. They are accepted so that such a file can be used unchanged. */
export const system = section('Settings of the processes and threads of NanoMQ.', {
  num_taskq_thread: setting(threads, 0, { description: 'Number of task threads of NanoMQ; 0: NanoMQ decides.' }),
  max_taskq_thread: setting(threads, 0, {
    description: 'Maximum number of task threads of NanoMQ; 0: NanoMQ decides.',
  }),
  parallel: setting(integer({ min: 0, max: 65_535 }), 0, {
    description: 'Maximum number of concurrent tasks of NanoMQ; 0: NanoMQ decides.',
  }),
  daemon: setting(boolean, false, {
    description: 'Whether NanoMQ runs in the background. Godwit runs in the foreground.',
  }),
  enable_ipc_internal: setting(boolean, true, { description: 'Whether NanoMQ uses IPC between its parts.' }),
  hook_ipc_url: setting(optional(text(), 'none'), undefined, {
    description: 'Address at which NanoMQ receives calls of hooks.',
  }),
  cmd_ipc_url: setting(optional(text(), 'none'), undefined, {
    description: 'Address at which NanoMQ receives commands.',
  }),
})
