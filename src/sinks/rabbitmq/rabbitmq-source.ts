// The source for RabbitMQ: it reads a queue and acknowledges each message when the results of rules are stored.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import type { NamedValue } from '../sink.ts'
import { checkOnce, type ConnectionDriver } from '../connections/open-service-connection.ts'
import { toUserProperties, type SourceType } from '../sources/source-type.ts'
import {
  loadRabbitmq,
  openQueueReader,
  type QueueMessage,
  type QueueReader,
  type RabbitmqSettings,
} from './rabbitmq-library.ts'
import { rabbitmqSinkType, resolveServer, toRabbitmqSettings } from './rabbitmq-sink.ts'

type RabbitmqSource = NamedValue<SourcesConfig['rabbitmq']>
type RabbitmqConnector = NamedValue<ConnectorsConfig['rabbitmq']>

/** Timeout for the response to the request to read the queue. */
const requestTimeoutMs = 10_000
/** Maximum bytes of a queue name in AMQP 0-9-1. */
const maxNameBytes = 255
const topic = 'message'

export const rabbitmqSourceType: SourceType<RabbitmqSource, RabbitmqConnector, QueueReader> = {
  findConnectorProblem: (connector) => rabbitmqSinkType.findConnectorProblem(connector),

  findSourceProblem({ parameters: { queue = '' } }) {
    if (queue === '') return 'parameters.queue: write the name of a queue'
    if (Buffer.byteLength(queue) > maxNameBytes)
      return `parameters.queue: the name is longer than ${maxNameBytes} bytes`
    return undefined
  },

  formatServer: (connector) => resolveServer(connector) ?? '',

  driver(_id, { parameters }, connector, callbacks) {
    const queue = parameters.queue ?? ''
    const settings = toRabbitmqSettings(connector, { requestTimeoutMs })
    return {
      ...createReaderDriver(settings),
      limits: settings,
      async receive(reader) {
        await reader.receive(
          { queue, prefetch: parameters.prefetch },
          {
            take: (message) => callbacks.take({ topic, ...toReceivedMessage(message, queue) }),
            onFailed: (error) => callbacks.onFailed(error),
          },
        )
        callbacks.onConnected()
      },
    }
  },

  check(connector, source, timeoutMs) {
    const settings = { ...toRabbitmqSettings(connector, { requestTimeoutMs: timeoutMs }), connectTimeoutMs: timeoutMs }
    const queue = source?.parameters.queue
    return checkOnce(createReaderDriver(settings), timeoutMs, async (reader) => {
      if (queue !== undefined) await reader.check(queue)
    })
  },
}

function createReaderDriver(settings: RabbitmqSettings): ConnectionDriver<QueueReader> {
  return {
    load: loadRabbitmq,
    open: (attempt) => openQueueReader(settings, attempt),
    destroy: (reader) => reader.close(),
  }
}

function toReceivedMessage({ payload, fields, columns, headers }: QueueMessage, queue: string) {
  const { exchange, routingKey, redelivered } = fields
  const ownFields = { queue, exchange, routing_key: routingKey, redelivered, ...columns }
  const name = `the message of the exchange ${JSON.stringify(exchange)} with the routing key ${JSON.stringify(routingKey)}`
  return { payload, properties: toUserProperties(ownFields, headers), name }
}
