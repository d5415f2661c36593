// Sends messages to NATS subjects. With core NATS, a message counts as delivered when the server responds to a ping that was sent
// after it. With JetStream, the stream acknowledges each message when it is stored.

import { randomUUID } from 'node:crypto'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { parseHostAndPort, findServerProblem, toServiceTls } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import {
  toBytes,
  type NamedValue,
  type Sink,
  type SinkType,
  type ActionEntry,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import { loadNats, type NatsSettings } from './nats-library.ts'
import { openNats, type NatsMessage, type NatsPublisher } from './nats-publisher.ts'

type NatsConnector = NamedValue<ConnectorsConfig['nats']>
type NatsAction = NamedValue<ActionsConfig['nats']>

const defaultPort = 4_222
const subjectAttribute = 'subject'
const idAttribute = 'id'

export const natsSinkType: SinkType<NatsAction, NatsConnector> = {
  findConnectorProblem(connector) {
    for (const server of parseServers(connector)) {
      const problem = findServerProblem({ server }, defaultPort)
      if (problem !== undefined) return problem
    }
    if (connector.token !== undefined && connector.username !== undefined)
      return 'token: write a token, or a username and a password, not both'
    return connector.server === undefined ? findServerProblem(connector, defaultPort) : undefined
  },

  findActionProblem: ({ parameters: { subject } }) =>
    subject === '' ? 'parameters.subject: write a subject, such as readings.${clientid}' : undefined,

  createRenderer({ parameters }, compile, allColumns) {
    const subject = compile(parameters.subject, 'word')
    const payload = parameters.payload === undefined ? undefined : compile(parameters.payload, 'json-if-shaped')
    return (data) => ({
      payload: toBytes(payload === undefined ? allColumns(data) : payload.render(data)),
      attributes: [
        [subjectAttribute, requireSubject(requireAttributeText(subject.render(data), 'the subject'))],
        [idAttribute, randomUUID()],
      ],
    })
  },

  findWriteOrder: () => 'batch',
  open: (connector, { parameters }, { requestTimeoutMs }) =>
    new NatsSink(toNatsSettings(connector, { usesJetStream: parameters.jetstream, requestTimeoutMs })),
}

/** Builds the message of one result. Exported for tests. */
export function requireSubject(subject: string): string {
  const isSubject = /^[^\s.*>]+(?:\.[^\s.*>]+)*$/.test(subject)
  if (!isSubject) throw new TypeError(`the subject ${JSON.stringify(subject)} has an empty part, a space or a wildcard`)
  return subject
}

/** Addresses of the servers of a cluster. */
export function parseServers({ server = '' }: NatsConnector): readonly string[] {
  return server === '' ? [] : server.split(',').map((one) => one.trim())
}

/** Connection settings of the connector. */
export function toNatsSettings(
  connector: NatsConnector,
  { usesJetStream, requestTimeoutMs }: Pick<NatsSettings, 'usesJetStream' | 'requestTimeoutMs'>,
): NatsSettings {
  const { username, password, token, ssl, connect_timeout: connectTimeoutMs } = connector
  return {
    servers: parseServers(connector).map((server) => parseHostAndPort(server, defaultPort)),
    username,
    password,
    token,
    tls: toServiceTls(ssl),
    connectTimeoutMs,
    requestTimeoutMs,
    usesJetStream,
  }
}

class NatsSink implements Sink {
  readonly #publisher: SharedConnection<NatsPublisher>

  constructor(settings: NatsSettings) {
    const driver = {
      load: () => loadNats(settings),
      open: (attempt: OpeningAttempt) => openNats(settings, attempt),
      isUsable: ({ isOpen }: NatsPublisher) => isOpen,
      destroy: (publisher: NatsPublisher, why: Error) => publisher.close(why),
    }
    this.#publisher = new SharedConnection(driver, settings)
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    try {
      return await this.#publisher.use((publisher) => publisher.publish(batch.map(toMessage)))
    } catch (error) {
      return batch.map(() => ({ outcome: 'retry', why: formatError(error) }))
    }
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
}

function toMessage({ payload, attributes }: ActionEntry): NatsMessage {
  const values = new Map(attributes)
  return { subject: values.get(subjectAttribute) ?? '', id: values.get(idAttribute) ?? '', payload }
}
