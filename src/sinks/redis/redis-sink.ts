// Sends commands to Redis, and to servers that have its protocol.

import type { RedisClientType } from 'redis'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { safeLookup } from '../../transports/index.ts'
import { LazyConnection } from '../lazy-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { messageOf, withTimeout } from '../service-responses.ts'
import { hostAndPort, problemOfServer, tlsOf } from '../service-address.ts'
import { bytesOfText, type NamedValue, type Sink, type SinkType, type ActionEntry, type WriteOutcome } from '../sink.ts'

export type RedisConnector = NamedValue<ConnectorsConfig['redis']>
export type RedisAction = NamedValue<ActionsConfig['redis']>

const defaultPort = 6_379
const maxArguments = 1_024
/** Errors about the state of the server, not about the command: the command is sent again. */
const temporaryErrors = [
  'LOADING',
  'READONLY',
  'OOM',
  'BUSY',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'NOAUTH',
  'NOPERM',
  'TRYAGAIN',
]

const done: WriteOutcome = { outcome: 'done' }

export const redisSinkType: SinkType<RedisAction, RedisConnector> = {
  problemOfConnector: (connector) => problemOfServer(placeOf(connector), defaultPort),
  problemOfAction: ({ parameters: { command_template: command } }) => {
    if (command.length === 0)
      return 'parameters.command_template: write a command, such as [SET, "${topic}", "${payload}"]'
    return command.length > maxArguments
      ? `parameters.command_template: there are more than ${maxArguments} arguments`
      : undefined
  },
  renderer: ({ parameters: { command_template: command } }, compile) => {
    const templates = command.map((text) => compile(text, 'json-if-shaped'))
    return (data) => {
      const words = templates.map((template) => bytesOfText(template.render(data)).toString('base64'))
      return { payload: Buffer.from(JSON.stringify(words)), attributes: [] }
    }
  },
  keepsOrderOf: () => 'batch',
  open: (connector, _, { requestTimeoutMs }) => new RedisSink(connector, requestTimeoutMs),
}

class RedisSink implements Sink {
  readonly #requestTimeoutMs: number
  readonly #client: LazyConnection<RedisClientType>

  constructor(connector: RedisConnector, requestTimeoutMs: number) {
    this.#requestTimeoutMs = requestTimeoutMs
    this.#client = new LazyConnection(
      () => connect(connector),
      (client) => client.destroy(),
    )
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    let client: RedisClientType
    try {
      client = await this.#open()
    } catch (error) {
      return batch.map(() => ({ outcome: 'retry', why: messageOf(error) }))
    }
    // The commands are sent together; the responses have their order.
    return await Promise.all(batch.map((entry) => this.#send(client, entry)))
  }

  async check(): Promise<string | undefined> {
    try {
      const client = await this.#open()
      await withTimeout(client.ping(), this.#requestTimeoutMs)
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  }

  close(): void {
    this.#client.close()
  }

  async #send(client: RedisClientType, { payload }: ActionEntry): Promise<WriteOutcome> {
    const words = (JSON.parse(payload.toString()) as string[]).map((word) => Buffer.from(word, 'base64'))
    try {
      await withTimeout(client.sendCommand(words), this.#requestTimeoutMs)
      return done
    } catch (error) {
      const why = messageOf(error)
      // An error reply of the server begins with a word in capitals: `WRONGTYPE Operation against ...`.
      const isResponse = error instanceof Error && /^[A-Z][A-Z0-9]* /.test(error.message)
      const isTemporary = temporaryErrors.some((word) => why.startsWith(word))
      return { outcome: isResponse && !isTemporary ? 'refused' : 'retry', why }
    }
  }

  /** Opens a connection if none is open. The library does not reconnect by itself: see `reconnectStrategy`. */
  #open(): Promise<RedisClientType> {
    return this.#client.get((client) => client.isReady)
  }
}

/** Returns server and credentials. `parameters` override the settings of the connector. */
function placeOf({ parameters, ...connector }: RedisConnector) {
  return {
    server: parameters.server ?? connector.server,
    username: parameters.username ?? connector.username,
    password: parameters.password ?? connector.password,
    database: parameters.database ?? connector.database,
  }
}

async function connect(connector: RedisConnector): Promise<RedisClientType> {
  const library = await loadLibrary('redis', () => import('redis'))
  const { connect_timeout: connectTimeout, ssl } = connector
  const { server, username, password, database } = placeOf(connector)
  const place = hostAndPort(server ?? '', defaultPort)
  const tls = tlsOf(ssl)
  const client = library.createClient({
    socket: {
      ...place,
      lookup: safeLookup,
      connectTimeout,
      // The action queue tries again by itself, and reports meanwhile that the service is not available.
      reconnectStrategy: false,
      ...(tls === undefined ? {} : { tls: true as const, ...tls }),
    },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    disableOfflineQueue: true,
  }) as unknown as RedisClientType
  // Pending requests fail with errors of their own.
  client.on('error', () => {})
  await client.connect()
  return client
}
