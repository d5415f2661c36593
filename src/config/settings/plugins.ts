// plugins: packages that extend the broker, and limits of each.

import { listOf } from '../schema/collections.ts'
import { duration, size } from '../schema/quantities.ts'
import { appliedAtOnce, namedSection, section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const sha256 = text({ form: { pattern: /^[0-9a-fA-F]{64}$/, name: 'a SHA-256 of 64 hexadecimal digits' } })
const topicFilter = text({
  form: { pattern: /^(?:(?:\+|[^+#/]*)\/)*(?:\+|#|[^+#/]*)$/, name: 'a topic filter' },
})
const mebibyte = 1_048_576
const maxFilters = 256

/** Settings of one plugin. */
export const pluginEntries = {
  timeout: setting(duration({ minMs: 10, maxMs: 60_000 }), 1_000, {
    field: 'timeoutMs',
    description:
      'Maximum time of one call. A call that takes longer fails; a process that is silent for as long is killed.',
  }),
  on_failure: setting(optional(choice(['ignore', 'deny']), 'auto'), undefined, {
    description:
      'Result of a hook that fails. ignore: as if the plugin had no such hook; deny: the packet is refused. Authentication and authorization are always denied.',
    defaultWords: 'hardened: deny; legacy: ignore',
  }),
  max_failures: setting(integer({ min: 1, max: 1_000_000 }), 5, {
    field: 'maxFailures',
    description: 'Number of failures in a row after which on_failure applies without a call.',
  }),
  retry_after: setting(duration({ minMs: 100, maxMs: 86_400_000 }), 10_000, {
    field: 'retryAfterMs',
    description: 'Time after max_failures until one call decides whether the plugin works again.',
  }),
  max_pending: setting(integer({ min: 1, max: 1_000_000 }), 1_000, {
    field: 'maxPending',
    description:
      'Maximum number of calls without an answer. Beyond it, publishers are not read and clients are refused.',
  }),
  max_heap: setting(size({ minBytes: 16 * mebibyte, maxBytes: 65_536 * mebibyte }), 128 * mebibyte, {
    field: 'maxHeapBytes',
    description: 'Maximum JavaScript heap of the process. A process that needs more is killed and started again.',
  }),
  max_memory: setting(size({ minBytes: 64 * mebibyte, maxBytes: 65_536 * mebibyte }), 256 * mebibyte, {
    field: 'maxMemoryBytes',
    description: 'Maximum resident memory of the process. A process that uses more is killed and started again.',
  }),
  topics: setting(listOf(topicFilter, maxFilters), [], {
    field: 'topics',
    description:
      'Topic filters. The plugin gets only messages and requests whose topic one of them matches; empty: all.',
    defaultWords: 'all topics of its manifest',
  }),
  clients: setting(listOf(text(), maxFilters), [], {
    field: 'clients',
    description: 'Client IDs, with * for any characters. The plugin gets only what concerns these clients; empty: all.',
    defaultWords: 'all clients of its manifest',
  }),
  listeners: setting(listOf(text(), maxFilters), [], {
    field: 'listeners',
    description: 'Listeners as type:name. The plugin gets only what concerns clients of these listeners; empty: all.',
    defaultWords: 'all listeners of its manifest',
  }),
}

/** Settings of all plugins. No plugin can have one of these names. */
export const pluginsEntries = {
  allow_install: setting(boolean, false, {
    isLocal: true,
    field: 'allowsInstall',
    description:
      'Whether plugins can be installed over the HTTP API and by the import of a backup. `godwit plugins install` on the machine of the broker is always possible. Only the configuration file and --set can change this setting.',
  }),
  allowed_sha256: setting(optional(listOf(sha256, 1_000), 'unset'), undefined, {
    isLocal: true,
    field: 'allowedSha256',
    description:
      'SHA-256 of the archives that can be installed, also on the machine of the broker. Only the configuration file and --set can change this setting.',
    defaultWords: 'every archive',
  }),
  max_archive: setting(size({ minBytes: 1_024, maxBytes: 1_024 * mebibyte }), 20 * mebibyte, {
    field: 'maxArchiveBytes',
    description: 'Maximum size of the archive of a plugin.',
  }),
  order: setting(listOf(text(), maxFilters), [], {
    field: 'order',
    description:
      'Names of plugins whose hooks are called first, in this order. Other plugins follow in the order of their installation.',
  }),
}

export const plugins = appliedAtOnce(
  namedSection('Plugins: packages that extend the broker. See PLUGINS.md. The key is the name of a plugin.', {
    entries: pluginsEntries,
    placeholder: 'plugin',
    namesHaveDots: true,
    named: section('Limits of one plugin, and the messages and clients that it gets.', pluginEntries),
  }),
)
