// The libraries for NATS behind an interface of two functions. A connection that fails is not used again: the spool opens another.

import { lookup } from 'node:dns/promises'
import type { JetStreamClient } from '@nats-io/jetstream'
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
import { isForbiddenAddress } from '../../transports/index.ts'
import { loadLibrary } from '../optional-library.ts'
import { messageOf, withTimeout } from '../service-answers.ts'
import type { WriteOutcome } from '../sink.ts'

export interface NatsSettings {
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  readonly username: string | undefined
  readonly password: string | undefined
  readonly token: string | undefined
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Messages are stored in streams, which confirm each. */
  readonly usesJetStream: boolean
}

export interface NatsMessage {
  readonly subject: string
  readonly payload: Buffer
  /** A stream recognises by it what it has already. */
  readonly id: string
}

export interface NatsPublisher {
  readonly isOpen: boolean
  /** One outcome for each message. Never rejects. */
  publish(messages: readonly NatsMessage[]): Promise<readonly WriteOutcome[]>
  /** Rejects where the server does not answer, or has no JetStream. */
  check(): Promise<void>
  /** What is under way fails. */
  close(): void
}

const done: WriteOutcome = { outcome: 'done' }

/** Statuses of JetStream: from here on the server is not able to store now. */
const firstPassingStatus = 500

export async function openNats(settings: NatsSettings): Promise<NatsPublisher> {
  const { connect } = await loadLibrary('@nats-io/transport-node', () => import('@nats-io/transport-node'))
  const streams = settings.usesJetStream
    ? await loadLibrary('@nats-io/jetstream', () => import('@nats-io/jetstream'))
    : undefined
  await refuseForbidden(settings)
  const connection = await connect(optionsOf(settings))
  const client = streams?.jetstream(connection, { timeout: settings.requestTimeoutMs })
  const check = async (): Promise<void> => {
    await withTimeout(connection.flush(), settings.requestTimeoutMs)
    await streams?.jetstreamManager(connection, { checkAPI: true, timeout: settings.requestTimeoutMs })
  }
  return new Publisher({ connection, client, check, requestTimeoutMs: settings.requestTimeoutMs })
}

/** The library looks names up by itself. */
async function refuseForbidden({ servers }: NatsSettings): Promise<void> {
  for (const { host } of servers) {
    const addresses = await lookup(host, { all: true })
    if (addresses.some(({ address }) => isForbiddenAddress(address)))
      throw new Error(`${host} has an address that is denied by node.denied_addresses`)
  }
}

function optionsOf(settings: NatsSettings): ConnectionOptions {
  const { servers, username, password, token, tls, connectTimeoutMs } = settings
  return {
    name: 'godwit',
    servers: servers.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: connectTimeoutMs,
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    // Null: without TLS. Undefined would let the server decide.
    tls: tls ?? null,
  }
}

interface PublisherParts {
  readonly connection: NatsConnection
  readonly client: JetStreamClient | undefined
  readonly check: () => Promise<void>
  readonly requestTimeoutMs: number
}

class Publisher implements NatsPublisher {
  readonly check: () => Promise<void>
  readonly #connection: NatsConnection
  readonly #client: JetStreamClient | undefined
  readonly #requestTimeoutMs: number
  /** Subjects that the server does not let us publish to, since they were published to last. */
  readonly #denied = new Map<string, string>()
  #isClosed = false

  constructor({ connection, client, check, requestTimeoutMs }: PublisherParts) {
    this.check = check
    this.#connection = connection
    this.#client = client
    this.#requestTimeoutMs = requestTimeoutMs
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
      // The server has read everything before it answers.
      await withTimeout(this.#connection.flush(), this.#requestTimeoutMs)
    } catch (error) {
      this.close()
      return messages.map(() => ({ outcome: 'retry', why: messageOf(error) }))
    }
    return outcomes.map((outcome, index) => {
      const why = this.#denied.get(messages[index].subject)
      return why === undefined ? outcome : { outcome: 'refused', why }
    })
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // What has not left has no receiver: the spool sends it again.
    this.#connection.close().catch(() => {})
  }

  #publish({ subject, payload }: NatsMessage): WriteOutcome {
    this.#denied.delete(subject)
    try {
      this.#connection.publish(subject, payload)
      return done
    } catch (error) {
      return outcomeOfError(error)
    }
  }

  async #store(client: JetStreamClient, { subject, payload, id }: NatsMessage): Promise<WriteOutcome> {
    try {
      await withTimeout(client.publish(subject, payload, { msgID: id }), this.#requestTimeoutMs)
      return done
    } catch (error) {
      const outcome = outcomeOfError(error)
      if (nameOf(error) === 'JetStreamNotEnabled')
        return { outcome: 'retry', why: `no stream takes the subject ${subject}, or JetStream is not enabled` }
      if (nameOf(error) === 'TimeoutError') this.close()
      return outcome
    }
  }

  /** The server says later, and of no message, that it did not take one. */
  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error' || nameOf(status.error) !== 'PermissionViolationError') continue
      const { operation, subject } = status.error as Error & { readonly operation: string; readonly subject: string }
      if (operation === 'publish') this.#denied.set(subject, `not allowed to publish to the subject ${subject}`)
    }
  }
}

/** Errors are told apart by their names, so that nothing of the library is needed before it is loaded. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

function outcomeOfError(error: unknown): WriteOutcome {
  const why = messageOf(error)
  const name = nameOf(error)
  if (name === 'InvalidArgumentError' || name === 'InvalidSubjectError' || name === 'PermissionViolationError')
    return { outcome: 'refused', why }
  // A stream that does not take the message; with 5xx it cannot take any now.
  if (name === 'JetStreamApiError' || name === 'StreamNotFoundError') {
    const { status } = error as Error & { readonly status: number }
    return status < firstPassingStatus ? { outcome: 'refused', why } : { outcome: 'retry', why }
  }
  return { outcome: 'retry', why }
}
