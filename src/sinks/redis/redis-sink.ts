// Sends commands to Redis, and to servers that have its protocol.

import type { RedisClientType } from 'redis'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { lookUpAllowedAddresses } from '../../transports/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { formatError } from '../service-responses.ts'
import { parseHostAndPort, findServerProblem, toServiceTls } from '../service-address.ts'
import { toBytes, type NamedValue, type Sink, type SinkType, type ActionEntry, type WriteOutcome } from '../sink.ts'

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
  findConnectorProblem: (connector) => findServerProblem(resolveServerSettings(connector), defaultPort),
  findActionProblem: ({ parameters: { command_template: command } }) => {
    if (command.length === 0)
      return 'parameters.command_template: write a command, such as [SET, "${topic}", "${payload}"]'
    return command.length > maxArguments
      ? `parameters.command_template: there are more than ${maxArguments} arguments`
      : undefined
  },
  createRenderer: ({ parameters: { command_template: command } }, compile) => {
    const templates = command.map((text) => compile(text, 'json-if-shaped'))
    return (data) => {
      const words = templates.map((template) => toBytes(template.render(data)).toString('base64'))
      return { payload: Buffer.from(JSON.stringify(words)), attributes: [] }
    }
  },
  findWriteOrder: () => 'batch',
  open: (connector, _, { requestTimeoutMs }) => new RedisSink(connector, requestTimeoutMs),
}

class RedisSink implements Sink {
  readonly #client: SharedConnection<RedisClientType>

  constructor(connector: RedisConnector, requestTimeoutMs: number) {
    const driver = {
      load: loadRedis,
      open: (attempt: OpeningAttempt) => connect(connector, attempt),
      isUsable: (client: RedisClientType) => client.isReady,
      destroy: (client: RedisClientType) => client.destroy(),
    }
    this.#client = new SharedConnection(driver, { connectTimeoutMs: connector.connect_timeout, requestTimeoutMs })
  }

  /** The commands are sent together; the responses have their order. */
  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return Promise.all(batch.map((entry) => this.#send(entry)))
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#client.use((client) => client.ping())
      return undefined
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    this.#client.close()
  }

  async #send({ payload }: ActionEntry): Promise<WriteOutcome> {
    const words = (JSON.parse(payload.toString()) as string[]).map((word) => Buffer.from(word, 'base64'))
    try {
      await this.#client.use((client) => client.sendCommand(words))
      return done
    } catch (error) {
      const why = formatError(error)
      // An error reply of the server begins with a word in capitals: `WRONGTYPE Operation against ...`.
      const isResponse = error instanceof Error && /^[A-Z][A-Z0-9]* /.test(error.message)
      const isTemporary = temporaryErrors.some((word) => why.startsWith(word))
      return { outcome: isResponse && !isTemporary ? 'refused' : 'retry', why }
    }
  }
}

/** Returns server and credentials. `parameters` override the settings of the connector. */
function resolveServerSettings({ parameters, ...connector }: RedisConnector) {
  return {
    server: parameters.server ?? connector.server,
    username: parameters.username ?? connector.username,
    password: parameters.password ?? connector.password,
    database: parameters.database ?? connector.database,
  }
}

function loadRedis() {
  return loadLibrary('redis', () => import('redis'))
}

async function connect(connector: RedisConnector, attempt: OpeningAttempt): Promise<RedisClientType> {
  const library = await loadRedis()
  const { connect_timeout: connectTimeout, ssl } = connector
  const { server, username, password, database } = resolveServerSettings(connector)
  const place = parseHostAndPort(server ?? '', defaultPort)
  const tls = toServiceTls(ssl)
  const client = library.createClient({
    socket: {
      ...place,
      lookup: lookUpAllowedAddresses,
      connectTimeout,
      // The action queue tries again by itself, and reports meanwhile that the service is not available.
      reconnectStrategy: false,
      ...(tls === undefined ? {} : { tls: true as const, ...tls }),
    },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    disableOfflineQueue: true,
    // The server may not move the connection to an address of its choice. The action queue handles a server that goes away.
    maintNotifications: 'disabled',
  }) as unknown as RedisClientType
  // Pending requests fail with errors of their own.
  client.on('error', () => {})
  // The library limits the time of the TCP connection only, not that of HELLO, AUTH and SELECT.
  attempt.onFailure(() => client.destroy())
  await client.connect()
  return client
}
