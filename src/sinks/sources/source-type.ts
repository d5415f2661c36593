// What a source is, seen from a shard: a connection that brings messages, and takes note of what became of each.

import type { UserProperties } from '../../protocol/index.ts'

/** A message of a service. */
export interface ReceivedMessage {
  /** Last part of the topic under which rules of this broker get it. */
  readonly topic: string
  readonly payload: Buffer
  /** Values of the service in addition to the payload, which are columns in rules. */
  readonly properties: UserProperties
  /** For error messages, such as `the record 7 of partition 0`. */
  readonly name: string
}

export interface SourceCallbacks {
  /**
   * Resolves when what rules make of the message is stored; then the service is told. False: this broker can never take it.
   * Rejects: the message is to come again.
   */
  take(message: ReceivedMessage): Promise<boolean>
  /** Counts a message that is not taken. */
  noteDropped(why: string): void
  noteConnected(): void
  /** The connection brings no more messages. */
  noteFailed(error: unknown): void
}

export interface SourceConnection {
  /** Closes the connection. Messages that were not processed are received again, if the service stores them. */
  close(): Promise<void>
}

/** One kind of service that sources receive from. `Source` and `Connector`: their settings. */
export interface SourceType<Source, Connector> {
  /** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
  problemOfConnector(connector: Connector): string | undefined
  problemOfSource(source: Source): string | undefined
  /** For the column `server`. */
  serverOf(connector: Connector): string
  /** `id`: `type:name`. Rejects if the service does not respond. */
  open(id: string, source: Source, connector: Connector, callbacks: SourceCallbacks): Promise<SourceConnection>
  /** Why the service, or what the source reads from it, is not there; undefined: it is. Receives nothing. Never rejects. */
  check(connector: Connector, source: Source | undefined, timeoutMs: number): Promise<string | undefined>
}

/** User properties for what a service says of a message. Names of headers have the prefix `header`. */
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

/** Without those that are undefined. */
export function propertiesOf(
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
export function nameAtService(id: string): string {
  return `godwit-${id.slice(id.indexOf(':') + 1)}`
}
