// Sends messages to an exchange of RabbitMQ, with publisher confirms. One batch is in progress at a time. If the server closes the channel
// because of a message, the batch is divided into halves repeatedly until that message is found.

import { randomUUID } from 'node:crypto'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { MergedWrites } from '../merged-writes.ts'
import { parseHostAndPort, findServerProblem, toServiceTls } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import {
  toBytes,
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import { writeByHalves } from '../write-by-halves.ts'
import {
  loadRabbitmq,
  openRabbitmq,
  type RabbitmqMessage,
  type RabbitmqPublisher,
  type RabbitmqSettings,
  type RabbitmqTarget,
} from './rabbitmq-library.ts'
import { toRabbitmqOptions, findPropertiesProblem, createPropertiesRenderer } from './rabbitmq-properties.ts'

type RabbitmqConnector = NamedValue<ConnectorsConfig['rabbitmq']>
type RabbitmqAction = NamedValue<ActionsConfig['rabbitmq']>

const defaultPort = 5_672
const defaultTlsPort = 5_671
const keyAttribute = 'routing_key'
const idAttribute = 'id'
/** Maximum bytes of a routing key in AMQP 0-9-1. */
const maxKeyBytes = 255
const maxMessagesPerWrite = 1_000

export const rabbitmqSinkType: SinkType<RabbitmqAction, RabbitmqConnector> = {
  findConnectorProblem: (connector) => findServerProblem({ server: resolveServer(connector) }, defaultPort),

  findActionProblem: ({ parameters }) =>
    parameters.exchange === '' && parameters.routing_key === ''
      ? 'parameters.routing_key: write a routing key; with the default exchange (empty) it is the name of a queue'
      : findPropertiesProblem(parameters),

  createRenderer({ parameters }, compile, allColumns) {
    const key = compile(parameters.routing_key, 'word')
    const payload =
      parameters.payload_template === undefined ? undefined : compile(parameters.payload_template, 'json-if-shaped')
    const properties = createPropertiesRenderer(parameters, compile)
    return (data) => ({
      payload: toBytes(payload === undefined ? allColumns(data) : payload.render(data)),
      attributes: [
        [keyAttribute, requireRoutingKey(requireAttributeText(key.render(data), 'the routing key'))],
        [idAttribute, randomUUID()],
        ...properties(data),
      ],
    })
  },

  findWriteOrder: () => 'calls',
  open: (connector, { parameters }, context) => {
    const target = { exchange: parameters.exchange, isPersistent: parameters.delivery_mode === 'persistent' }
    return new RabbitmqSink(toRabbitmqSettings(connector, context), target)
  },
}

function requireRoutingKey(key: string): string {
  if (Buffer.byteLength(key) > maxKeyBytes) throw new TypeError(`the routing key is longer than ${maxKeyBytes} bytes`)
  return key
}

/** Returns the address with its port. EMQX has the port in the setting `port`. */
export function resolveServer({ server, port, ssl }: RabbitmqConnector): string | undefined {
  if (server === undefined || /:\d+$/.test(server)) return server
  return `${server}:${port ?? (ssl.enable ? defaultTlsPort : defaultPort)}`
}

/** Returns the settings of the connection to the server. */
export function toRabbitmqSettings(
  connector: RabbitmqConnector,
  { requestTimeoutMs }: Pick<SinkContext, 'requestTimeoutMs'>,
): RabbitmqSettings {
  return {
    ...parseHostAndPort(resolveServer(connector) ?? '', defaultPort),
    username: connector.username ?? 'guest',
    password: connector.password ?? 'guest',
    virtualHost: connector.virtual_host,
    heartbeatSeconds: Math.ceil(connector.heartbeat / 1_000),
    tls: toServiceTls(connector.ssl),
    connectTimeoutMs: connector.connect_timeout,
    requestTimeoutMs,
  }
}

class RabbitmqSink implements Sink {
  readonly #publisher: SharedConnection<RabbitmqPublisher>
  readonly #writes = new MergedWrites(maxMessagesPerWrite, (entries) => this.#write(entries))

  constructor(settings: RabbitmqSettings, target: RabbitmqTarget) {
    const driver = {
      load: loadRabbitmq,
      open: (attempt: OpeningAttempt) => openRabbitmq(settings, target, attempt),
      isUsable: ({ isOpen }: RabbitmqPublisher) => isOpen,
      destroy: (publisher: RabbitmqPublisher, why: Error) => publisher.close(why),
    }
    this.#publisher = new SharedConnection(driver, settings)
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return this.#writes.write(batch)
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#publisher.use((publisher) => publisher.check())
      return undefined
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    this.#publisher.close()
  }

  #write(entries: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return writeByHalves(entries.map(toMessage), async (messages) => {
      try {
        return await this.#publisher.use((publisher) => publisher.publish(messages))
      } catch (error) {
        return { outcome: 'retry', why: formatError(error) }
      }
    })
  }
}

function toMessage({ payload, attributes }: ActionEntry): RabbitmqMessage {
  const attributesByName = new Map(attributes)
  return {
    routingKey: attributesByName.get(keyAttribute) ?? '',
    id: attributesByName.get(idAttribute) ?? '',
    payload,
    options: toRabbitmqOptions(attributes),
  }
}
