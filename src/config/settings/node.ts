// node, storage, limits, sys_topics, system: the process and its data.

import { deniedAddresses } from '../schema/access-rule.ts'
import { address } from '../schema/bind.ts'
import { listOf } from '../schema/collections.ts'
import { choice, boolean, integer, optional, text } from '../schema/setting-type.ts'
import { localDirectory, path } from '../schema/path.ts'
import { duration, size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'

export const maxCount = 4_294_967_295

const nodeName = text({
  maxBytes: 255,
  form: { pattern: /^[A-Za-z0-9_-]{1,128}(?:@[A-Za-z0-9._:-]{1,126})?$/, name: 'a node name such as godwit@plant-7' },
})

export const node = section('This machine: who it is, where it keeps what it knows, how open it is.', {
  name: setting(optional(nodeName, 'auto'), undefined, {
    description: 'Identity of the node. It is kept in the data directory, so that it survives a change of address.',
    defaultWords: 'godwit@ and the host name, at the first start',
  }),
  data_dir: setting(optional(path('working-directory', { isWritten: true }), 'auto'), undefined, {
    description: 'Directory of everything that the node keeps. `--data` does the same.',
    defaultWords:
      './data beside a checkout, ~/.local/share/godwit for an installation of a user, /var/lib/godwit for a service of root',
  }),
  allowed_directories: setting(listOf(localDirectory, 64), [], {
    description:
      'Directories beside the data directory that a configuration may name files in when it comes over the API or by `godwit ctl`. Absolute. ' +
      'Only the configuration file and --set can change it. What they name themselves is not restricted.',
    isLocal: true,
    takes: 'at-once',
  }),
  shards: setting(optional(integer({ min: 1, max: 250 }), 'auto'), undefined, {
    description: 'Worker threads, each with its share of the sessions.',
    defaultWords: 'the number of cores',
  }),
  memory_limit: setting(
    optional(size({ minBytes: 192 * 1_048_576, maxBytes: 1_024 * 1_073_741_824 }), 'auto'),
    undefined,
    {
      description:
        'Memory that the process may use. From 70 % on (level soft) garbage is collected, an alarm names the largest users, and the byte limits of each client are a quarter. ' +
        'From 80 % on (level hard) new sessions and subscriptions are refused with reason code 0x97, what waits for clean sessions is dropped, oldest first, and the largest users are disconnected. ' +
        'Persistent sessions lose nothing.',
      defaultWords: 'three quarters of the memory of the machine or of its control group, whichever is less',
    },
  ),
  security_profile: setting(choice(['hardened', 'legacy']), 'hardened', {
    description:
      'hardened: a listener given as a port only is reachable from this machine only, and anonymous clients are let in there only. ' +
      'legacy: such a listener is reachable from everywhere, and anonymous clients are let in unless auth.allow_anonymous is false.',
  }),
  default_listener_address: setting(optional(address, 'none'), undefined, {
    description: 'Address of listeners that are given as a port only. Set it to 0.0.0.0 to open them to the network.',
    defaultWords: 'the loopback address when hardened, all addresses when legacy',
  }),
  denied_addresses: setting(listOf(deniedAddresses, 256), [], {
    description:
      'Where bridges and the services that are asked over HTTP may not be, whatever their names lead to: loopback, private ' +
      '(10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7), or networks. Addresses of the link are never asked.',
  }),
})

export const storage = section('How what must not be lost reaches the disk.', {
  sync: setting(choice(['commit', 'interval', 'never']), 'commit', {
    description:
      'commit: nothing is acknowledged before it is safe on disk. interval: the disk is told at intervals; a power loss costs what came ' +
      'since. never: it is left to the operating system.',
  }),
  sync_interval: setting(duration({ minMs: 10, maxMs: 3_600_000 }), 1_000, {
    description: 'Time between two syncs when storage.sync is interval.',
  }),
  recovered_session_expiry: setting(duration({ minMs: 60_000, maxMs: 31_536_000_000, stepMs: 1_000 }), 604_800_000, {
    description:
      'How long queued messages wait for their client after damage to the store in which the record of its session was lost. See the ' +
      'alarm sessions-recovered.',
  }),
})

const perSecond = optional(integer({ min: 1, max: maxCount }), 'unlimited')

/** Limits of the node, and of each listener if set there. */
export const limits = section('Limits for the whole node. Listeners have the same settings, each for itself.', {
  max_connections: setting(perSecond, undefined, {
    description:
      'Connections at one time, with the clients of gateways. One more is closed at once; who is in stays in where it becomes smaller.',
    takes: 'at-once',
  }),
  max_connection_rate: setting(perSecond, undefined, {
    description:
      'New connections per second. Who comes too fast waits its turn; if that would take longer than 5 seconds it is closed at once.',
    takes: 'at-once',
  }),
  messages_rate: setting(perSecond, undefined, {
    description:
      'Messages per second that one client may publish, a second of them at once. It is read from no faster.',
    takes: 'on-next-connect',
  }),
  bytes_rate: setting(perSecond, undefined, {
    description: 'Bytes per second that one client may publish, as messages_rate counts messages.',
    takes: 'on-next-connect',
  }),
  deliveries_rate: setting(perSecond, undefined, {
    description:
      'Messages per second that one client is sent, a second of them at once. Beyond it QoS 1 and 2 wait in the queue of the session, and QoS 0 is dropped.',
    takes: 'on-next-connect',
  }),
  subscriptions_rate: setting(perSecond, undefined, {
    description:
      'Filters per second that one client may subscribe to, a second of them at once. One more is refused with reason code 0x97, before MQTT 5.0 with 0x80.',
    takes: 'on-next-connect',
  }),
})

export const sysTopics = section('Messages of the broker about itself, below $SYS.', {
  interval: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 60_000, {
    description: 'Time between two rounds of $SYS messages, 1s at least. 0: there are none.',
    takes: 'at-once',
  }),
  client_events: setting(boolean, true, {
    description:
      'Whether clients that connect and disconnect are announced, at most a hundred a second. In the topic the characters /, +, # and U+0000 of a client ID are %2F, %2B, %23 and %00; a client ID that is too long is cut, with %- and its SHA-256 behind. The payload has all of it.',
  }),
})

const threads = integer({ min: 0, max: 1_024 })

/** Internal settings of NanoMQ. They are accepted so that such a file can be used unchanged. */
export const system = section('Processes of NanoMQ.', {
  num_taskq_thread: setting(threads, 0, { description: 'Task threads of NanoMQ; 0 leaves the number to it.' }),
  max_taskq_thread: setting(threads, 0, { description: 'Most task threads of NanoMQ; 0 leaves the number to it.' }),
  parallel: setting(integer({ min: 0, max: 65_535 }), 0, {
    description: 'Work that NanoMQ has under way at one time; 0 leaves the number to it.',
  }),
  daemon: setting(boolean, false, {
    description: 'Whether NanoMQ leaves the terminal. Godwit runs in the foreground.',
  }),
  enable_ipc_internal: setting(boolean, true, { description: 'Whether parts of NanoMQ talk to each other by IPC.' }),
  hook_ipc_url: setting(optional(text(), 'none'), undefined, { description: 'IPC address of hooks.' }),
  cmd_ipc_url: setting(optional(text(), 'none'), undefined, { description: 'IPC address of commands.' }),
})
