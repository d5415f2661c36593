// MQTT over QUIC with the client of the library: one stream, several streams, and limits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ByteStream, ConnectionLimit, ConnectionRate } from '../../src/transports/index.ts'
import { Authority } from './certificates.ts'
import { EventQueue } from './event-queue.ts'
import { authority, broker, connectPacket, gathered, openQuicStage, packet } from './quic-stage.ts'
import { closed, receivedBytes, written } from './websocket-stage.ts'

const publishQos0 = (text: string): string => packet(0x30, `\0\x01t${text}`)
const publishQos1 = (id: number, text: string): string => packet(0x32, `\0\x01t\0${String.fromCharCode(id)}${text}`)
const publishQos2 = (id: number, text: string): string => packet(0x34, `\0\x01t\0${String.fromCharCode(id)}${text}`)
const withId = (first: number, id: number, rest = ''): string => packet(first, `\0${String.fromCharCode(id)}${rest}`)
const puback = (id: number): string => withId(0x40, id)
const pubrec = (id: number, rest = ''): string => withId(0x50, id, rest)
const pubrel = (id: number): string => withId(0x62, id)
const pubcomp = (id: number): string => withId(0x70, id)
const subscribe = (id: number): string => withId(0x82, id, '\0\x01t\0')
const suback = (id: number): string => withId(0x90, id, '\0')
const connack = packet(0x20, '\0\0')
const pingRequest = packet(0xc0, '')
const pingResponse = packet(0xd0, '')
const disconnect = packet(0xe0, '')

const writes = (stream: ByteStream, text: string): Promise<void> => written(stream, Buffer.from(text, 'latin1'))

test('one stream is one connection, and bytes are sent in both directions', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream, chunks } = await stage.pair()
  assert.equal(stream.remoteAddress, '127.0.0.1')
  assert.ok(stream.remotePort > 0)
  assert.equal(stream.credentials?.certificate, undefined)
  control.send(publishQos0('to the broker'))
  await gathered(chunks, publishQos0('to the broker'))
  await writes(stream, 'to the client')
  await gathered(control.chunks, 'to the client')

  const end = closed(stream)
  await client.session.close()
  assert.equal(await end, undefined)
})

test('an IPv4 client has its usual address, also if the socket is for both versions', async (t) => {
  const { stream } = await (await openQuicStage(t, { host: '::' })).pair()
  assert.equal(stream.remoteAddress, '127.0.0.1')
})

test('a client with another protocol than mqtt is refused', async (t) => {
  const stage = await openQuicStage(t)
  await assert.rejects(stage.client({ alpn: ['h3'] }))
  assert.equal(stage.streams.left, 0)
})

test('large packets are received and sent completely', async (t) => {
  const stage = await openQuicStage(t)
  const { control, stream } = await stage.pair()
  const payload = Buffer.alloc(1_000_000, 'x')
  const head = Buffer.of(0x30, 0xc3, 0x84, 0x3d, 0, 1, 0x74)
  const all = receivedBytes(stream, head.length + payload.length)
  control.stream.write(Buffer.concat([head, payload]))
  assert.deepEqual(await all, Buffer.concat([head, payload]))

  const { promise: came, resolve } = Promise.withResolvers<void>()
  let bytes = 0
  control.stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes === payload.length) resolve()
  })
  await written(stream, payload)
  await came
})

test('end sends the written bytes, and the connection is closed when the client has read them', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream } = await stage.pair()
  const end = closed(stream)
  stream.write(Buffer.from('last words'), () => {})
  stream.end()
  await gathered(control.chunks, 'last words')
  await control.ended
  control.stream.end()
  assert.equal(await end, undefined)
  await client.ended
})

test('a client that does not close an ended connection is closed by timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stage = await openQuicStage(t)
  const { client, control, stream } = await stage.pair()
  const end = closed(stream)
  stream.end()
  await control.ended
  t.mock.timers.tick(5_000)
  await end
  t.mock.timers.reset()
  await client.ended
})

test('a client that closes its first stream is disconnected', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream } = await stage.pair()
  const end = closed(stream)
  control.stream.end(Buffer.from(disconnect, 'latin1'))
  assert.equal(await end, undefined)
  await client.ended
})

test('a first stream that is reset ends the connection', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream } = await stage.pair()
  const end = closed(stream)
  control.stream.close(7)
  await end
  await client.ended
})

test('the callback of a write to a closed connection is called, so that the buffer is returned', async (t) => {
  const stage = await openQuicStage(t)
  const { stream } = await stage.pair()
  const end = closed(stream)
  stream.destroy()
  await writes(stream, 'too late')
  await end
  await writes(stream, 'much too late')
})

test('received data is buffered while reading is paused, and is read in order when it resumes', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream, chunks } = await stage.pair()
  stream.pause()
  const other = await stage.pair()
  const sent = Array.from({ length: 50 }, (_, index) => publishQos0(`number ${index}`))
  for (const each of sent) control.send(each)
  client.open().send(publishQos0('beside'))
  control.send(publishQos0('marker'))
  other.control.send(publishQos0('later'))
  await other.chunks.next()
  assert.equal(chunks.left, 0)
  let all = ''
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  stream.onData = (chunk) => {
    all += chunk.toString('latin1')
    if (all.includes('marker') && all.includes('beside')) resolve()
  }
  stream.resume()
  await complete
  assert.equal(all.replace(publishQos0('beside'), ''), [...sent, publishQos0('marker')].join(''))
})

test('a client that disconnects while reading is paused is read to the end, and has its slot until then', async (t) => {
  const limits = new ConnectionLimit(10)
  const stage = await openQuicStage(t, { limits, maxConnections: 2 })
  const [{ client, control, stream, chunks }, other] = [await stage.pair(), await stage.pair()]
  stream.pause()
  const incompleteArrives = new Promise<void>((resolve) => (stream.onBuffered = resolve))
  control.send(publishQos0('a last word') + disconnect)
  client.open().send(publishQos0('is never complete').slice(0, 5))
  // Earlier bytes have arrived, too. A close drops bytes in flight.
  await incompleteArrives
  await client.session.close()
  // Later clients have disconnected, and so has the first.
  const otherEnd = closed(other.stream)
  await other.client.session.close()
  await otherEnd
  assert.equal(limits.used, 1)
  await stage.pair()
  await (
    await stage.client()
  ).ended
  assert.equal(await stage.refusals.next(), 'listener-full')
  const end = closed(stream)
  stream.resume()
  await gathered(chunks, publishQos0('a last word') + disconnect)
  assert.equal(await end, undefined)
  assert.equal(limits.used, 1)
})

test('a client that keeps sending while reading is paused is disconnected, and another client is not', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream } = await stage.pair()
  const otherClient = await stage.pair()
  const end = closed(stream)
  stream.pause()
  const piece = Buffer.from(publishQos0('x'.repeat(16_000)), 'latin1')
  for (let bytes = 0; bytes < 12_000_000; bytes += piece.length) control.stream.write(piece)
  assert.match(String(await end), /while reading was paused/)
  await client.ended
  otherClient.control.send(publishQos0('still here'))
  await gathered(otherClient.chunks, publishQos0('still here'))
})

test('packets of several streams are received completely, however they are split', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, chunks } = await stage.pair()
  const data = client.open()
  const [first, second] = [publishQos0('in two parts'), publishQos0('in one')]
  data.send(first.slice(0, 9))
  control.send(second)
  await gathered(chunks, second)
  data.send(first.slice(9))
  await gathered(chunks, first)
})

test('an acknowledgement goes on the stream of its packet; all other packets go on the first stream', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream, chunks } = await stage.pair()
  const [one, two] = [client.open(), client.open()]
  one.send(publishQos1(7, 'a') + publishQos2(8, 'b'))
  await gathered(chunks, publishQos1(7, 'a') + publishQos2(8, 'b'))
  two.send(subscribe(9))
  await gathered(chunks, subscribe(9))
  control.send(publishQos1(10, 'c'))
  await gathered(chunks, publishQos1(10, 'c'))
  const message = publishQos0('for the subscriber')
  await writes(stream, puback(7) + message + suback(9) + pubrec(8) + puback(10))
  await gathered(one.chunks, puback(7) + pubrec(8))
  await gathered(two.chunks, suback(9))
  await gathered(control.chunks, message + puback(10))

  one.send(pubrel(8))
  await chunks.next()
  // Packets with identifiers of the broker acknowledge nothing.
  await writes(stream, pubcomp(8) + pubrel(7) + puback(7))
  await gathered(one.chunks, pubcomp(8))
  await gathered(control.chunks, pubrel(7) + puback(7))
})

test('an acknowledgement whose stream is closed goes on the first stream', async (t) => {
  const stage = await openQuicStage(t)
  const { client, control, stream, chunks } = await stage.pair()
  const data = client.open()
  data.send(publishQos1(7, 'a'))
  await chunks.next()
  data.stream.end()
  await data.ended
  await writes(stream, puback(7))
  await gathered(control.chunks, puback(7))
})

test('packets on other streams wait for CONNECT', async (t) => {
  const stage = await openQuicStage(t)
  const client = await stage.client()
  const control = client.open()
  client.open().send(publishQos0('early'))
  control.send(connectPacket.slice(0, 1))
  const { chunks } = await stage.next()
  control.send(connectPacket.slice(1))
  await gathered(chunks, connectPacket)
  await gathered(chunks, publishQos0('early'))
})

for (const [what, bytes] of [
  ['CONNECT', connectPacket],
  ['DISCONNECT', disconnect],
  ['AUTH', packet(0xf0, '')],
  ["a server's own packet", pingResponse],
] as const) {
  test(`${what} on another stream than the first ends the connection`, async (t) => {
    const stage = await openQuicStage(t)
    const { client, stream } = await stage.pair()
    const end = closed(stream)
    client.open().send(bytes)
    assert.match(String(await end), /belongs on the first stream/)
  })
}

test('a packet that is too long is not buffered: its first bytes reach the decoder, which refuses it', async (t) => {
  const stage = await openQuicStage(t, { maxPacketBytes: 1_000 })
  const { control, chunks } = await stage.pair()
  control.send(String.fromCharCode(0x30, 0xff, 0xff, 0xff, 0x7f))
  await gathered(chunks, String.fromCharCode(0x30, 0xff, 0xff, 0xff, 0x7f))
})

test('bytes that do not start with CONNECT are not buffered', async (t) => {
  const stage = await openQuicStage(t)
  const client = await stage.client()
  client.open().send(publishQos1(1, 'x'.repeat(1_000)).slice(0, 50))
  const { chunks } = await stage.next()
  assert.equal((await chunks.next()).length, 50)
})

test('partial packets on many streams together are limited to the size of one packet', async (t) => {
  const stage = await openQuicStage(t, { maxPacketBytes: 1_000 })
  const { client, stream } = await stage.pair()
  const end = closed(stream)
  for (let count = 0; count < 3; count += 1) client.open().send(publishQos0('x'.repeat(900)).slice(0, 600))
  assert.match(String(await end), /too many packets/)
})

test('at most a megabyte of packets of an unauthenticated client is buffered', async (t) => {
  const stage = await openQuicStage(t, { maxPacketBytes: 4_000_000 })
  // The start of a PUBLISH of 3,000,000 bytes.
  const half = String.fromCharCode(0x30, 0xc0, 0x8d, 0xb7, 0x01) + 'x'.repeat(1_500_000)
  for (const isFirst of [true, false]) {
    const { client, control, stream } = await stage.pair()
    const end = closed(stream)
    if (isFirst) control.send(half)
    else client.open().send(half)
    assert.match(String(await end), /unauthenticated client/)
  }
  const { client, control, stream, chunks } = await stage.pair()
  await writes(stream, connack)
  client.open().send(half)
  control.send(pingRequest)
  await gathered(chunks, pingRequest)
})

test('a client that opens no stream is disconnected by timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const stage = await openQuicStage(t, { streamTimeoutMs: 2_000 })
  const client = await stage.client()
  const talking = await stage.pair()
  t.mock.timers.tick(2_000)
  assert.equal(await stage.refusals.next(), '127.0.0.1: it has opened no stream in time')
  await client.ended
  talking.control.send(publishQos0('still here'))
  await gathered(talking.chunks, publishQos0('still here'))
})

test('an idle connection is closed', async (t) => {
  const stage = await openQuicStage(t, { idleTimeoutMs: 1_500 })
  const { stream } = await stage.pair()
  await closed(stream)
})

test('one connection more than the limit of the listener is closed and reported; then a slot is free again', async (t) => {
  const limits = new ConnectionLimit(10)
  const stage = await openQuicStage(t, { maxConnections: 1, limits })
  const first = await stage.pair()
  const second = await stage.client()
  await second.ended
  assert.equal(await stage.refusals.next(), 'listener-full')
  assert.equal(limits.used, 1)
  const end = closed(first.stream)
  await first.client.session.close()
  await end
  assert.equal(limits.used, 0)
  await stage.pair()
})

test('a thread with the maximum of connections, or without descriptors, refuses further ones', async (t) => {
  const poor = new ConnectionLimit(10)
  Object.defineProperty(poor, 'reasonToRefuse', { value: 'broker-full' })
  const lacking = await openQuicStage(t, { limits: poor })
  await (
    await lacking.client()
  ).ended
  assert.equal(await lacking.refusals.next(), 'broker-full')
  const stage = await openQuicStage(t, { limits: new ConnectionLimit(0) })
  await (
    await stage.client()
  ).ended
  assert.equal(await stage.refusals.next(), 'broker-full')
})

test('a connection above the rate, or from a denied address, is closed with a reason, and does not count', async (t) => {
  const limits = new ConnectionLimit(10)
  const rate = new ConnectionRate(1)
  rate.reserveWaitMs = () => undefined
  for (const [reason, options] of [
    ['too-fast', { rates: [rate] }],
    ['address-denied', { accessRules: [{ isAllowed: false, range: '127.0.0.0/8' }] }],
  ] as const) {
    const stage = await openQuicStage(t, { limits, ...options })
    const client = await stage.client()
    await client.ended
    assert.equal(await stage.refusals.next(), reason)
    assert.equal(limits.used, 0)
  }
})

test('a client certificate is verified, and its fields belong to the stream', async (t) => {
  const credentials = {
    key: broker.key,
    certificate: broker.certificate,
    authorities: authority.certificate,
    requiresCertificate: true,
  }
  const stage = await openQuicStage(t, { credentials })
  const device = authority.issue('device-7')
  const client = await stage.client({ cert: device.certificate, key: device.key })
  client.open().send(connectPacket)
  const stream = await stage.streams.next()
  assert.equal(stream.credentials?.certificate?.commonName, 'device-7')

  const unknownCertificate = new Authority('elsewhere').issue('device-7')
  for (const shown of [{}, { cert: unknownCertificate.certificate, key: unknownCertificate.key }]) {
    const refused = await stage.client(shown).catch(() => undefined)
    if (refused === undefined) continue
    // The handshake may complete before the refusal; later bytes reach no handler.
    refused.open().send(connectPacket)
    await refused.ended
    assert.equal(stage.streams.left, 0)
  }
})

test('a client that has opened no stream is disconnected with its listener, and does not hold the address', async (t) => {
  const limits = new ConnectionLimit(1)
  const arrived = new EventQueue<string>()
  limits.acquire = () => {
    arrived.add('a client')
    return undefined
  }
  const stage = await openQuicStage(t, { limits, streamTimeoutMs: 300_000 })
  const silent = await stage.client()
  await arrived.next()
  await stage.listener.close()
  await silent.ended
  await stage.listener.waitUntilReleased?.()
})

test('a closed listener accepts no client and leaves its open connections alone', async (t) => {
  const stage = await openQuicStage(t)
  const { control, chunks } = await stage.pair()
  await stage.listener.close()
  await (
    await stage.client()
  ).ended
  control.send(publishQos0('still here'))
  await gathered(chunks, publishQos0('still here'))
})

test('an address that cannot be bound is refused with the error of the system', async (t) => {
  const stage = await openQuicStage(t)
  await assert.rejects(openQuicStage(t, { port: stage.listener.port }), { code: 'EADDRINUSE' })
})
