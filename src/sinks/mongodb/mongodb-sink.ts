// The sink for MongoDB. Each document has an `_id` that is stored with the entry, so that MongoDB detects a document that is sent again.

import { randomBytes } from 'node:crypto'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { OpeningAttempt } from '../connections/open-connection.ts'
import { SharedConnection } from '../connections/shared-connection.ts'
import { problemOfServer, tlsOf } from '../service-address.ts'
import { messageOf } from '../service-responses.ts'
import {
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  textOf,
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
  problemOfConnector(connector) {
    const { mongo_type: type, replica_set_name: replicaSet } = connector.parameters
    const servers = serversOf(connector)
    if (servers.length === 0) return `parameters.server: write the address, such as 127.0.0.1:${defaultPort}`
    if (type === 'single' && servers.length > 1) return 'parameters.mongo_type: write rs or sharded for several servers'
    if (type === 'rs' && replicaSet === undefined)
      return 'parameters.replica_set_name: write the name of the replica set'
    for (const server of servers) {
      const problem = problemOfServer({ server }, defaultPort)
      if (problem !== undefined) return `parameters.${problem}`
    }
    return connector.database === undefined ? 'database: write the name of the database' : undefined
  },

  problemOfAction: ({ parameters: { collection } }) =>
    collection === '' ? 'parameters.collection: write the name of a collection, such as readings' : undefined,

  renderer({ parameters }, compile, allColumns) {
    const collection = compile(parameters.collection)
    const payload = parameters.payload_template === undefined ? undefined : compile(parameters.payload_template, 'json')
    return (data) => ({
      payload: documentOf(payload === undefined ? allColumns(data) : payload.render(data)),
      attributes: [
        [collectionAttribute, collectionOf(textOf(collection.render(data), 'the collection'))],
        [idAttribute, newId()],
      ],
    })
  },

  keepsOrderOf: () => 'batch',
  open: (connector, _, context) => new MongodbSink(settingsOf(connector, context)),
}

function serversOf({ parameters: { server = '', servers = '' } }: MongodbConnector): readonly string[] {
  return [server, servers].flatMap((text) => text.split(',')).flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
}

/** Returns an ObjectId: the time in seconds, and a unique part. */
function newId(): string {
  const seconds = Math.floor(Date.now() / 1_000)
  return seconds.toString(16).padStart(8, '0') + randomBytes(randomIdBytes).toString('hex')
}

function collectionOf(name: string): string {
  const isName = name !== '' && !name.includes('$') && !name.startsWith('system.') && !/^\.|\.\.|\.$/.test(name)
  if (isName && Buffer.byteLength(name) <= maxCollectionBytes) return name
  throw new TypeError(`${JSON.stringify(name)} is not a collection name`)
}

function documentOf(text: string | Uint8Array): Buffer {
  const json = typeof text === 'string' ? text : Buffer.from(text).toString()
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new TypeError(`the document is not JSON: ${messageOf(error)}`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('the document is not an object of JSON')
  return Buffer.from(json)
}

function settingsOf(connector: MongodbConnector, { requestTimeoutMs }: SinkContext): MongodbSettings {
  const { mongo_type: type, replica_set_name: replicaSet } = connector.parameters
  return {
    servers: serversOf(connector)
      .map((server) => (/:\d+$/.test(server) ? server : `${server}:${defaultPort}`))
      .join(','),
    replicaSet: type === 'rs' ? replicaSet : undefined,
    isSingle: type === 'single',
    database: connector.database ?? '',
    username: connector.username,
    password: connector.password,
    authSource: connector.auth_source,
    tls: tlsOf(connector.ssl),
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
      while (outcomes.length < batch.length) outcomes.push({ outcome: 'retry', why: messageOf(error) })
    }
    return outcomes
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#database.use((database) => database.check())
      return undefined
    } catch (error) {
      return messageOf(error)
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
    const collection = attributeOf(batch[start], collectionAttribute)
    const end = batch.findIndex(
      (entry, index) => index > start && attributeOf(entry, collectionAttribute) !== collection,
    )
    const entries = batch.slice(start, end < 0 ? batch.length : end)
    const documents = entries.map(newDocument)
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

function newDocument(entry: ActionEntry): NewDocument {
  return { id: attributeOf(entry, idAttribute), json: entry.payload.toString() }
}

function attributeOf({ attributes }: ActionEntry, name: string): string {
  return attributes.find(([known]) => known === name)?.[1] ?? ''
}
