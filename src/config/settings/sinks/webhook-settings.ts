// webhook: messages and events of clients over HTTP, as in NanoMQ.

import { listOf, record, textMap, type Fields } from '../../schema/collections.ts'
import { duration } from '../../schema/quantities.ts'
import { appliedAtOnce, section, setting } from '../../schema/setting.ts'
import { boolean, choice, integer, text, type SettingType } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import { maybeText } from './sink-parts.ts'

/** Events that are sent. */
export const webhookEvents = ['on_message_publish', 'on_client_connack', 'on_client_disconnected'] as const

/** Events in files of NanoMQ that NanoMQ does not send either. */
const idleEvents = [
  'on_client_connect',
  'on_client_connected',
  'on_client_subscribe',
  'on_client_unsubscribe',
  'on_session_subscribed',
  'on_session_unsubscribed',
  'on_session_terminated',
  'on_message_delivered',
  'on_message_acked',
]

const maxEvents = 256
const dayMs = 86_400_000
const event = record('an event', { event: choice([...webhookEvents, ...idleEvents]), topic: text() }, ['event'])
const eventList = listOf(event, maxEvents)

const events: SettingType<readonly Fields[]> = {
  ...eventList,
  read(value) {
    const read = eventList.read(value)
    if ('problem' in read) return read
    const names = read.value.map((fields) => String(fields.get('event')))
    const idle = names.filter((name) => idleEvents.includes(name))
    return idle.length === 0 ? read : { ...read, warning: `nothing is sent for ${idle.join(', ')}` }
  },
}

export const webhook = appliedAtOnce(
  section('The webhook of NanoMQ: messages and client events are sent to an HTTP service. See docs/sinks/webhook.md.', {
    enable: setting(boolean, true, { description: 'Whether events are sent to the webhook.' }),
    url: setting(maybeText, undefined, {
      description: 'URL of the service, such as http://127.0.0.1:8888/hook.',
    }),
    headers: setting(textMap, new Map(), { description: 'HTTP headers of each request.', isSecret: true }),
    body: section('Content of the request body.', {
      encoding: setting(choice(['plain', 'base64', 'base62']), 'plain', {
        description:
          'Encoding of payloads in the request body. A payload of more than 16 KiB is never written as base62, but as base64.',
      }),
    }),
    pool_size: setting(integer({ min: 1, max: 65_535 }), 32, {
      description:
        'Maximum number of connections that each shard opens to the service. Values above 1024 count as 1024.',
    }),
    cancel_timeout: setting(duration({ minMs: 0, maxMs: dayMs, bareUnitMs: 1 }), 5_000, {
      description:
        'Maximum time until the service has responded to a request. A number without a unit is in milliseconds. Values below 10ms or above 1h count as these limits.',
    }),
    events: setting(events, [], {
      description: `The events that are sent. Each item has event (${webhookEvents.join(', ')}), and for messages also topic, which is a topic filter.`,
    }),
    ssl: outgoingTls,
  }),
)
