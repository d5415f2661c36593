// The library for MongoDB behind an interface of two functions.

import type * as MongodbLibrary from 'mongodb'
import type { MongoClient, MongoClientOptions } from 'mongodb'
import { safeLookup } from '../../transports/index.ts'
import { loadLibrary } from '../optional-library.ts'
import { messageOf, withTimeout } from '../service-responses.ts'

export interface MongodbSettings {
  /** `host:port`, separated by commas. */
  readonly servers: string
  /** Undefined: one server, whatever its role in a replica set is. */
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

/** A document as JSON, and what becomes its `_id` where it has none. */
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
  /** Later documents were not tried. */
  readonly tried: number
  /** All others of those that were tried are there now. */
  readonly failures: readonly Failure[]
}

export interface MongodbDatabase {
  /** `isOrdered`: ends with the first failure. Rejects where nothing is known of the documents. */
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

const duplicateKey = 11_000
/** In the message of a server. */
const idIndexForm = /\bindex: _id_\b/
const maxDocumentBytes = 16_777_216
/** The text that the rule function `mongo_date` returns. */
const dateForm = /^ISODate\("?(?<time>[^")]+)"?\)$/

export async function openMongodb(settings: MongodbSettings): Promise<MongodbDatabase> {
  const library = await loadLibrary('mongodb', () => import('mongodb'))
  const client = new library.MongoClient(`mongodb://${settings.servers}/`, optionsOf(settings))
  try {
    await withTimeout(client.connect(), settings.connectTimeoutMs)
  } catch (error) {
    end(client)
    throw error
  }
  return new Database(library, client, settings)
}

function end(client: MongoClient): void {
  // It is not used any more, so its error has no receiver.
  client.close(true).catch(() => {})
}

function optionsOf(settings: MongodbSettings): MongoClientOptions {
  const { replicaSet, isSingle, username, password, authSource, tls, poolSize } = settings
  return {
    appName: 'godwit',
    directConnection: isSingle,
    ...(replicaSet === undefined ? {} : { replicaSet }),
    ...(username === undefined ? {} : { auth: { username, password: password ?? '' }, authSource }),
    maxPoolSize: poolSize,
    serverSelectionTimeoutMS: settings.connectTimeoutMs,
    connectTimeoutMS: settings.connectTimeoutMs,
    socketTimeoutMS: settings.requestTimeoutMs,
    // A document that counts as delivered outlives the failure of a server.
    writeConcern: { w: 'majority', journal: true },
    // The spool tries again.
    retryWrites: false,
    lookup: safeLookup,
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
      const document = this.#documentOf(id, json)
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
    const { database, requestTimeoutMs } = this.#settings
    await withTimeout(this.#client.db(database).command({ ping: 1 }), requestTimeoutMs)
  }

  close(): void {
    end(this.#client)
  }

  /** Text: why it is no document. */
  #documentOf(id: string, json: string): Record<string, unknown> | string {
    const { EJSON, calculateObjectSize } = this.#library.BSON
    try {
      const parsed = withDates(EJSON.parse(json, { relaxed: true })) as Record<string, unknown>
      const document = Object.hasOwn(parsed, '_id') ? parsed : { _id: new this.#library.ObjectId(id), ...parsed }
      const bytes = calculateObjectSize(document)
      return bytes > maxDocumentBytes ? `the document has ${bytes} bytes; maximum ${maxDocumentBytes}` : document
    } catch (error) {
      return `the document is not valid: ${messageOf(error)}`
    }
  }

  async #insert(
    collection: string,
    documents: readonly Record<string, unknown>[],
    isOrdered: boolean,
  ): Promise<readonly Failure[]> {
    if (documents.length === 0) return []
    const { database, requestTimeoutMs } = this.#settings
    const target = this.#client.db(database).collection(collection)
    try {
      await withTimeout(target.insertMany([...documents], { ordered: isOrdered }), requestTimeoutMs)
      return []
    } catch (error) {
      const errors = writeErrorsOf(error)
      if (errors.length === 0) throw error
      return errors.map(({ index, code, errmsg = '' }) => {
        const kind = code === duplicateKey && idIndexForm.test(errmsg) ? 'is-there' : 'refused'
        return { index, kind, why: errmsg }
      })
    }
  }
}

/** None: the error is none of a document. */
function writeErrorsOf(error: unknown): readonly WriteError[] {
  if (!(error instanceof Error) || error.name !== 'MongoBulkWriteError') return []
  const { writeErrors } = error as Error & { readonly writeErrors: WriteError | readonly WriteError[] }
  return [writeErrors].flat()
}

/** Throws for a date that is none. */
function withDates(value: unknown): unknown {
  if (typeof value === 'string') {
    const time = Date.parse(dateForm.exec(value)?.groups?.['time'] ?? '')
    return Number.isNaN(time) ? value : new Date(time)
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError('a $date is no time')
  if (Array.isArray(value)) return value.map(withDates)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withDates(inner)]))
}
