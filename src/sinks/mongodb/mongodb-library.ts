// A small interface to the MongoDB client library.

import type * as MongodbLibrary from 'mongodb'
import type { MongoClient, MongoClientOptions } from 'mongodb'
import { lookUpAllowedAddresses } from '../../transports/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { formatError } from '../service-responses.ts'

export interface MongodbSettings {
  /** `host:port`, separated by commas. */
  readonly servers: string
  /** Undefined: a single server, with any role in a replica set. */
  readonly replicaSet: string | undefined
  readonly isSingle: boolean
  readonly database: string
  readonly username: string | undefined
  readonly password: string | undefined
  readonly authSource: string
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly poolSize: number
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
}

/** A document as JSON, and the `_id` that it gets if it has none. */
export interface NewDocument {
  readonly id: string
  readonly json: string
}

export interface Failure {
  readonly index: number
  readonly kind: 'is-there' | 'refused'
  readonly why: string
}

export interface InsertResult {
  /** Later documents were not sent. */
  readonly tried: number
  /** All other documents that were sent are stored now. */
  readonly failures: readonly Failure[]
}

export interface MongodbDatabase {
  /** `isOrdered`: stops at the first failure. Rejects if the outcome of the documents is unknown. */
  insert(collection: string, documents: readonly NewDocument[], isOrdered: boolean): Promise<InsertResult>
  /** Rejects if no server responds that can write. */
  check(): Promise<void>
  close(): void
}

interface WriteError {
  readonly index: number
  readonly code: number
  readonly errmsg?: string
}

const selectionShare = 0.9
const duplicateKey = 11_000
/** A pattern in the error message of a server. */
const idIndexForm = /\bindex: _id_\b/
const maxDocumentBytes = 16_777_216
/** The text that the rule function `mongo_date` returns. */
const dateForm = /^ISODate\("?(?<time>[^")]+)"?\)$/

export function loadMongodb(): Promise<Library> {
  return loadLibrary('mongodb', () => import('mongodb'))
}

export async function openMongodb(settings: MongodbSettings, attempt: OpeningAttempt): Promise<MongodbDatabase> {
  const library = await loadMongodb()
  const client = new library.MongoClient(`mongodb://${settings.servers}/`, toClientOptions(settings))
  attempt.onFailure(() => end(client))
  await client.connect()
  return new Database(library, client, settings)
}

function end(client: MongoClient): void {
  // The connection is not used any more, so its error is ignored.
  client.close(true).catch(() => {})
}

function toClientOptions(settings: MongodbSettings): MongoClientOptions {
  const { replicaSet, isSingle, username, password, authSource, tls, poolSize } = settings
  return {
    appName: 'godwit',
    directConnection: isSingle,
    ...(replicaSet === undefined ? {} : { replicaSet }),
    ...(username === undefined ? {} : { auth: { username, password: password ?? '' }, authSource }),
    maxPoolSize: poolSize,
    // The library reports why it finds no server before the time limit of the connection is over.
    serverSelectionTimeoutMS: Math.ceil(settings.connectTimeoutMs * selectionShare),
    connectTimeoutMS: settings.connectTimeoutMs,
    socketTimeoutMS: settings.requestTimeoutMs,
    // A delivered document survives the failure of a server.
    writeConcern: { w: 'majority', journal: true },
    // The action queue retries.
    retryWrites: false,
    lookup: lookUpAllowedAddresses,
    ...(tls === undefined ? {} : { tls: true, ...tls }),
  }
}

type Library = typeof MongodbLibrary

class Database implements MongodbDatabase {
  readonly #library: Library
  readonly #client: MongoClient
  readonly #settings: MongodbSettings

  constructor(library: Library, client: MongoClient, settings: MongodbSettings) {
    this.#library = library
    this.#client = client
    this.#settings = settings
  }

  async insert(collection: string, documents: readonly NewDocument[], isOrdered: boolean): Promise<InsertResult> {
    const failures: Failure[] = []
    const wanted: { readonly index: number; readonly document: Record<string, unknown> }[] = []
    for (const [index, { id, json }] of documents.entries()) {
      const document = this.#parseDocument(id, json)
      if (typeof document !== 'string') wanted.push({ index, document })
      else {
        failures.push({ index, kind: 'refused', why: document })
        if (isOrdered) break
      }
    }
    const found = await this.#insert(
      collection,
      wanted.map(({ document }) => document),
      isOrdered,
    )
    const ofServer = found.map((failure) => ({ ...failure, index: wanted[failure.index]?.index ?? failure.index }))
    const [first] = ofServer
    if (isOrdered && first !== undefined) return { tried: first.index + 1, failures: [first] }
    const [invalid] = failures
    const tried = isOrdered && invalid !== undefined ? invalid.index + 1 : documents.length
    return { tried, failures: [...failures, ...ofServer] }
  }

  async check(): Promise<void> {
    await this.#client.db(this.#settings.database).command({ ping: 1 })
  }

  close(): void {
    end(this.#client)
  }

  /** Returns a document, or a text that says why it is invalid. */
  #parseDocument(id: string, json: string): Record<string, unknown> | string {
    const { EJSON, calculateObjectSize } = this.#library.BSON
    try {
      const parsed = withDates(EJSON.parse(json, { relaxed: true })) as Record<string, unknown>
      const document = Object.hasOwn(parsed, '_id') ? parsed : { _id: new this.#library.ObjectId(id), ...parsed }
      const bytes = calculateObjectSize(document)
      return bytes > maxDocumentBytes ? `the document has ${bytes} bytes; maximum ${maxDocumentBytes}` : document
    } catch (error) {
      return `the document is not valid: ${formatError(error)}`
    }
  }

  async #insert(
    collection: string,
    documents: readonly Record<string, unknown>[],
    isOrdered: boolean,
  ): Promise<readonly Failure[]> {
    if (documents.length === 0) return []
    const target = this.#client.db(this.#settings.database).collection(collection)
    try {
      await target.insertMany([...documents], { ordered: isOrdered })
      return []
    } catch (error) {
      const errors = listWriteErrors(error)
      if (errors.length === 0) throw error
      return errors.map(({ index, code, errmsg = '' }) => {
        const kind = code === duplicateKey && idIndexForm.test(errmsg) ? 'is-there' : 'refused'
        return { index, kind, why: errmsg }
      })
    }
  }
}

/** Returns no failures if the error does not concern a document. */
function listWriteErrors(error: unknown): readonly WriteError[] {
  if (!(error instanceof Error) || error.name !== 'MongoBulkWriteError') return []
  const { writeErrors } = error as Error & { readonly writeErrors: WriteError | readonly WriteError[] }
  return [writeErrors].flat()
}

/** Throws for an invalid date. */
function withDates(value: unknown): unknown {
  if (typeof value === 'string') {
    const time = Date.parse(dateForm.exec(value)?.groups?.['time'] ?? '')
    return Number.isNaN(time) ? value : new Date(time)
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError('a $date is not a time')
  if (Array.isArray(value)) return value.map(withDates)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withDates(inner)]))
}
