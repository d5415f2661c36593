// A stub of a MongoDB server, because no server is available for the tests. It implements the part of the protocol that an insert needs
// (OP_QUERY for the first hello, OP_MSG for hello, ping, insert and endSessions), with unique `_id`s and one more unique field.

import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { BSON } from 'mongodb'
import type { Scope } from './godwit-process.ts'

const headerBytes = 16
const opReply = 1
const opQuery = 2_004
const opMsg = 2_013
const maxDocumentBytes = 16_777_216

type Document = Record<string, unknown>

interface InsertError {
  readonly index: number
  readonly code: number
  readonly errmsg: string
  readonly keyPattern?: Document
}

export class MongodbStub {
  readonly port: number
  /** Documents by name of the collection. */
  readonly collections = new Map<string, Document[]>()
  /** Called for each insert before its response; false: the documents are inserted, and the connection is closed without a response. */
  acknowledges: () => boolean = () => true
  /** The values of the unique fields by name of the collection, so that an insert does not read all documents. */
  readonly #uniqueValues = new Map<string, Set<string>>()
  readonly #sockets = new Set<Socket>()
  #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#serve(server)
  }

  static async start(t: Scope): Promise<MongodbStub> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stub = new MongodbStub(server)
    t.after(() => stub.stop())
    return stub
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
  }

  async restart(): Promise<void> {
    this.#server = createServer().listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#serve(this.#server)
  }

  #serve(server: Server): void {
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('error', () => {})
      let pending = Buffer.alloc(0)
      socket.on('data', (chunk) => {
        pending = Buffer.concat([pending, chunk])
        while (pending.length >= headerBytes && pending.length >= pending.readInt32LE(0)) {
          const bytes = pending.readInt32LE(0)
          this.#respond(socket, pending.subarray(0, bytes))
          pending = pending.subarray(bytes)
        }
      })
    })
  }

  #respond(socket: Socket, message: Buffer): void {
    const id = message.readInt32LE(4)
    if (message.readInt32LE(12) === opQuery) {
      const reply = Buffer.concat([Buffer.alloc(16), int32(1), BSON.serialize(hello)])
      socket.write(framed(id, opReply, reply))
      return
    }
    const command = readCommand(message.subarray(headerBytes))
    const response = this.#run(command)
    if (response === undefined) socket.destroy()
    else socket.write(framed(id, opMsg, Buffer.concat([int32(0), Buffer.from([0]), BSON.serialize(response)])))
  }

  #run(command: Document): Document | undefined {
    if ('hello' in command || 'isMaster' in command || 'ismaster' in command) return hello
    if ('insert' in command) return this.#insert(command)
    return { ok: 1 }
  }

  /** Inserts in order: the documents after an error are not inserted. */
  #insert({ insert, documents, ordered }: Document): Document | undefined {
    const name = String(insert)
    const known = this.collections.get(name) ?? []
    this.collections.set(name, known)
    const unique = this.#uniqueValues.get(name) ?? new Set()
    this.#uniqueValues.set(name, unique)
    const errors: InsertError[] = []
    let count = 0
    for (const [index, document] of (documents as readonly Document[]).entries()) {
      const error = errorOf(unique, document)
      if (error === undefined) {
        known.push(document)
        for (const value of uniqueValuesOf(document).values()) unique.add(value)
        count++
      } else errors.push({ index, ...error })
      if (error !== undefined && ordered !== false) break
    }
    if (!this.acknowledges()) return undefined
    return { n: count, ok: 1, ...(errors.length === 0 ? {} : { writeErrors: errors }) }
  }
}

/** By name of the field. */
function uniqueValuesOf(document: Document): Map<string, string> {
  const fields = ['_id', 'unique'].filter((field) => document[field] !== undefined)
  return new Map(fields.map((field) => [field, `${field}:${JSON.stringify(document[field])}`]))
}

function errorOf(unique: ReadonlySet<string>, document: Document): Omit<InsertError, 'index'> | undefined {
  for (const [field, value] of uniqueValuesOf(document)) {
    if (!unique.has(value)) continue
    const index = field === '_id' ? '_id_' : `${field}_1`
    const errmsg = `E11000 duplicate key error collection: plant.all index: ${index} dup key: { ${field}: "..." }`
    return { code: 11_000, errmsg, keyPattern: { [field]: 1 } }
  }
  if (document['invalid'] === undefined) return undefined
  return { code: 121, errmsg: 'Document failed validation' }
}

const hello: Document = {
  ismaster: true,
  isWritablePrimary: true,
  helloOk: true,
  maxBsonObjectSize: maxDocumentBytes,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 21,
  readOnly: false,
  ok: 1,
}

function readCommand(body: Buffer): Document {
  const command: Document = {}
  let at = 4
  while (at < body.length) {
    const kind = body[at++]
    const bytes = body.readInt32LE(at)
    const section = body.subarray(at, at + bytes)
    if (kind === 0) Object.assign(command, BSON.deserialize(section))
    else {
      const nameEnd = section.indexOf(0, 4)
      const documents: Document[] = []
      for (let from = nameEnd + 1; from < section.length; from += section.readInt32LE(from))
        documents.push(BSON.deserialize(section.subarray(from, from + section.readInt32LE(from))))
      command[section.toString('utf8', 4, nameEnd)] = documents
    }
    at += bytes
  }
  return command
}

function framed(responseTo: number, code: number, body: Buffer): Buffer {
  return Buffer.concat([int32(headerBytes + body.length), int32(0), int32(responseTo), int32(code), body])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}
