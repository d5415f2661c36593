// Publishes messages to NATS subjects or JetStream streams.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { formatError } from '../service-responses.ts'
import type { WriteOutcome } from '../sink.ts'
import {
  connectNats,
  type JetStreamClient,
  readNatsErrorName,
  type NatsConnection,
  type NatsSettings,
} from './nats-library.ts'

export interface NatsMessage {
  readonly subject: string
  readonly payload: Buffer
  /** Identifies the message, so that a stream discards duplicates (header Nats-Msg-Id). */
  readonly id: string
}

export interface NatsPublisher {
  readonly isOpen: boolean
  /** Returns one outcome per message. Never rejects. */
  publish(messages: readonly NatsMessage[]): Promise<readonly WriteOutcome[]>
  /** Rejects if the server does not respond, or does not have JetStream. */
  check(): Promise<void>
  /** Closes the connection. Unfinished calls fail with `why`. */
  close(why?: Error): void
}

const done: WriteOutcome = { outcome: 'done' }

/** JetStream status codes from this one on mean that the server cannot store messages at the moment. */
const firstPassingStatus = 500

export async function openNats(settings: NatsSettings, attempt: OpeningAttempt): Promise<NatsPublisher> {
  const { connection, streams } = await connectNats(settings, attempt)
  const client = streams?.jetstream(connection, { timeout: settings.requestTimeoutMs })
  const check = async (): Promise<void> => {
    await connection.flush()
    await streams?.jetstreamManager(connection, { checkAPI: true, timeout: settings.requestTimeoutMs })
  }
  return new Publisher({ connection, client, check })
}

interface PublisherParts {
  readonly connection: NatsConnection
  readonly client: JetStreamClient | undefined
  readonly check: () => Promise<void>
}

class Publisher implements NatsPublisher {
  readonly check: () => Promise<void>
  readonly #connection: NatsConnection
  readonly #client: JetStreamClient | undefined
  /** Error messages of subjects to which publishing was refused since the last publish call. */
  readonly #denied = new Map<string, string>()
  #closedBecause: Error | undefined
  #isClosed = false

  constructor({ connection, client, check }: PublisherParts) {
    this.check = check
    this.#connection = connection
    this.#client = client
    void this.#watch()
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#connection.isClosed()
  }

  async publish(messages: readonly NatsMessage[]): Promise<readonly WriteOutcome[]> {
    const client = this.#client
    if (client !== undefined) return await Promise.all(messages.map((message) => this.#store(client, message)))
    const outcomes = messages.map((message) => this.#publish(message))
    try {
      // The server processes all earlier messages before it responds to this ping.
      await this.#connection.flush()
      // What it refused was reported before, but `#watch` gets it later in this turn.
      await nextTurn()
    } catch (error) {
      this.close()
      return messages.map(() => ({ outcome: 'retry', why: formatError(error) }))
    }
    return outcomes.map((outcome, index) => {
      const why = this.#denied.get(messages[index].subject)
      return why === undefined ? outcome : { outcome: 'refused', why }
    })
  }

  close(why?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closedBecause = why
    // Messages that were not sent have no outcome at the server: the action queue sends them again.
    this.#connection.close().catch(() => {})
  }

  #publish({ subject, payload }: NatsMessage): WriteOutcome {
    this.#denied.delete(subject)
    try {
      this.#connection.publish(subject, payload)
      return done
    } catch (error) {
      return toErrorOutcome(error)
    }
  }

  async #store(client: JetStreamClient, { subject, payload, id }: NatsMessage): Promise<WriteOutcome> {
    try {
      await client.publish(subject, payload, { msgID: id })
      return done
    } catch (error) {
      if (this.#closedBecause !== undefined) return { outcome: 'retry', why: formatError(this.#closedBecause) }
      const outcome = toErrorOutcome(error)
      if (readNatsErrorName(error) === 'JetStreamNotEnabled')
        return { outcome: 'retry', why: `no stream has the subject ${subject}, or JetStream is not enabled` }
      if (readNatsErrorName(error) === 'TimeoutError') this.close()
      return outcome
    }
  }

  /** The server reports a refused publish later, without naming the message. */
  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error' || readNatsErrorName(status.error) !== 'PermissionViolationError') continue
      const { operation, subject } = status.error as Error & { readonly operation: string; readonly subject: string }
      if (operation === 'publish') this.#denied.set(subject, `not allowed to publish to the subject ${subject}`)
    }
  }
}

function toErrorOutcome(error: unknown): WriteOutcome {
  const why = formatError(error)
  const name = readNatsErrorName(error)
  if (name === 'InvalidArgumentError' || name === 'InvalidSubjectError' || name === 'PermissionViolationError')
    return { outcome: 'refused', why }
  // The stream refuses this message; with a 5xx code it cannot store any message at the moment.
  if (name === 'JetStreamApiError' || name === 'StreamNotFoundError') {
    const { status } = error as Error & { readonly status: number }
    return status < firstPassingStatus ? { outcome: 'refused', why } : { outcome: 'retry', why }
  }
  return { outcome: 'retry', why }
}
