// A stub of databases with an HTTP interface: it finds the numbers in paths and bodies, such as n7n, and answers bulk requests of Elasticsearch.

import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { createServer } from 'node:http'
import type { Scope } from '../../e2e/godwit-process.ts'
import { decompress } from './snappy.ts'

export class StubService {
  readonly port: number
  readonly numbers = new Set<number>()

  private constructor(port: number) {
    this.port = port
  }

  static async start(t: Scope, status: number): Promise<StubService> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('error', () => {})
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const sent = Buffer.concat(parts)
        const body = (request.headers['content-encoding'] === 'snappy' ? decompress(sent) : sent).toString('latin1')
        const found = [...`${request.url} ${body}`.matchAll(/n(\d+)n/g)].map(([, number]) => Number(number))
        for (const number of found) stub.numbers.add(number)
        const items = found.map(() => ({ index: { status: 201 }, create: { status: 201 } }))
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(status === 204 || request.method === 'HEAD' ? undefined : JSON.stringify({ errors: false, items }))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stub = new StubService((server.address() as AddressInfo).port)
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return stub
  }
}
