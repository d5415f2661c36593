// connectors.rabbitmq, actions.rabbitmq, sources.rabbitmq: messages for exchanges of RabbitMQ, and of its queues.

import { listOf, record } from '../../schema/collections.ts'
import { duration } from '../../schema/quantities.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice, integer, optional } from '../../schema/setting-type.ts'
import {
  actionSettings,
  anyText,
  maybeText,
  listNamedSinks,
  ofEmqx,
  createResourceOptions,
  serverSettings,
  sourceSettings,
  template,
} from './sink-parts.ts'

const maxPairs = 64
const pair = record('a pair', { key: template, value: template }, ['key', 'value'])
const maxHeartbeatMs = 3_600_000

const rabbitmqConnector = section('A connection to a RabbitMQ server.', {
  ...serverSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the server, such as 127.0.0.1 or 127.0.0.1:5672.',
    isRequired: true,
  }),
  port: setting(optional(integer({ min: 1, max: 65_535 }), 'none'), undefined, {
    description: 'Port of the server, if `server` contains no port.',
    defaultWords: '5672, with TLS 5671',
  }),
  username: setting(maybeText, undefined, { description: 'User name for RabbitMQ.', defaultWords: 'guest' }),
  password: setting(maybeText, undefined, {
    description: 'Password for RabbitMQ.',
    defaultWords: 'guest',
    isSecret: true,
  }),
  virtual_host: setting(anyText, '/', { description: 'Virtual host of RabbitMQ that has the exchanges and queues.' }),
  heartbeat: setting(duration({ minMs: 0, maxMs: maxHeartbeatMs }), 30_000, {
    description:
      'Heartbeat interval. A connection on which nothing is received for twice this time is closed. 0: no heartbeats.',
  }),
  pool_size: ofEmqx,
  timeout: ofEmqx,
  auto_reconnect: ofEmqx,
})

const rabbitmqAction = section('An action that publishes a message to RabbitMQ for each result.', {
  ...actionSettings,
  parameters: section('The RabbitMQ message.', {
    exchange: setting(anyText, '', {
      description:
        'Exchange that messages are published to. Empty: the default exchange, where the routing key is the name of a queue.',
    }),
    routing_key: setting(template, '', {
      description: 'Routing key of the messages, a template such as readings.${clientid}.',
    }),
    delivery_mode: setting(choice(['persistent', 'non_persistent']), 'persistent', {
      description:
        'persistent: RabbitMQ stores the message on disk if the queue is durable. non_persistent: it does not.',
    }),
    payload_template: setting(optional(template, 'none'), undefined, {
      description: 'Template of the payload.',
      defaultWords: 'all columns as JSON',
    }),
    headers_template: setting(listOf(pair, maxPairs), [], {
      description: 'Headers of the messages: a list of {key, value}. Both are templates.',
    }),
    properties_template: setting(listOf(pair, maxPairs), [], {
      description:
        'Properties of the messages: a list of {key, value}. The key is app_id, content_encoding, content_type, correlation_id, expiration, priority, reply_to, timestamp, type or user_id; the value is a template.',
    }),
    wait_for_publish_confirmations: ofEmqx,
    publish_confirmation_timeout: ofEmqx,
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 200 }),
})

const rabbitmqSource = section(
  'A source that receives the messages of one RabbitMQ queue. Rules name it $bridges/rabbitmq:NAME.',
  {
    ...sourceSettings,
    parameters: section('The queue that is read.', {
      queue: setting(maybeText, undefined, {
        description: 'Queue that messages are received from. It must exist.',
        isRequired: true,
      }),
      prefetch: setting(integer({ min: 1, max: 1_000 }), 100, {
        description: 'Maximum number of messages that RabbitMQ sends before the first of them is acknowledged.',
      }),
      no_ack: ofEmqx,
      wait_for_publish_confirmations: ofEmqx,
    }),
  },
)

export const rabbitmqConnectors = listNamedSinks('Connections to RabbitMQ servers.', rabbitmqConnector)
export const rabbitmqActions = listNamedSinks('Actions that publish messages to RabbitMQ.', rabbitmqAction)
export const rabbitmqSources = listNamedSinks('Sources that receive messages from RabbitMQ.', rabbitmqSource)
