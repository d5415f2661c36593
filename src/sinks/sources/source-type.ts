// The interface of a source: a connection that delivers messages of a service and reports their results to the service.

import type { UserProperties } from '../../protocol/index.ts'
import type { ConnectionDriver, ConnectionLimits } from '../connections/open-service-connection.ts'

/** A message of a service. */
export interface ReceivedMessage {
  /** Last part of the topic under which rules receive the message. */
  readonly topic: string
  readonly payload: Buffer
  /** Values of the service in addition to the payload, which are columns in rules. */
  readonly properties: UserProperties
  /** For error messages, such as `the record 7 of partition 0`. */
  readonly name: string
}

export interface SourceCallbacks {
  /**
   * Resolves when the results of rules are stored; then the message is acknowledged. False: this broker can never accept the message.
   * Rejects: the service must deliver the message again.
   */
  take(message: ReceivedMessage): Promise<boolean>
  /** Counts a message that is dropped. */
  onDropped(why: string): void
  onConnected(): void
  /** The connection has ended. Calls after the first one have no effect. */
  onFailed(error: unknown): void
}

export interface SourceConnection {
  /** Closes the connection. Messages that were not processed are received again, if the service stores them. */
  close(): void
}

/** What a source knows about its connection. */
export interface SourceDriver<Client> extends ConnectionDriver<Client> {
  /** `requestTimeoutMs`: for `receive`. */
  readonly limits: ConnectionLimits
  /** Begins to receive messages. Rejects if the service does not send them. */
  receive(client: Client): Promise<unknown>
}

/** One kind of service that sources receive from. `Source` and `Connector`: their settings. */
export interface SourceType<Source, Connector, Client> {
  /** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
  findConnectorProblem(connector: Connector): string | undefined
  findSourceProblem(source: Source): string | undefined
  /** For the column `server`. */
  formatServer(connector: Connector): string
  /** `id`: `type:name`. `onConnected` is called by `receive`. */
  driver(id: string, source: Source, connector: Connector, callbacks: SourceCallbacks): SourceDriver<Client>
  /** Returns why the service, or the topic or queue of the source, is not available; undefined: it is. Receives no messages. Never rejects. */
  check(connector: Connector, source: Source | undefined, timeoutMs: number): Promise<string | undefined>
}

/** User properties with the metadata of a message. Names of headers have the prefix `header`. */
export const sourceProperties = {
  key: 'key',
  keyBytes: 'key64',
  partition: 'partition',
  offset: 'offset',
  timestamp: 'ts',
  header: 'header ',
} as const

/** A text that is valid in MQTT. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, '\u{FFFD}')
}

/** Omits undefined values. */
export function toUserProperties(
  columns: Readonly<Record<string, string | number | boolean | undefined>>,
  headers: readonly (readonly [name: string, text: string])[],
): UserProperties {
  return [
    ...Object.entries(columns).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, cleanText(String(value))] as const],
    ),
    ...headers.map(([name, text]) => [sourceProperties.header + cleanText(name), cleanText(text)] as const),
  ]
}

/** The last part of the ID of a source, for a name at the service. */
export function toServiceName(id: string): string {
  return `godwit-${id.slice(id.indexOf(':') + 1)}`
}
