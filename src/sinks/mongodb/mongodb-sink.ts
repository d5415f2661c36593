// The sink for MongoDB. Each document has an `_id` that is stored with the entry, so that MongoDB detects a document that is sent again.

import { randomBytes } from 'node:crypto'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { findServerProblem, toServiceTls } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import {
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import {
  loadMongodb,
  type MongodbDatabase,
  type MongodbSettings,
  type NewDocument,
  openMongodb,
} from './mongodb-library.ts'

type MongodbConnector = NamedValue<ConnectorsConfig['mongodb']>
type MongodbAction = NamedValue<ActionsConfig['mongodb']>

const defaultPort = 27_017
const collectionAttribute = 'collection'
const idAttribute = 'id'
const randomIdBytes = 8
const maxCollectionBytes = 255
const done: WriteOutcome = { outcome: 'done' }

export const mongodbSinkType: SinkType<MongodbAction, MongodbConnector> = {
  findConnectorProblem(connector) {
    const { mongo_type: type, replica_set_name: replicaSet } = connector.parameters
    const servers = parseServers(connector)
    if (servers.length === 0) return `parameters.server: write the address, such as 127.0.0.1:${defaultPort}`
    if (type === 'single' && servers.length > 1) return 'parameters.mongo_type: write rs or sharded for several servers'
    if (type === 'rs' && replicaSet === undefined)
      return 'parameters.replica_set_name: write the name of the replica set'
    for (const server of servers) {
      const problem = findServerProblem({ server }, defaultPort)
      if (problem !== undefined) return `parameters.${problem}`
    }
    return connector.database === undefined ? 'database: write the name of the database' : undefined
  },

  findActionProblem: ({ parameters: { collection } }) =>
    collection === '' ? 'parameters.collection: write the name of a collection, such as readings' : undefined,

  createRenderer({ parameters }, compile, allColumns) {
    const collection = compile(parameters.collection)
    const payload = parameters.payload_template === undefined ? undefined : compile(parameters.payload_template, 'json')
    return (data) => ({
      payload: requireJsonObject(payload === undefined ? allColumns(data) : payload.render(data)),
      attributes: [
        [collectionAttribute, requireCollectionName(requireAttributeText(collection.render(data), 'the collection'))],
        [idAttribute, createObjectId()],
      ],
    })
  },

  findWriteOrder: () => 'batch',
  open: (connector, _, context) => new MongodbSink(toMongodbSettings(connector, context)),
}

function parseServers({ parameters: { server = '', servers = '' } }: MongodbConnector): readonly string[] {
  return [server, servers].flatMap((text) => text.split(',')).flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
}

/** Returns an ObjectId: the time in seconds, and a unique part. */
function createObjectId(): string {
  const seconds = Math.floor(Date.now() / 1_000)
  return seconds.toString(16).padStart(8, '0') + randomBytes(randomIdBytes).toString('hex')
}

function requireCollectionName(name: string): string {
  const isName = name !== '' && !name.includes('$') && !name.startsWith('system.') && !/^\.|\.\.|\.$/.test(name)
  if (isName && Buffer.byteLength(name) <= maxCollectionBytes) return name
  throw new TypeError(`${JSON.stringify(name)} is not a collection name`)
}

function requireJsonObject(text: string | Uint8Array): Buffer {
  const json = typeof text === 'string' ? text : Buffer.from(text).toString()
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new TypeError(`the document is not JSON: ${formatError(error)}`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('the document is not an object of JSON')
  return Buffer.from(json)
}

function toMongodbSettings(connector: MongodbConnector, { requestTimeoutMs }: SinkContext): MongodbSettings {
  const { mongo_type: type, replica_set_name: replicaSet } = connector.parameters
  return {
    servers: parseServers(connector)
      .map((server) => (/:\d+$/.test(server) ? server : `${server}:${defaultPort}`))
      .join(','),
    replicaSet: type === 'rs' ? replicaSet : undefined,
    isSingle: type === 'single',
    database: connector.database ?? '',
    username: connector.username,
    password: connector.password,
    authSource: connector.auth_source,
    tls: toServiceTls(connector.ssl),
    poolSize: connector.pool_size,
    connectTimeoutMs: connector.connect_timeout,
    requestTimeoutMs,
  }
}

class MongodbSink implements Sink {
  readonly #database: SharedConnection<MongodbDatabase>

  constructor(settings: MongodbSettings) {
    const driver = {
      load: loadMongodb,
      open: (attempt: OpeningAttempt) => openMongodb(settings, attempt),
      destroy: (database: MongodbDatabase) => database.close(),
    }
    this.#database = new SharedConnection(driver, settings)
  }

  /** Inserts consecutive documents of the same collection with one request. */
  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const outcomes: WriteOutcome[] = []
    try {
      let isRepeat = false
      while (outcomes.length < batch.length) isRepeat = await this.#insert(batch, outcomes, isRepeat)
    } catch (error) {
      while (outcomes.length < batch.length) outcomes.push({ outcome: 'retry', why: formatError(error) })
    }
    return outcomes
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#database.use((database) => database.check())
      return undefined
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    this.#database.close()
  }

  /**
   * Adds at least one outcome. Returns true if documents exist already: then the batch was sent before and its order is known. With
   * `isRepeat`, all documents are sent in one request instead of one request for each.
   */
  async #insert(batch: readonly ActionEntry[], outcomes: WriteOutcome[], isRepeat: boolean): Promise<boolean> {
    const start = outcomes.length
    const collection = readAttribute(batch[start], collectionAttribute)
    const end = batch.findIndex(
      (entry, index) => index > start && readAttribute(entry, collectionAttribute) !== collection,
    )
    const entries = batch.slice(start, end < 0 ? batch.length : end)
    const documents = entries.map(toNewDocument)
    const { tried, failures } = await this.#database.use((database) =>
      database.insert(collection, documents, !isRepeat),
    )
    const failed = new Map(failures.map((failure) => [failure.index, failure]))
    for (let index = 0; index < tried; index++) {
      const failure = failed.get(index)
      outcomes.push(failure?.kind === 'refused' ? { outcome: 'refused', why: failure.why } : done)
    }
    return failures.some(({ kind }) => kind === 'is-there')
  }
}

function toNewDocument(entry: ActionEntry): NewDocument {
  return { id: readAttribute(entry, idAttribute), json: entry.payload.toString() }
}

function readAttribute({ attributes }: ActionEntry, name: string): string {
  return attributes.find(([known]) => known === name)?.[1] ?? ''
}
