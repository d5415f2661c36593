// The events of the broker as data: names, columns, samples. `rule_events`, tests of rules, warnings about unknown
// columns and documentation come from here.

import type { RuleMap, RuleValue } from '../../values/index.ts'
import {
  clientColumns,
  commonColumns,
  connectionColumns,
  deliveryColumns,
  publishColumns,
  sampleTime,
} from './sample-columns.ts'

export type EventName =
  | 'message.publish'
  | 'message.delivered'
  | 'message.acked'
  | 'message.dropped'
  | 'delivery.dropped'
  | 'client.connected'
  | 'client.disconnected'
  | 'client.connack'
  | 'client.check_authz_complete'
  | 'client.check_authn_complete'
  | 'session.subscribed'
  | 'session.unsubscribed'
  | 'alarm.activated'
  | 'alarm.deactivated'
  | 'bridge.message'

export interface EventDefinition {
  /** Value of the column `event`. */
  readonly name: EventName
  /** The name after FROM; for messages an example. */
  readonly topic: string
  /** Other spellings that FROM accepts. */
  readonly otherTopics: readonly string[]
  readonly title: string
  readonly description: string
  /** All columns with a sample value each, except `event`, `node`, `timestamp` and `metadata`, which all events have. */
  readonly sample: RuleMap
  /** Columns that the test form shows as input fields, with a description each. */
  readonly testColumns: Readonly<Record<string, string>>
  readonly sqlExample: string
}

interface Definition {
  readonly topic?: string
  readonly otherTopics?: readonly string[]
  readonly title: string
  readonly description: string
  readonly sample: RuleMap
  readonly testColumns: Readonly<Record<string, string>>
}

const messageTest = {
  clientid: 'client identifier of the publisher',
  username: 'user name of the publisher',
  topic: 'topic of the message',
  qos: 'QoS of the message',
  payload: 'payload of the message',
}
const deliveryTest = {
  from_clientid: 'client identifier of the publisher',
  from_username: 'user name of the publisher',
  clientid: 'client identifier of the receiver',
  username: 'user name of the receiver',
  topic: 'topic of the message',
  qos: 'QoS of the message',
  payload: 'payload of the message',
}
const clientTest = { clientid: 'client identifier', username: 'user name' }
const alarmTest = { name: 'name of the alarm', message: 'text of the alarm', details: 'details of the alarm' }

const definitions: Readonly<Record<EventName, Definition>> = {
  'message.publish': {
    topic: 't/#',
    title: 'Message published',
    description: 'A client published a message whose topic matches the topic filter.',
    sample: publishColumns,
    testColumns: messageTest,
  },
  'message.delivered': {
    otherTopics: ['message/delivered'],
    title: 'Message delivered',
    description: 'The broker sent a message to a subscriber.',
    sample: deliveryColumns,
    testColumns: deliveryTest,
  },
  'message.acked': {
    otherTopics: ['message/acked'],
    title: 'Message acknowledged',
    description: 'A subscriber acknowledged a message of QoS 1 or 2.',
    sample: { ...deliveryColumns, puback_props: { 'Reason-String': 'OK' } },
    testColumns: deliveryTest,
  },
  'message.dropped': {
    otherTopics: ['message/dropped'],
    title: 'Message dropped',
    description: 'The broker dropped a published message for the named reason.',
    sample: { ...publishColumns, reason: 'no_subscribers' },
    testColumns: { reason: 'no_subscribers, receive_maximum_exceeded or packet_identifier_inuse', ...messageTest },
  },
  'delivery.dropped': {
    otherTopics: ['message/delivery_dropped', 'delivery/dropped'],
    title: 'Delivery dropped',
    description: 'The broker dropped a message for one subscriber for the named reason.',
    sample: { ...deliveryColumns, reason: 'queue_full' },
    testColumns: { reason: 'queue_full, no_local, expired, qos0_msg or too_large', ...deliveryTest },
  },
  'client.connected': {
    otherTopics: ['client/connected'],
    title: 'Client connected',
    description: 'The broker accepted the connection of a client.',
    sample: { ...clientColumns, ...connectionColumns, is_bridge: false, connected_at: sampleTime },
    testColumns: { ...clientTest, peername: 'address and port of the client' },
  },
  'client.disconnected': {
    otherTopics: ['client/disconnected'],
    title: 'Client disconnected',
    description: 'The connection of a client ended for the named reason.',
    sample: {
      ...clientColumns,
      reason: 'normal',
      peername: '192.168.0.10:56431',
      sockname: '0.0.0.0:1883',
      disconnected_at: sampleTime,
      disconn_props: { 'User-Property': { foo: 'bar' } },
    },
    testColumns: {
      ...clientTest,
      reason: 'normal, kicked, keepalive_timeout, not_authorized, tcp_closed, discarded, takenover or internal_error',
    },
  },
  'client.connack': {
    otherTopics: ['client/connack'],
    title: 'CONNACK sent',
    description: 'The broker responded to a CONNECT packet.',
    sample: {
      ...clientColumns,
      ...connectionColumns,
      is_bridge: false,
      connected_at: sampleTime,
      reason_code: 'success',
    },
    testColumns: { ...clientTest, reason_code: 'success, not_authorized, bad_username_or_password and others' },
  },
  'client.check_authz_complete': {
    otherTopics: ['client_check_acl_complete', 'client/check_authz_complete', 'auth/check_authz_complete'],
    title: 'Authorization checked',
    description: 'The broker decided whether a client may publish or subscribe.',
    sample: {
      ...clientColumns,
      peerhost: '192.168.0.10',
      topic: 't/a',
      action: 'publish',
      result: 'allow',
      authz_source: 'file',
    },
    testColumns: {
      ...clientTest,
      topic: 'topic or topic filter',
      action: 'publish or subscribe',
      result: 'allow or deny',
    },
  },
  'client.check_authn_complete': {
    otherTopics: ['client/check_authn_complete', 'auth/check_authn_complete'],
    title: 'Authentication checked',
    description: 'The broker decided whether a client may connect.',
    sample: {
      ...clientColumns,
      peername: '192.168.0.10:56431',
      reason_code: 'success',
      is_superuser: false,
      is_anonymous: false,
    },
    testColumns: { ...clientTest, reason_code: 'success, not_authorized and others' },
  },
  'session.subscribed': {
    otherTopics: ['session_subscribe', 'session/subscribed', 'session/subscribe'],
    title: 'Client subscribed',
    description: 'A client subscribed to a topic filter.',
    sample: {
      ...clientColumns,
      peerhost: '192.168.0.10',
      topic: 't/a',
      qos: 1,
      sub_props: { 'User-Property': { foo: 'bar' } },
    },
    testColumns: { ...clientTest, topic: 'topic filter', qos: 'granted QoS' },
  },
  'session.unsubscribed': {
    otherTopics: ['session_unsubscribe', 'session/unsubscribed', 'session/unsubscribe'],
    title: 'Client unsubscribed',
    description: 'A client removed a subscription.',
    sample: {
      ...clientColumns,
      peerhost: '192.168.0.10',
      topic: 't/a',
      qos: 1,
      unsub_props: { 'User-Property': { foo: 'bar' } },
    },
    testColumns: { ...clientTest, topic: 'topic filter', qos: 'QoS of the subscription' },
  },
  'alarm.activated': {
    topic: '$events/sys/alarm_activated',
    otherTopics: ['alarm_activated', 'alarm/activated'],
    title: 'Alarm activated',
    description: 'An alarm was raised.',
    sample: { name: 'disk', message: 'the disk is full', details: { path: '/data' }, activated_at: sampleTime },
    testColumns: alarmTest,
  },
  'alarm.deactivated': {
    topic: '$events/sys/alarm_deactivated',
    otherTopics: ['alarm_deactivated', 'alarm/deactivated'],
    title: 'Alarm deactivated',
    description: 'An alarm ended.',
    sample: {
      name: 'disk',
      message: 'the disk is full',
      details: { path: '/data' },
      activated_at: sampleTime,
      deactivated_at: sampleTime + 60_000,
    },
    testColumns: alarmTest,
  },
  'bridge.message': {
    topic: '$bridges/mqtt:my_bridge',
    title: 'Message from a bridge',
    description: 'A bridge received a message from its remote broker.',
    sample: {
      id: '0005E27C1D24E44FF440000017520000',
      server: 'broker.example:1883',
      payload: '{"msg":"hello"}',
      topic: 't/a',
      qos: 1,
      dup: false,
      retain: false,
      pub_props: { 'User-Property': { foo: 'bar' } },
      message_received_at: sampleTime,
    },
    testColumns: { topic: 'topic of the message', qos: 'QoS of the message', payload: 'payload of the message' },
  },
}

function defineEvent(name: EventName): EventDefinition {
  const { topic = `$events/${name.replace('.', '_')}`, otherTopics = [], ...definition } = definitions[name]
  return {
    name,
    topic,
    otherTopics: otherTopics.map((other) => `$events/${other}`),
    ...definition,
    sqlExample: `SELECT * FROM "${topic}"`,
  }
}

export const eventDefinitions: ReadonlyMap<EventName, EventDefinition> = new Map(
  (Object.keys(definitions) as EventName[]).map((name) => [name, defineEvent(name)]),
)

/** Returns the names of all columns of an event. */
export function listColumns(event: EventName): string[] {
  return [...Object.keys(commonColumns), 'metadata', ...Object.keys(definitions[event].sample)]
}

/** Returns the sample columns of an event. */
export function getSample(event: EventName): Readonly<Record<string, RuleValue>> {
  return { ...commonColumns, ...definitions[event].sample, event }
}
