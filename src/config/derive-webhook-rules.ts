// Converts the section webhook into rules with one HTTP action, so that it has the queue and guarantees of actions.

import { createDefaultValues, quoteSqlText, type DerivedRule, type DerivedRules } from './derived-rules.ts'
import type { WebhookConfig } from './godwit-config.ts'
import { httpAction, httpConnector } from './settings/sinks/http-settings.ts'

const actionId = 'http:$webhook'
const maxPoolSize = 1_024
const timeoutMs = { min: 10, max: 3_600_000 }
/** Maximum payload that is encoded as base62. */
const maxBase62Bytes = 16_384

export function deriveWebhookRules(webhook: WebhookConfig): DerivedRules {
  const rules = webhook.enable ? createWebhookRules(webhook) : []
  return { rules, actions: rules.length === 0 ? [] : [createHttpAction(webhook)] }
}

function createHttpAction({ url, headers, pool_size: poolSize, cancel_timeout: cancelMs, ssl }: WebhookConfig) {
  const timeout = Math.min(timeoutMs.max, Math.max(timeoutMs.min, cancelMs))
  const connector = {
    ...createDefaultValues(httpConnector),
    url,
    headers,
    pool_size: Math.min(maxPoolSize, poolSize),
    connect_timeout: timeout,
    ssl,
  }
  const action = createDefaultValues(httpAction)
  const options = { ...action.resource_opts, request_timeout: timeout }
  return {
    id: actionId,
    key: 'webhook',
    type: 'http',
    connector,
    action: { ...action, resource_opts: options },
  } as const
}

function createWebhookRules({ events, body: { encoding } }: WebhookConfig): readonly DerivedRule[] {
  const isWanted = (name: string): boolean => events.some((event) => event.get('event') === name)
  const filters = events.flatMap((event) => {
    const topic = event.get('topic')
    return event.get('event') === 'on_message_publish' ? [typeof topic === 'string' ? topic : '#'] : []
  })
  return [
    ...(filters.length > 0 ? [createRule('message_publish', formatMessageSql(filters, encoding))] : []),
    ...(isWanted('on_client_connack') ? [createRule('client_connack', connackSql)] : []),
    ...(isWanted('on_client_disconnected') ? [createRule('client_disconnected', disconnectedSql)] : []),
  ]
}

function createRule(name: string, sql: string): DerivedRule {
  return { id: `$webhook_${name}`, key: 'webhook.events', sql, actions: [{ kind: 'action', id: actionId }] }
}

/** A message that matches several filters is sent once. */
function formatMessageSql(filters: readonly string[], encoding: 'plain' | 'base64' | 'base62'): string {
  const payload = {
    plain: 'payload',
    base64: 'base64_encode(payload) AS payload',
    base62: `CASE WHEN bytesize(payload) > ${maxBase62Bytes} THEN 'base64' END AS payload_encoding,
      CASE WHEN bytesize(payload) > ${maxBase62Bytes} THEN base64_encode(payload) ELSE base62_encode(payload) END AS payload`,
  }
  return `SELECT timestamp AS ts, topic, flags.retain AS retain, qos, 'message_publish' AS action,
      coalesce(username, 'undefined') AS from_username, clientid AS from_client_id, ${payload[encoding]}
    FROM ${[...new Set(filters)].map(quoteSqlText).join(', ')}`
}

const connackSql = `SELECT proto_ver, keepalive, CASE WHEN reason_code = 'success' THEN 'success' ELSE 'fail' END AS conn_ack,
    coalesce(username, 'undefined') AS username, clientid, 'client_connack' AS action
  FROM '$events/client_connack'`

const disconnectedSql = `SELECT CASE WHEN reason = 'normal' THEN 'normal' ELSE 'abnormal' END AS reason,
    coalesce(username, 'undefined') AS username, clientid, 'client_disconnected' AS action
  FROM '$events/client_disconnected'`
