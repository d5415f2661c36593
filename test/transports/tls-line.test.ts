// The time that counts for the timeout of a TLS handshake, and the client that loses its slot. The clients are real; the test starts each
// upgrade, so that it knows which client is in its handshake, which waits, and the result.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, connect, type Server, Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { AcceptedSocket } from '../../src/transports/tcp/connection-acceptor.ts'
import { authority, serverName, TlsStage } from './tls-stage.ts'

const loopback = '127.0.0.1'

interface TestClient {
  readonly client: Socket
  /** The broker end. */
  readonly raw: AcceptedSocket
  /** Through its handshake, and verified. */
  readonly isIn: Promise<void>
}

interface TestAcceptorOptions {
  readonly handshakeTimeoutMs: number
  /** Concurrent handshakes; default: one. */
  readonly maxHandshakes?: number
}

class TestAcceptor {
  readonly stage: TlsStage
  readonly #t: TestContext
  readonly #server: Server
  readonly #opened: Socket[] = []

  private constructor(t: TestContext, { maxHandshakes = 1, ...times }: TestAcceptorOptions, server: Server) {
    this.#t = t
    this.#server = server
    this.stage = new TlsStage(t, { maxHandshakes, ...times })
    t.after(() => {
      for (const socket of this.#opened) socket.destroy()
      this.stage.gate.close()
      server.close()
    })
  }

  static async open(t: TestContext, options: TestAcceptorOptions): Promise<TestAcceptor> {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const server = createServer()
    await once(server.listen(0, loopback), 'listening')
    return new TestAcceptor(t, options, server)
  }

  /** A client that has sent nothing. */
  async silent(): Promise<TestClient> {
    const { client, raw } = await this.#connection()
    return this.#welcome(client, raw)
  }

  /** A client that has sent the first byte of ClientHello, and nothing more. */
  async dripping(): Promise<TestClient> {
    const { client, raw } = await this.#connection()
    client.write('\x16')
    await hasSpoken(raw)
    return this.#welcome(client, raw)
  }

  /** A client whose ClientHello has arrived, and which continues as soon as the broker responds. */
  async honest(): Promise<TestClient> {
    const { client, raw } = await this.#connection()
    const secure = speakTls(client)
    await hasSpoken(raw)
    return this.#welcome(secure, raw)
  }

  /** Completes this number of handshakes, each after this number of sweeps. */
  async serve(count: number, sweeps = 0): Promise<void> {
    for (let served = 0; served < count; served += 1) {
      const { client, isIn } = await this.silent()
      await this.sweep(sweeps)
      const secure = speakTls(client)
      await isIn
      secure.destroy()
    }
  }

  /** A client that disconnected before it was accepted: the system does not know its address any more. */
  gone(): TestClient {
    return this.#welcome(new Socket(), new Socket())
  }

  async sweep(count = 1): Promise<void> {
    for (let swept = 0; swept < count; swept += 1) {
      this.#t.mock.timers.tick(1_000)
      await new Promise(setImmediate)
    }
  }

  async #connection(): Promise<{ client: Socket; raw: Socket }> {
    const { port } = this.#server.address() as { port: number }
    const client = connect(port, loopback)
    const [raw] = (await once(this.#server, 'connection')) as [Socket]
    for (const socket of [client, raw]) {
      socket.on('error', () => {})
      this.#opened.push(socket)
    }
    return { client, raw }
  }

  #welcome(client: Socket, socket: Socket): TestClient {
    const raw = socket as AcceptedSocket
    raw.on('close', () => raw.callbacks?.handleClosed())
    const isIn = new Promise<void>((resolve) => {
      this.stage.gate.startHandshake(raw, { address: loopback, port: raw.remotePort ?? 0 }, (secure) => {
        secure.on('error', () => {})
        resolve()
      })
    })
    return { client, raw, isIn }
  }
}

async function hasSpoken(raw: Socket): Promise<void> {
  while (raw.readableLength === 0) await new Promise(setImmediate)
}

function speakTls(socket: Socket): TLSSocket {
  const secure = connectTls({ socket, servername: serverName, ca: authority.certificate })
  return secure.on('error', () => {})
}

describe('the time of a handshake', () => {
  test('does not include delays of the broker', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 1_000 })
    const { client, isIn } = await acceptor.silent()
    const nowMs = performance.now()
    t.mock.method(performance, 'now', () => nowMs + 3_600_000)
    await acceptor.sweep()
    speakTls(client)
    await isIn
  })

  test('does not end before all received bytes were read', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 1_000 })
    const { raw } = await acceptor.silent()
    await acceptor.sweep()
    t.mock.timers.tick(1_000)
    assert.ok(!raw.destroyed, 'the event loop has not read its sockets since')
    await new Promise(setImmediate)
    assert.ok(raw.destroyed)
  })

  test('is limited, however long the limit is', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 15_000 })
    const { raw } = await acceptor.silent()
    await acceptor.sweep(15)
    assert.ok(!raw.destroyed)
    await acceptor.sweep()
    assert.ok(raw.destroyed)
    assert.match(await acceptor.stage.refusals.next(), /too long/)
  })

  test('begins when the broker starts it: a waiting client that has sent its first bytes loses none', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 2_000 })
    const [first, second, honest] = [await acceptor.silent(), await acceptor.dripping(), await acceptor.honest()]
    await acceptor.sweep(3)
    assert.deepEqual(
      [first, second].map(({ raw }) => raw.destroyed),
      [true, false],
    )
    await acceptor.sweep(3)
    assert.ok(second.raw.destroyed)
    await honest.isIn
  })

  test('is also limited for a client that has sent nothing', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 2_000 })
    const [, waiting] = [await acceptor.silent(), await acceptor.silent()]
    await acceptor.sweep(2)
    assert.ok(!waiting.raw.destroyed)
    await acceptor.sweep()
    assert.ok(waiting.raw.destroyed)
  })

  test('is four times as long in the queue for a client that has begun to send, and no longer', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 2_000 })
    await acceptor.silent()
    await acceptor.dripping()
    await acceptor.dripping()
    const last = await acceptor.dripping()
    await acceptor.sweep(8)
    assert.ok(!last.raw.destroyed)
    await acceptor.sweep()
    assert.ok(last.raw.destroyed)
  })
})

describe('a slot for a handshake', () => {
  test('is lost by a slow client while another waits, and by no other client', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 10_000 })
    await acceptor.serve(20)
    const { raw } = await acceptor.silent()
    await acceptor.sweep(9)
    assert.ok(!raw.destroyed, 'no client waits')
    const honest = await acceptor.honest()
    await acceptor.sweep()
    assert.ok(raw.destroyed, 'a client waits')
    await honest.isIn
  })

  test('is not lost before the duration of other handshakes is known', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 10_000 })
    const { raw } = await acceptor.silent()
    await acceptor.honest()
    await acceptor.sweep(10)
    assert.ok(!raw.destroyed)
    await acceptor.sweep()
    assert.ok(raw.destroyed)
  })

  test('is lost after three sweeps at the earliest, if all other handshakes are fast', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 10_000 })
    await acceptor.serve(60)
    const { raw } = await acceptor.silent()
    await acceptor.honest()
    await acceptor.sweep(3)
    assert.ok(!raw.destroyed)
    await acceptor.sweep()
    assert.ok(raw.destroyed)
  })

  test('has a longer timeout, the longer successful handshakes take', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 10_000 })
    await acceptor.serve(20)
    await acceptor.serve(40, 2)
    const { raw } = await acceptor.silent()
    await acceptor.honest()
    await acceptor.sweep(5)
    assert.ok(!raw.destroyed)
    await acceptor.sweep()
    assert.ok(raw.destroyed)
  })

  test('is lost later if all clients have lost theirs and none has completed its handshake', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 30_000 })
    await acceptor.serve(80)
    const [first, second, honest] = [await acceptor.silent(), await acceptor.dripping(), await acceptor.honest()]
    await acceptor.sweep(4)
    assert.deepEqual(
      [first, second].map(({ raw }) => raw.destroyed),
      [true, false],
    )
    await acceptor.sweep(6)
    assert.ok(!second.raw.destroyed, 'twice as long as the first')
    await acceptor.sweep()
    assert.ok(second.raw.destroyed)
    await honest.isIn
  })

  test('is lost no later if a client has completed its handshake in between', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 30_000, maxHandshakes: 2 })
    await acceptor.serve(80)
    const first = await acceptor.silent()
    await acceptor.sweep(2)
    const second = await acceptor.silent()
    const honest = await acceptor.honest()
    await acceptor.sweep(2)
    assert.ok(first.raw.destroyed)
    await honest.isIn
    const third = await acceptor.silent()
    await acceptor.dripping()
    await acceptor.dripping()
    await acceptor.sweep(2)
    assert.ok(second.raw.destroyed)
    await acceptor.sweep(2)
    assert.ok(third.raw.destroyed)
  })

  test('goes to the next client if one has disconnected while it waited', async (t) => {
    const acceptor = await TestAcceptor.open(t, { handshakeTimeoutMs: 10_000 })
    const first = await acceptor.silent()
    acceptor.gone()
    const honest = await acceptor.honest()
    first.client.destroy()
    await honest.isIn
  })
})
