// The clients that the acceptor of a listener accepts or refuses.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { AccessRule } from '../../src/config/index.ts'
import { AddressRules } from '../../src/transports/limits/address-rules.ts'
import {
  type ByteStream,
  ConnectionLimit,
  ConnectionRate,
  listenTcp,
  type TcpListenOptions,
} from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'

interface Arrival {
  readonly stream: ByteStream
  /** The chunks, from the first. */
  readonly received: EventQueue<string>
}

interface Stage {
  readonly arrivals: EventQueue<Arrival>
  readonly refusals: EventQueue<string>
  client(firstText?: string): Promise<Socket>
  /** New clients have these settings; omitted ones stay. */
  change(options: Partial<TcpListenOptions>): void
  close(): Promise<void>
}

async function open(t: TestContext, options: Partial<TcpListenOptions>): Promise<Stage> {
  const arrivals = new EventQueue<Arrival>()
  const refusals = new EventQueue<string>()
  const opened: { destroy(): void }[] = []
  const all: TcpListenOptions = {
    host: '127.0.0.1',
    port: 0,
    onStream: (stream) => {
      opened.push(stream)
      const received = new EventQueue<string>()
      stream.onData = (chunk) => received.add(String(chunk))
      arrivals.add({ stream, received })
    },
    onRefused: (reason, why) => refusals.add(`${reason} ${why}`),
    ...options,
  }
  const listener = await listenTcp(all)
  t.after(async () => {
    for (const each of opened) each.destroy()
    await listener.close()
  })
  const client = async (firstText?: string): Promise<Socket> => {
    const socket = connect(listener.port, '127.0.0.1')
    socket.on('error', () => {})
    opened.push(socket)
    await once(socket, 'connect')
    if (firstText !== undefined) socket.write(firstText, 'latin1')
    return socket.resume()
  }
  const change = (changed: Partial<TcpListenOptions>): void => listener.change({ ...all, ...changed })
  return { arrivals, refusals, client, change, close: () => listener.close() }
}

/** Waits for the close, with or without an error: unread data turns a close into a reset. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.on('close', () => resolve()))

const rule = (text: string): AccessRule => {
  const [verb, range] = text.split(' ')
  return { isAllowed: verb === 'allow', range: range === 'all' ? undefined : range }
}

describe('rules for addresses', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['allow 10.0.0.0/8', ['10.0.0.1', '10.255.255.255'], ['11.0.0.1', '::1']],
    ['deny 10.0.0.0/8', ['11.0.0.1', '::1'], ['10.0.0.1']],
    ['deny 10.0.0.1, allow 10.0.0.0/8, deny all', ['10.0.0.2'], ['10.0.0.1', '1.2.3.4']],
    ['allow 10.0.0.1, deny 10.0.0.0/8, allow all', ['10.0.0.1', '1.2.3.4'], ['10.0.0.2']],
    ['allow fd00::/8', ['fd12::1'], ['fe80::1', '127.0.0.1']],
    ['allow 0.0.0.0/0', ['1.2.3.4'], ['::1']],
    ['deny all', [], ['127.0.0.1', '::1']],
    ['allow all', ['127.0.0.1', '::1'], []],
  ]
  for (const [text, allowed, denied] of cases) {
    test(text, () => {
      const rules = new AddressRules(text.split(', ').map(rule))
      for (const address of allowed) assert.ok(rules.allows(address), address)
      for (const address of denied) assert.ok(!rules.allows(address), address)
    })
  }

  test('disconnect a client before any of its bytes are read', async (t) => {
    const stage = await open(t, { accessRules: [rule('deny 127.0.0.0/8')] })
    const client = await stage.client('hello')
    await closed(client)
    assert.equal(await stage.refusals.next(), 'address-denied 127.0.0.1')
  })
})

const waits = (rate: ConnectionRate, nowMs: number, count: number): (number | undefined)[] =>
  Array.from({ length: count }, () => rate.reserveWaitMs(nowMs)).map((wait) =>
    wait === undefined ? wait : Math.round(wait),
  )

describe('a rate of connections', () => {
  test('accepts the connections of one second at once, delays later ones, and refuses the rest', () => {
    const rate = new ConnectionRate(4)
    const expected = [0, 0, 0, 0, ...Array.from({ length: 20 }, (_, index) => (index + 1) * 250), undefined, undefined]
    assert.deepEqual(waits(rate, 1_000, 26), expected)
    assert.deepEqual(waits(rate, 1_250, 2), [5_000, undefined], 'a refused client takes no slot of another')
  })

  test('is not affected by an earlier burst after its end', () => {
    const rate = new ConnectionRate(4)
    waits(rate, 1_000, 100)
    assert.deepEqual(waits(rate, 60_000, 5), [0, 0, 0, 0, 250])
  })

  test('a changed limit makes no client wait for the rate of the old one, and an equal limit changes nothing', () => {
    const rate = new ConnectionRate(1)
    assert.deepEqual(waits(rate, 1_000, 3), [0, 1_000, 2_000])
    rate.change(1)
    assert.deepEqual(waits(rate, 1_000, 1), [3_000])
    rate.change(2)
    assert.deepEqual(waits(rate, 1_000, 3), [0, 0, 500])
    rate.change(undefined)
    assert.deepEqual(waits(rate, 1_000, 2), [0, 0])
  })

  test('may be less than one per second', () => {
    const rate = new ConnectionRate(0.5)
    assert.deepEqual(waits(rate, 1_000, 4), [0, 2_000, 4_000, undefined])
  })

  test('makes connections above the rate wait, unread, in order of arrival', async (t) => {
    const moments: number[] = [0, 20, 40]
    const rate = new ConnectionRate(1_000)
    rate.reserveWaitMs = () => moments.shift()
    const stage = await open(t, { rates: [rate] })
    const clients = [await stage.client('a'), await stage.client('b'), await stage.client('c')]
    const order: string[] = []
    for (const client of clients) {
      const { stream, received } = await stage.arrivals.next()
      order.push(await received.next())
      assert.equal(stream.remotePort, client.localPort)
    }
    assert.deepEqual(order, ['a', 'b', 'c'])
  })

  test('refuses a connection that would wait too long, and frees its slot', async (t) => {
    const rate = new ConnectionRate(1)
    rate.reserveWaitMs = () => undefined
    const limits = new ConnectionLimit(1)
    const stage = await open(t, { rates: [rate], limits })
    await closed(await stage.client())
    assert.equal(await stage.refusals.next(), 'too-fast 127.0.0.1')
    assert.equal(limits.used, 0)
  })

  for (const [what, changed] of [
    ['its address is denied now', { accessRules: [rule('deny all')] }],
    ['the proxy is not trusted any more', { proxyProtocol: { timeoutMs: 60_000, trusted: ['192.0.2.1'] } }],
  ] as const) {
    test(`accepts no waiting client when ${what}`, async (t) => {
      const rate = new ConnectionRate(1)
      const rateCalls = new EventQueue<string>()
      rate.reserveWaitMs = () => {
        rateCalls.add('a rate')
        return 50
      }
      const stage = await open(t, { rates: [rate] })
      const client = await stage.client('PROXY TCP4 198.51.100.7 10.0.0.1 40120 1883\r\nhello')
      await rateCalls.next()
      stage.change(changed)
      await closed(client)
      assert.equal(await stage.refusals.next(), 'address-denied 127.0.0.1')
      assert.equal(stage.arrivals.left, 0)
    })
  }

  test('accepts no client that has disconnected while it waited', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const rate = new ConnectionRate(1)
    rate.reserveWaitMs = () => 5_000
    const limits = new ConnectionLimit(1)
    const left = new EventQueue<string>()
    limits.release = () => left.add('its place is free')
    const stage = await open(t, { rates: [rate], limits })
    const client = await stage.client()
    client.destroy()
    await left.next()
    t.mock.timers.tick(5_000)
    assert.equal(stage.arrivals.left, 0)
  })

  test('makes a connection wait for the slowest of its rates', async (t) => {
    const [slow, fast] = [new ConnectionRate(1), new ConnectionRate(1_000)]
    slow.reserveWaitMs = () => 60_000
    const rateCalls = new EventQueue<string>()
    fast.reserveWaitMs = () => {
      rateCalls.add('a rate')
      return 0
    }
    const stage = await open(t, { rates: [slow, fast] })
    const client = await stage.client('hello')
    await rateCalls.next()
    const gone = closed(client)
    await stage.close()
    await gone
    assert.equal(stage.arrivals.left, 0)
  })

  test('counts waiting connections against the maximum of connections', async (t) => {
    const rate = new ConnectionRate(1)
    rate.reserveWaitMs = () => 60_000
    const limits = new ConnectionLimit(1)
    const stage = await open(t, { rates: [rate], limits })
    const waiting = await stage.client()
    await closed(await stage.client())
    assert.equal(await stage.refusals.next(), 'broker-full 127.0.0.1')
    const gone = closed(waiting)
    await stage.close()
    await gone
  })
})

describe('a listener behind a proxy', () => {
  const header = 'PROXY TCP4 198.51.100.7 10.0.0.1 40120 1883\r\n'
  const proxyProtocol = { timeoutMs: 60_000, trusted: [] }

  test('uses the address of the client in the header, and loses no byte after it', async (t) => {
    const stage = await open(t, { proxyProtocol })
    const client = await stage.client(`${header}hello`)
    const { stream, received } = await stage.arrivals.next()
    assert.deepEqual([stream.remoteAddress, stream.remotePort], ['198.51.100.7', 40_120])
    assert.equal(await received.next(), 'hello')
    client.write(' again')
    assert.equal(await received.next(), ' again')
  })

  test('accepts a header that arrives byte by byte', async (t) => {
    const stage = await open(t, { proxyProtocol })
    const client = await stage.client()
    client.setNoDelay(true)
    for (const byte of `${header}x`)
      await new Promise<void>((resolve) => client.write(byte, () => setImmediate(resolve)))
    const { stream } = await stage.arrivals.next()
    assert.equal(stream.remoteAddress, '198.51.100.7')
  })

  test('uses the address of a proxy for its own connection', async (t) => {
    const stage = await open(t, { proxyProtocol })
    const client = await stage.client('PROXY UNKNOWN\r\n')
    const { stream } = await stage.arrivals.next()
    assert.deepEqual([stream.remoteAddress, stream.remotePort], ['127.0.0.1', client.localPort])
  })

  test('refuses a connection without a header, also if more data follows at once', async (t) => {
    const limits = new ConnectionLimit(1)
    const stage = await open(t, { proxyProtocol, limits })
    await closed(await stage.client('\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00'))
    assert.match(await stage.refusals.next(), /^invalid-handshake 127\.0\.0\.1: it does not begin with a PROXY header/)
    await closed(await stage.client('PROXY TCP4 nonsense\r\n'))
    assert.match(await stage.refusals.next(), /^invalid-handshake/)
    assert.equal(limits.used, 0)
  })

  test('applies the timeout of the header only until it has arrived', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const stage = await open(t, { proxyProtocol: { timeoutMs: 3_000, trusted: [] } })
    const client = await stage.client(header)
    const { received } = await stage.arrivals.next()
    t.mock.timers.tick(60_000)
    client.write('hello')
    assert.equal(await received.next(), 'hello')
    assert.equal(stage.refusals.left, 0)
  })

  test('refuses a connection that sends nothing within the timeout', async (t) => {
    const stage = await open(t, { proxyProtocol: { ...proxyProtocol, timeoutMs: 1 } })
    await closed(await stage.client('PROXY TCP4 1'))
    assert.match(await stage.refusals.next(), /did not come in time/)
  })

  test('removes a connection that is closed before the header is complete', async (t) => {
    const limits = new ConnectionLimit(1)
    const stage = await open(t, { proxyProtocol, limits })
    const client = await stage.client('PROXY TCP4 1')
    client.destroy()
    while (limits.used > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('[bad-input 13] accepts PROXY headers from the configured proxies only', async (t) => {
    const distrusting = await open(t, { proxyProtocol: { ...proxyProtocol, trusted: ['10.0.0.0/8', '::1'] } })
    await closed(await distrusting.client(`${header}hello`))
    assert.equal(await distrusting.refusals.next(), 'address-denied 127.0.0.1')
    const trusting = await open(t, { proxyProtocol: { ...proxyProtocol, trusted: ['127.0.0.1'] } })
    await trusting.client(`${header}hello`)
    assert.equal((await trusting.arrivals.next()).stream.remoteAddress, '198.51.100.7')
  })

  test('applies its rules to the client, not to the proxy', async (t) => {
    const denying = await open(t, { proxyProtocol, accessRules: [rule('deny 198.51.100.0/24')] })
    await closed(await denying.client(header))
    assert.equal(await denying.refusals.next(), 'address-denied 198.51.100.7')
    const allowing = await open(t, { proxyProtocol, accessRules: [rule('deny 127.0.0.1')] })
    await allowing.client(header)
    await allowing.arrivals.next()
  })

  test("[bad-input 13] an unexpected PROXY header is part of the client's data, and the address of the client stays", async (t) => {
    const stage = await open(t, {})
    const client = await stage.client(header)
    const { stream, received } = await stage.arrivals.next()
    assert.deepEqual([stream.remoteAddress, stream.remotePort], ['127.0.0.1', client.localPort])
    assert.equal(await received.next(), header)
  })
})
