// Receives messages of a NATS subject. JetStream redelivers a message until it is acknowledged. The source acknowledges it when
// the results of the rules are stored. Core NATS sends each message once.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import type { NamedValue } from '../sink.ts'
import { checkOnce, type ConnectionDriver } from '../connections/open-service-connection.ts'
import { toServiceName, toUserProperties, type ReceivedMessage, type SourceType } from '../sources/source-type.ts'
import { openNatsReader, type NatsReader, type NatsReceived, type NatsSubscription } from './nats-consumer.ts'
import { loadNats, type NatsSettings } from './nats-library.ts'
import { toNatsSettings, natsSinkType } from './nats-sink.ts'

type NatsSource = NamedValue<SourcesConfig['nats']>
type NatsConnector = NamedValue<ConnectorsConfig['nats']>

const requestTimeoutMs = 10_000
const topic = 'message'

export const natsSourceType: SourceType<NatsSource, NatsConnector, NatsReader> = {
  findConnectorProblem: (connector) => natsSinkType.findConnectorProblem(connector),

  findSourceProblem({ parameters }) {
    const { subject, jetstream, stream, consumer, queue_group: group } = parameters
    if (subject === undefined && !jetstream) return 'parameters.subject: write a subject, such as readings.>'
    if (subject === undefined && stream === undefined)
      return 'parameters.stream: write the name of a stream, or a subject of one'
    if (subject !== undefined && !isSubjectFilter(subject))
      return `parameters.subject: ${JSON.stringify(subject)} is not a subject: parts are separated by dots, * is a part, > the last parts`
    if (!jetstream && (stream !== undefined || consumer !== undefined))
      return 'parameters.jetstream: streams and consumers need jetstream = true'
    if (jetstream && group !== undefined)
      return 'parameters.queue_group: leave it out with JetStream: sources with the same consumer share its messages'
    if ([stream, consumer, group].some((name) => name !== undefined && !/^[^\s.*>/\\]+$/.test(name)))
      return 'parameters: names of streams, consumers and queue groups have no dots, spaces, slashes and wildcards'
    return undefined
  },

  formatServer: ({ server = '' }) => server,

  driver(id, source, connector, callbacks) {
    const settings = toSourceSettings(connector, source, requestTimeoutMs)
    return {
      ...createReaderDriver(settings),
      limits: settings,
      async receive(reader) {
        await reader.receive(toNatsSubscription(id, source), {
          take: (message) => callbacks.take(toReceivedMessage(message)),
          noteDropped: ({ subject }) =>
            callbacks.onDropped(
              `a message of the subject ${subject} arrived while max_pending messages waited for rules`,
            ),
          noteFailed: (error) => callbacks.onFailed(error),
        })
        callbacks.onConnected()
      },
    }
  },

  check(connector, source, timeoutMs) {
    const settings = { ...toSourceSettings(connector, source, timeoutMs), connectTimeoutMs: timeoutMs }
    return checkOnce(createReaderDriver(settings), timeoutMs, (reader) => reader.check(toNatsSubscription('', source)))
  },
}

function createReaderDriver(settings: NatsSettings): ConnectionDriver<NatsReader> {
  return {
    load: () => loadNats(settings),
    open: (attempt) => openNatsReader(settings, attempt),
    destroy: (reader) => reader.close(),
  }
}

function isSubjectFilter(subject: string): boolean {
  return /^(?:[^\s.*>]+|\*)(?:\.(?:[^\s.*>]+|\*))*(?:\.>)?$|^>$/.test(subject)
}

function toSourceSettings(connector: NatsConnector, source: NatsSource | undefined, timeoutMs: number) {
  const usesJetStream = source?.parameters.jetstream ?? false
  return toNatsSettings(connector, { usesJetStream, requestTimeoutMs: timeoutMs })
}

function toNatsSubscription(id: string, source: NatsSource | undefined): NatsSubscription {
  const parameters = source?.parameters
  return {
    subject: parameters?.subject,
    queueGroup: parameters?.queue_group,
    stream: parameters?.stream,
    consumer: parameters?.consumer ?? toServiceName(id).replaceAll(/[\s.*>/\\]/g, '-'),
    fromBeginning: parameters?.deliver_policy === 'all',
    maxPending: parameters?.max_pending ?? 1,
  }
}

function toReceivedMessage({ subject, payload, headers, stored }: NatsReceived): ReceivedMessage {
  const { stream, sequence, deliveries, storedAtMs } = stored ?? {}
  const properties = toUserProperties({ subject, stream, sequence, deliveries, ts: storedAtMs }, headers)
  const name = sequence === undefined ? `a message of the subject ${subject}` : `the message ${sequence} of ${stream}`
  return { topic, payload, properties, name }
}
