// A stub of Elasticsearch: Debian has no package of it, so this implements the documented bulk API.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from './godwit-process.ts'

export interface Operation {
  readonly name: string
  readonly place: { readonly _index: string; readonly _id?: string }
  readonly document: Record<string, unknown> | undefined
}

export function idOf({ place: { _id: id } }: Operation): string | undefined {
  return id
}

export class BulkStub {
  readonly port: number
  readonly operations: Operation[] = []
  readonly authorizations = new Set<string | undefined>()
  /** Sets the status of an operation and of a whole request. */
  statusOf: (operation: Operation) => number = () => 201
  statusOfAll: (operations: readonly Operation[]) => number = () => 200

  private constructor(port: number) {
    this.port = port
  }

  static async start(t: Scope): Promise<BulkStub> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stub = new BulkStub((server.address() as AddressInfo).port)
    server.on('request', (request: IncomingMessage, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        stub.authorizations.add(request.headers.authorization)
        if (request.method === 'GET') return response.end('{}')
        const operations = operationsOf(Buffer.concat(parts).toString())
        const status = stub.statusOfAll(operations)
        if (status !== 200) return response.writeHead(status).end('{"error":"no"}')
        const items = operations.map((operation) => {
          const own = stub.statusOf(operation)
          if (own < 300) stub.operations.push(operation)
          const error = own < 300 ? {} : { error: { type: 'mapper_parsing_exception', reason: 'failed to parse' } }
          return { [operation.name]: { status: own, ...error } }
        })
        return response.end(
          JSON.stringify({ errors: items.some((item) => JSON.stringify(item).includes('error')), items }),
        )
      })
    })
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return stub
  }
}

function operationsOf(text: string): Operation[] {
  assert.ok(text.endsWith('\n'))
  const lines = text.slice(0, -1).split('\n')
  const operations: Operation[] = []
  for (let at = 0; at < lines.length; at++) {
    const [[name, place] = ['', {}]] = Object.entries(JSON.parse(lines[at]) as Record<string, Operation['place']>)
    const document = name === 'delete' ? undefined : (JSON.parse(lines[++at]) as Record<string, unknown>)
    operations.push({ name, place: place as Operation['place'], document })
  }
  return operations
}
