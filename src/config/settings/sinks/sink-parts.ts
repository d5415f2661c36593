// Settings that connectors and actions of several types share.

import { listOf } from '../../schema/collections.ts'
import { fallbackActions } from '../../schema/fallback-actions.ts'
import { linesOfText } from '../../schema/rule-action.ts'
import { duration } from '../../schema/quantities.ts'
import { namedSection, section, setting, type SchemaNode, type Section } from '../../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../../schema/setting-type.ts'
import { clientCertificates } from '../bridges.ts'

const maxTemplateBytes = 262_144
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const anyText = text({ isEmptyAllowed: true })
export const maybeText = optional(anyText, 'none')

/** SQL and texts with placeholders. */
export const template = linesOfText(maxTemplateBytes)

/** All connectors or actions of one type, by their names. */
export function namedSinks<Named extends SchemaNode>(description: string, named: Named): Section<{}, Named> {
  return namedSection(description, { entries: {}, placeholder: 'name', named, isOfNamespaces: true })
}

/** Of EMQX. Their files and requests can be used unchanged. */
export const ofEmqx = setting(maybeText, undefined, { description: 'A setting of EMQX.' })

const ignoredResourceOptions = {
  request_ttl: ofEmqx,
  max_buffer_bytes: ofEmqx,
  worker_pool_size: ofEmqx,
  query_mode: ofEmqx,
  metrics_flush_interval: ofEmqx,
  health_check_timeout: ofEmqx,
  start_timeout: ofEmqx,
  start_after_created: ofEmqx,
  health_check_interval_jitter: ofEmqx,
  resume_interval: ofEmqx,
  buffer_mode: ofEmqx,
  buffer_seg_bytes: ofEmqx,
  async_inflight_window: ofEmqx,
  enable_batch: ofEmqx,
  enable_queue: ofEmqx,
  auto_restart_interval: ofEmqx,
}

export const connectorSettings = {
  tags: setting(listOf(anyText), [], { description: 'A setting of EMQX.' }),
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  resource_opts: section('Settings of EMQX.', { health_check_interval: ofEmqx, ...ignoredResourceOptions }),
  enable: setting(boolean, true, { description: 'Whether the connector is used.' }),
  description: setting(anyText, '', { description: 'For administrators.' }),
}

export const connectTimeout = setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
  description: 'How long connecting may take.',
})

export const poolSize = setting(integer({ min: 1, max: 1_024 }), 8, { description: 'Connections of each shard.' })

/** Of HTTP. */
export const pipelining = setting(integer({ min: 1, max: 1_024 }), 1, {
  description:
    'Requests that a connection may have at a time. More than 1 needs a service that answers them in their order, as HTTP/1.1 asks; a request that is slow keeps those behind it waiting.',
})

/** For services with an address. */
export const serverSettings = {
  ...connectorSettings,
  server: setting(maybeText, undefined, { description: 'Address, such as 127.0.0.1:5432.', isRequired: true }),
  username: setting(maybeText, undefined, { description: 'User name.' }),
  password: setting(maybeText, undefined, { description: 'Password.', isSecret: true }),
  connect_timeout: connectTimeout,
  ssl: clientCertificates,
}

export const actionSettings = {
  local_topic: ofEmqx,
  tags: setting(listOf(anyText), [], { description: 'A setting of EMQX.' }),
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  enable: setting(boolean, true, {
    description: 'Whether the action sends. A disabled action stores what its rules bring.',
  }),
  description: setting(anyText, '', { description: 'For administrators.' }),
  connector: setting(maybeText, undefined, {
    description: 'Name of the connector, which has the type of the action.',
    isRequired: true,
  }),
  fallback_actions: setting(fallbackActions, [], {
    description:
      'What happens with a message that the service refuses for good or that the queue of the action does not take: {kind = reference, type, name} of another action, or {kind = republish, args {topic, qos, retain, payload, mqtt_properties, user_properties}}. Templates see the result of the rule. If a fallback fails as well, the message becomes a dead letter.',
  }),
}

export const sourceSettings = {
  tags: setting(listOf(anyText), [], { description: 'A setting of EMQX.' }),
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  resource_opts: section('Settings of EMQX.', { health_check_interval: ofEmqx, ...ignoredResourceOptions }),
  enable: setting(boolean, true, { description: 'Whether the source receives.' }),
  description: setting(anyText, '', { description: 'For administrators.' }),
  connector: setting(maybeText, undefined, { description: 'Name of the connector.', isRequired: true }),
}

const resourceOptionEntries = {
  ...ignoredResourceOptions,
  batch_size: setting(integer({ min: 1, max: 10_000 }), 1, { description: 'Maximum messages sent together.' }),
  batch_time: setting(duration({ minMs: 0, maxMs: 60_000, bareUnitMs: 1 }), 0, {
    description: 'How long an incomplete batch waits for more messages.',
  }),
  inflight_window: setting(integer({ min: 1, max: 2_000 }), 100, {
    description: 'Messages that may be sent before the first of them is confirmed.',
  }),
  order: setting(choice(['publisher', 'topic', 'action', 'none']), 'publisher', {
    description:
      'Messages of one publisher, of one topic, or all messages of a shard are sent one after the other, also at retries; others at the same time. With none, no order is kept.',
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
}

export const resourceOptions = section('How messages are stored and sent.', resourceOptionEntries)

/** For services that accept many messages in one request. */
export function resourceOptionsWith(defaults: { readonly batchSize: number; readonly inflightWindow: number }) {
  const { batch_size, inflight_window } = resourceOptionEntries
  return section('How messages are stored and sent.', {
    ...resourceOptionEntries,
    batch_size: { ...batch_size, default: defaults.batchSize },
    inflight_window: { ...inflight_window, default: defaults.inflightWindow },
  })
}
