// Settings that connectors and actions of several types share.

import { listOf } from '../../schema/collections.ts'
import { fallbackActions } from '../../schema/fallback-actions.ts'
import { multilineText } from '../../schema/rule-action.ts'
import { duration } from '../../schema/quantities.ts'
import { namedSection, section, setting, type SchemaNode, type Section } from '../../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'

const maxTemplateBytes = 262_144
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const anyText = text({ isEmptyAllowed: true })
export const maybeText = optional(anyText, 'none')

/** SQL and texts with placeholders. */
export const template = multilineText(maxTemplateBytes)

/** All connectors or actions of one type, by their names. */
export function listNamedSinks<Named extends SchemaNode>(description: string, named: Named): Section<{}, Named> {
  return namedSection(description, { entries: {}, placeholder: 'name', named, isOfNamespaces: true })
}

/** Of EMQX. Their files and requests can be used unchanged. */
export const ofEmqx = setting(maybeText, undefined, {
  description: 'A setting of EMQX, which is accepted so that its files can be used unchanged.',
})

const ignoredTags = setting(listOf(anyText), [], {
  description: 'Tags of EMQX, which are accepted so that its files can be used unchanged.',
})

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
  tags: ignoredTags,
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  resource_opts: section('Settings of EMQX, which are accepted so that its files can be used unchanged.', {
    health_check_interval: ofEmqx,
    ...ignoredResourceOptions,
  }),
  enable: setting(boolean, true, {
    description:
      'Whether the connector is used. Actions of a disabled connector store their messages and send nothing.',
  }),
  description: setting(anyText, '', {
    description: 'Description of the connector for administrators. It has no effect.',
  }),
}

export const connectTimeout = setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
  description:
    'Maximum time until a connection is open: TCP, TLS and authentication together. After that, the attempt has failed and is repeated.',
})

export const poolSize = setting(integer({ min: 1, max: 1_024 }), 8, {
  description: 'Maximum number of connections that each shard opens to the service.',
})

/** Of HTTP. */
export const pipelining = setting(integer({ min: 1, max: 1_024 }), 1, {
  description:
    'Maximum number of requests on one connection that have no response yet. With more than 1, the service must respond in the order of the requests, as HTTP/1.1 requires; a slow request delays those after it.',
})

/** For services with an address. */
export const serverSettings = {
  ...connectorSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the server, such as 127.0.0.1:5432.',
    isRequired: true,
  }),
  username: setting(maybeText, undefined, { description: 'User name for the server.' }),
  password: setting(maybeText, undefined, { description: 'Password for the server.', isSecret: true }),
  connect_timeout: connectTimeout,
  ssl: outgoingTls,
}

export const actionSettings = {
  local_topic: ofEmqx,
  tags: ignoredTags,
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  enable: setting(boolean, true, {
    description:
      'Whether the action sends messages. A disabled action stores the results of its rules until it is enabled.',
  }),
  description: setting(anyText, '', { description: 'Description of the action for administrators. It has no effect.' }),
  connector: setting(maybeText, undefined, {
    description: 'Name of the connector that the action uses. Its type must be that of the action.',
    isRequired: true,
  }),
  fallback_actions: setting(fallbackActions, [], {
    description:
      'Actions for messages that the service rejects permanently, or that the action queue does not accept: {kind = reference, type, name} of another action, or {kind = republish, args {topic, qos, retain, payload, mqtt_properties, user_properties}}. Templates see the result of the rule. If a fallback fails as well, the message becomes a dead letter.',
  }),
}

export const sourceSettings = {
  tags: ignoredTags,
  created_at: ofEmqx,
  last_modified_at: ofEmqx,
  resource_opts: section('Settings of EMQX, which are accepted so that its files can be used unchanged.', {
    health_check_interval: ofEmqx,
    ...ignoredResourceOptions,
  }),
  enable: setting(boolean, true, { description: 'Whether the source is connected and receives messages.' }),
  description: setting(anyText, '', { description: 'Description of the source for administrators. It has no effect.' }),
  connector: setting(maybeText, undefined, {
    description: 'Name of the connector that the source uses.',
    isRequired: true,
  }),
}

const resourceOptionEntries = {
  ...ignoredResourceOptions,
  batch_size: setting(integer({ min: 1, max: 10_000 }), 1, {
    description: 'Maximum number of messages that are sent in one request or transaction.',
  }),
  batch_time: setting(duration({ minMs: 0, maxMs: 60_000, bareUnitMs: 1 }), 0, {
    description: 'Maximum time that an incomplete batch waits for more messages.',
  }),
  inflight_window: setting(integer({ min: 1, max: 2_000 }), 100, {
    description: 'Maximum number of messages that are sent to the service and not confirmed yet.',
  }),
  order: setting(choice(['publisher', 'topic', 'action', 'none']), 'publisher', {
    description:
      'Which messages are sent one after the other, also at retries: those of one publisher, those of one topic, or all of a shard (action). Other messages are sent at the same time. With none, no order is kept.',
  }),
  max_buffer_messages: setting(integer({ min: 1, max: 100_000_000 }), 1_000_000, {
    description: 'Maximum number of messages that each shard stores for the action until they are sent.',
  }),
  overflow: setting(choice(['block', 'drop']), 'block', {
    description:
      'Effect of a full action queue (`max_buffer_messages`) on new messages. block: publishers at QoS 1 and 2 wait for their acknowledgement. drop: new messages are dropped and counted.',
  }),
  max_retries: setting(integer({ min: 0, max: 100 }), 2, {
    description:
      'Number of retries for a message that the service rejects permanently. After these it becomes a dead letter.',
  }),
  retry_interval: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 1_000, {
    description: 'Pause before the first retry after a failure. It doubles with each retry, up to 30 seconds.',
  }),
  request_timeout: setting(duration({ minMs: 10, maxMs: hourMs, bareUnitMs: 1 }), 15_000, {
    description:
      'Maximum time until the service has responded to a request, such as a statement or a commit. After that, the connection is closed, and the request is repeated.',
  }),
  health_check_interval: setting(duration({ minMs: 100, maxMs: dayMs, bareUnitMs: 1 }), 15_000, {
    description: 'Interval at which the action checks that the service can be reached, while it has nothing to send.',
  }),
}

export const resourceOptions = section('Queue, sending and retries of the action.', resourceOptionEntries)

/** For services that accept many messages in one request. */
export function createResourceOptions(defaults: { readonly batchSize: number; readonly inflightWindow: number }) {
  const { batch_size, inflight_window } = resourceOptionEntries
  return section('Queue, sending and retries of the action.', {
    ...resourceOptionEntries,
    batch_size: { ...batch_size, default: defaults.batchSize },
    inflight_window: { ...inflight_window, default: defaults.inflightWindow },
  })
}
