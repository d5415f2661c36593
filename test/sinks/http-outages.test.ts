// More requests than connections, to a service that goes away, comes back, resets, and answers nonsense: each request gets one result, nothing
// is thrown, and the next requests succeed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { HttpRequest, HttpResult } from '../../src/sinks/http/http-exchange.ts'
import { HttpRequests } from '../../src/sinks/http/http-requests.ts'

const post: HttpRequest = { path: '/in', method: 'POST', headers: {}, body: Buffer.from('body') }
const response = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

type Fault = (socket: Socket, requestsOnSocket: number) => void

/** What a service does with a request, in the outage. */
const faults: Readonly<Record<string, Fault>> = {
  'resets the connection': (socket) => void socket.resetAndDestroy(),
  'closes the connection': (socket) => void socket.end(),
  'resets in the middle of the header': (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\ncontent-le', () => socket.resetAndDestroy()),
  'resets in the middle of the body': (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf', () => socket.resetAndDestroy()),
  'closes in the middle of a chunked body': (socket) =>
    void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha'),
  'answers one request, then resets': (socket, count) =>
    count === 1 ? void socket.write(response) : void socket.resetAndDestroy(),
  'answers nonsense': (socket) => void socket.write('220 mail.example.org ESMTP\r\n\r\n'),
  'answers more often than asked': (socket) => void socket.write(response.repeat(3)),
  'answers with a status of 1xx without end': (socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(3)),
  'is silent': () => {},
}

/** A service that works until it gets a fault. It can stop and start on its port. */
class Service {
  fault: Fault | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isStopped = false

  constructor() {
    this.#server = createServer((socket) => {
      if (this.#isStopped) {
        socket.resetAndDestroy()
        return
      }
      this.#sockets.add(socket)
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket))
      let count = 0
      socket.on('data', (chunk) => {
        for (let found = chunk.indexOf('POST /'); found >= 0; found = chunk.indexOf('POST /', found + 1)) {
          if (this.fault === undefined) socket.write(response)
          else if (!socket.destroyed) this.fault(socket, ++count)
        }
      })
    })
  }

  async start(port = 0): Promise<number> {
    this.#isStopped = false
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  /** Resets all connections, and refuses further ones. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await closed
  }
}

function requestsTo(
  t: TestContext,
  port: number,
  { pipelining, requestTimeoutMs = 20_000 }: { readonly pipelining: number; readonly requestTimeoutMs?: number },
): HttpRequests {
  const origin = new URL(`http://127.0.0.1:${port}`)
  const requests = new HttpRequests({
    origin,
    poolSize: 3,
    pipelining,
    connectTimeoutMs: 2_000,
    requestTimeoutMs,
    tls: undefined,
  })
  t.after(() => requests.close())
  return requests
}

function isDone(result: HttpResult): boolean {
  return 'status' in result && result.status === 200 && result.text === 'ok'
}

/** Sends 50 requests at once, as that many publishers do. Each sends its next one when it has the result of the last one. */
async function sendMany(requests: HttpRequests, rounds: number): Promise<readonly HttpResult[]> {
  const results: HttpResult[] = []
  const publisher = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) results.push(await requests.send(post))
  }
  await Promise.all(Array.from({ length: 50 }, publisher))
  return results
}

for (const pipelining of [1, 4])
  for (const [name, fault] of Object.entries(faults))
    test(`a service ${name}, with 50 requests for 3 connections and ${pipelining} at a time on each`, async (t) => {
      const service = new Service()
      const requests = requestsTo(t, await service.start(), {
        pipelining,
        ...(name === 'is silent' && { requestTimeoutMs: 1_000 }),
      })
      t.after(() => service.stop())
      assert.ok((await sendMany(requests, 2)).every(isDone))
      service.fault = fault
      // The service fails under requests that were sent and requests that wait.
      assert.equal((await sendMany(requests, 2)).length, 100)
      service.fault = undefined
      let last = await requests.send(post)
      while (!isDone(last)) last = await requests.send(post)
      assert.ok((await sendMany(requests, 2)).every(isDone))
    })

for (const pipelining of [1, 4])
  test(`a service stops and starts under load, ${pipelining} requests at a time on a connection`, async (t) => {
    const service = new Service()
    const port = await service.start()
    const requests = requestsTo(t, port, { pipelining })
    t.after(() => service.stop())
    for (let round = 0; round < 5; round++) {
      assert.ok((await sendMany(requests, 1)).every(isDone))
      const load = sendMany(requests, 10)
      await service.stop()
      const results = await load
      assert.equal(results.length, 500)
      assert.ok(results.some((result) => 'failure' in result))
      await service.start(port)
      let last = await requests.send(post)
      while (!isDone(last)) last = await requests.send(post)
    }
  })
