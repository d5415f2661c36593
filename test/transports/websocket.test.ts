// RFC 6455 for MQTT: valid and invalid frames, at every split, and limits.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { ByteStream } from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'
import { standStill } from './paused-reader.ts'
import { acceptance, binary, frame, opcodes, upgradeRequest, WebSocketPeer } from './websocket-peer.ts'
import { closed, openWebSocketStage, path, received, receivedBytes, written } from './websocket-stage.ts'

const { continuation, text, close, ping, pong } = opcodes
const normalClose = frame({ opcode: close, payload: Buffer.of(0x03, 0xe8) })

test('an upgrade is accepted as RFC 6455 requires, and bytes are sent in both directions', async (t) => {
  const stage = await openWebSocketStage(t)
  const peer = await stage.peer()
  const head = await peer.request(upgradeRequest(path))
  assert.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  assert.ok(head.includes(`Sec-WebSocket-Accept: ${acceptance}\r\n`))
  const stream = await stage.streams.next()
  assert.equal(stream.remoteAddress, '127.0.0.1')
  assert.equal(stream.remotePort, peer.socket.localPort)

  const chunks = received(stream)
  peer.send(binary('to the broker'))
  assert.equal(await chunks.next(), 'to the broker')

  await written(stream, 'to the client')
  const frameBack = await peer.nextFrame()
  assert.deepEqual(frameBack, {
    opcode: opcodes.binary,
    isFinal: true,
    isMasked: false,
    reservedBits: 0,
    payload: Buffer.from('to the client'),
  })
})

test('frames after the request in the same packet are not lost', async (t) => {
  const { promise: came, resolve } = Promise.withResolvers<string>()
  const onStream = (stream: ByteStream): void => {
    stream.onData = (chunk) => resolve(chunk.toString())
  }
  const stage = await openWebSocketStage(t, { onStream })
  const peer = await stage.peer()
  await peer.request(Buffer.concat([Buffer.from(upgradeRequest(path)), binary('early')]))
  assert.equal(await came, 'early')
})

test('a message is the same however its bytes and fragments are split', async (t) => {
  const stage = await openWebSocketStage(t)
  const payload = Buffer.from(Array.from({ length: 200 }, (_, index) => index))
  const parts = [
    frame({ opcode: opcodes.binary, payload: payload.subarray(0, 130), isFinal: false }),
    frame({ opcode: ping, payload: 'between' }),
    frame({ opcode: continuation, payload: '', isFinal: false }),
    frame({ opcode: continuation, payload: payload.subarray(130) }),
  ]
  const bytes = Buffer.concat(parts)
  for (let cut = 1; cut < bytes.length; cut += 1) {
    const { peer, stream } = await stage.pair()
    const all = receivedBytes(stream, payload.length)
    peer.socket.write(bytes.subarray(0, cut))
    await new Promise((resolve) => setImmediate(resolve))
    peer.socket.write(bytes.subarray(cut))
    assert.deepEqual(await all, payload, `cut at ${cut}`)
    assert.equal((await peer.nextFrame()).opcode, pong)
    peer.socket.destroy()
  }
})

test('lengths of 125, 126, 65,535 and 65,536 bytes are read and written', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  for (const length of [1, 125, 126, 65_535, 65_536]) {
    const payload = Buffer.alloc(length, length)
    const all = receivedBytes(stream, length)
    peer.send(binary(payload))
    assert.deepEqual(await all, payload)
    await written(stream, payload)
    assert.deepEqual((await peer.nextFrame()).payload, payload)
  }
})

const malformed: [what: string, bytes: Buffer, code: number][] = [
  ['without a mask', frame({ opcode: opcodes.binary, payload: 'open', isMasked: false }), 1002],
  ['with a reserved bit', frame({ opcode: opcodes.binary, payload: 'x', reservedBits: 1 }), 1002],
  ['that says it is compressed', frame({ opcode: opcodes.binary, payload: 'x', reservedBits: 4 }), 1002],
  ['with an unknown opcode', frame({ opcode: 3, payload: 'x' }), 1002],
  ['with an unknown control opcode', frame({ opcode: 11, payload: 'x' }), 1002],
  ['that continues nothing', frame({ opcode: continuation, payload: 'x' }), 1002],
  [
    'that begins a message within another',
    Buffer.concat([frame({ opcode: opcodes.binary, payload: 'a', isFinal: false }), binary('b')]),
    1002,
  ],
  ['of a ping of 126 bytes', frame({ opcode: ping, payload: Buffer.alloc(126) }), 1002],
  ['of a ping in parts', frame({ opcode: ping, payload: 'x', isFinal: false }), 1002],
  ['of a close of one byte', frame({ opcode: close, payload: 'x' }), 1002],
  ['of a close with a code that may not be sent', frame({ opcode: close, payload: Buffer.of(0x03, 0xed) }), 1002],
  ['of text', frame({ opcode: text, payload: 'hello' }), 1003],
  ['that claims more than a message may have', frame({ opcode: opcodes.binary, claimedBytes: 1_048_577 }), 1009],
  ['that claims 2^53 bytes', frame({ opcode: opcodes.binary, claimedBytes: 2 ** 53 }), 1009],
]
for (const [what, bytes, code] of malformed) {
  test(`a frame ${what} ends the connection with ${code}, and another client is not affected`, async (t) => {
    const stage = await openWebSocketStage(t)
    const otherClient = await stage.pair()
    const { peer, stream } = await stage.pair()
    const passed: Buffer[] = []
    stream.onData = (chunk) => passed.push(chunk)
    const end = closed(stream)
    peer.send(bytes, binary('and what follows'))
    assert.equal(await peer.closeCode(), code)
    peer.send(normalClose)
    peer.socket.end()
    assert.ok((await end) instanceof Error)
    assert.deepEqual(passed, [])
    const chunks = received(otherClient.stream)
    otherClient.peer.send(binary('still here'))
    assert.equal(await chunks.next(), 'still here')
  })
}

test('[MQTT-6.0.0-1] [MQTT5-6.0.0-1] a client that sends text and does not return the close frame is disconnected after a second', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer } = await stage.pair()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  peer.send(frame({ opcode: text, payload: 'hello' }))
  assert.equal(await peer.closeCode(), 1003)
  t.mock.timers.tick(1_000)
  await peer.ended
})

test('parts of a message that exceed the limit together end the connection with 1009', async (t) => {
  const stage = await openWebSocketStage(t, { maxMessageBytes: 1_000 })
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  peer.send(
    frame({ opcode: opcodes.binary, payload: Buffer.alloc(600), isFinal: false }),
    frame({ opcode: continuation, payload: Buffer.alloc(600), isFinal: false }),
  )
  assert.equal(await peer.closeCode(), 1009)
  peer.socket.destroy()
  await end
})

test('at most a megabyte of a message of an unauthenticated client is buffered', async (t) => {
  const stage = await openWebSocketStage(t, { maxMessageBytes: 4_000_000 })
  const large = binary(Buffer.alloc(2_000_000))
  const unauthenticated = await stage.pair()
  const end = closed(unauthenticated.stream)
  unauthenticated.peer.socket.on('error', () => {})
  unauthenticated.peer.send(large)
  assert.match(String(await end), /unauthenticated client/)

  const client = await stage.pair()
  for (const message of ['CONNECT', 'and more']) {
    const chunks = received(client.stream)
    client.peer.send(binary(message))
    assert.equal(await chunks.next(), message)
  }
  // AUTH does not authenticate the client yet.
  await written(client.stream, Buffer.of(0xf0, 0x00))
  await written(client.stream, Buffer.of(0x20, 0x02, 0x00, 0x00))
  const all = receivedBytes(client.stream, 2_000_000)
  client.peer.send(large)
  assert.equal((await all).length, 2_000_000)
})

test('the buffered bytes of a message are reported until it is passed on', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const reported = new EventQueue<number>()
  const chunks = received(stream)
  stream.onBuffered = () => reported.add(stream.bufferedBytes ?? 0)
  const whole = binary(Buffer.alloc(60_000, 'x'))
  peer.send(binary('first'), whole.subarray(0, 20_000))
  assert.equal(await chunks.next(), 'first')
  assert.ok((await reported.next()) >= 20_000)
  peer.send(whole.subarray(20_000))
  assert.equal((await chunks.next()).length, 60_000)
  let bytes = await reported.next()
  while (bytes > 0) bytes = await reported.next()
})

test('a client that is disconnected within a large message gets DISCONNECT and is closed', async (t) => {
  // The timeout for a peer that does not close is never reached.
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const isGathered = new Promise<void>((resolve) => {
    stream.onBuffered = () => {
      if ((stream.bufferedBytes ?? 0) >= 90_000) resolve()
    }
  })
  peer.send(binary(Buffer.alloc(100_000)).subarray(0, 90_000))
  await isGathered
  const end = closed(stream)
  stream.write(Buffer.from('last words'), () => {})
  stream.end()
  assert.equal(stream.bufferedBytes, 0)
  assert.equal((await peer.nextFrame()).payload.toString(), 'last words')
  assert.equal(await peer.closeCode(), 1000)
  await end
})

test('a message of endless empty parts ends the connection', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  const nothing = frame({ opcode: continuation, isFinal: false })
  peer.send(frame({ opcode: opcodes.binary, isFinal: false }), ...Array.from({ length: 5_000 }, () => nothing))
  assert.equal(await peer.closeCode(), 1008)
  peer.socket.destroy()
  await end
})

test('offered compression is not used', async (t) => {
  const stage = await openWebSocketStage(t)
  const peer = await stage.peer()
  const offer = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' }
  const head = await peer.request(upgradeRequest(path, offer))
  assert.match(head, /^HTTP\/1\.1 101/)
  assert.doesNotMatch(head, /extensions/i)
})

test('a ping gets a pong with the same payload', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer } = await stage.pair()
  peer.send(frame({ opcode: ping, payload: 'are you there?' }))
  const response = await peer.nextFrame()
  assert.equal(response.opcode, pong)
  assert.equal(response.payload.toString(), 'are you there?')
})

test('of several pings that arrive before the first pong is sent, only the latest gets a pong', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer } = await stage.pair()
  peer.send(...['one', 'two', 'three'].map((payload) => frame({ opcode: ping, payload })))
  const responses = [await peer.nextFrame(), await peer.nextFrame()]
  peer.send(frame({ opcode: ping, payload: 'four' }))
  responses.push(await peer.nextFrame())
  assert.deepEqual(
    responses.map(({ payload }) => payload.toString()),
    ['one', 'three', 'four'],
  )
})

for (const [what, opcode] of [
  ['pings', ping],
  ['pongs', pong],
  ['empty messages', opcodes.binary],
] as const) {
  test(`a flood of ${what} closes the connection, with few responses`, async (t) => {
    const stage = await openWebSocketStage(t)
    const { peer, stream } = await stage.pair()
    stream.onData = () => assert.fail('nothing of it is MQTT')
    const end = closed(stream)
    peer.send(...Array.from({ length: 10_000 }, () => frame({ opcode })))
    assert.equal(await peer.closeCode(), 1008)
    assert.equal(peer.frames.left, 0)
    peer.socket.destroy()
    assert.match(String(await end), /flood/)
  })
}

test('a close frame gets a close frame, and is not an error', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  peer.send(normalClose)
  assert.equal(await peer.closeCode(), 1000)
  await peer.ended
  assert.equal(await end, undefined)
})

test('a paused reader gets a close when it resumes, or ends the stream itself', async (t) => {
  const stage = await openWebSocketStage(t)
  for (const goOn of ['resume', 'end', 'destroy'] as const) {
    const { peer, stream } = await stage.pair()
    const events = standStill(stream)
    const gone = once(await stage.sockets.next(), 'close')
    peer.send(binary('goodbye'), normalClose)
    assert.equal(await events.next(), 'goodbye')
    await gone
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(events.left, 0)
    stream[goOn]()
    assert.equal(await events.next(), 'closed')
  }
})

test('a peer that resets within a frame is reported once', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  peer.socket.write(binary('unfinished').subarray(0, 5))
  peer.socket.end()
  await end
})

test('end sends the written bytes, then the close frame, even while the peer goes on sending', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  stream.onData = () => assert.fail('nothing is passed on after the end')
  let isWritten = false
  stream.write(Buffer.alloc(300_000, 'x'), () => {
    isWritten = true
  })
  stream.write(Buffer.from('last words'), () => {})
  stream.end()
  peer.send(binary('talks on'))
  assert.equal((await peer.nextFrame()).payload.length, 300_000)
  assert.equal((await peer.nextFrame()).payload.toString(), 'last words')
  assert.equal(await peer.closeCode(), 1000)
  peer.send(normalClose)
  await peer.ended
  assert.equal(await end, undefined)
  assert.ok(isWritten)
})

test('a stream that was paused ends as fast as any other', async (t) => {
  // The timeout for a peer that does not close is never reached.
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  stream.pause()
  peer.send(binary('never read'))
  stream.end()
  assert.equal(await peer.closeCode(), 1000)
  peer.send(normalClose)
  assert.equal(await end, undefined)
})

test('a peer that does not return the close frame is closed by timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  const end = closed(stream)
  stream.end()
  assert.equal(await peer.closeCode(), 1000)
  t.mock.timers.tick(5_000)
  await end
})

test('a paused stream is not read, so that the sender has to wait', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  let passed = 0
  const { promise: first, resolve: firstCame } = Promise.withResolvers<void>()
  stream.onData = (chunk) => {
    passed += chunk.length
    if (passed === chunk.length) stream.pause()
    firstCame()
  }
  // Much more than the buffers of both ends together.
  const sent = 64 * 1_024 * 1_024
  const piece = binary(Buffer.alloc(1_000_000))
  let isDrained = true
  for (let bytes = 0; bytes < sent; bytes += piece.length) isDrained = peer.socket.write(piece) && isDrained
  assert.equal(isDrained, false)
  await first
  const other = await stage.pair()
  const chunks = received(other.stream)
  other.peer.send(binary('later than all that'))
  await chunks.next()
  assert.ok(passed < 3_000_000, `${passed} bytes came through while it was paused`)
  assert.ok(peer.socket.writableLength > 0, 'the sender still has unread bytes')
  stream.resume()
  await once(peer.socket, 'drain')
})

test('the callback of a write to a closed stream is called, so that the buffer is returned', async (t) => {
  const stage = await openWebSocketStage(t)
  const { stream } = await stage.pair()
  const end = closed(stream)
  stream.destroy()
  await written(stream, 'too late')
  await end
  await written(stream, 'much too late')
})

test('the callback of a write is called if the peer vanishes', async (t) => {
  const stage = await openWebSocketStage(t)
  const { peer, stream } = await stage.pair()
  peer.socket.pause()
  const isWritten = written(stream, Buffer.alloc(64 * 1_024 * 1_024))
  peer.socket.resetAndDestroy()
  await isWritten
})

test('a request that is not complete within the timeout is closed, however slowly it arrives', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const stage = await openWebSocketStage(t, { upgradeTimeoutMs: 3_000 })
  const peers = [await stage.peer(), await stage.peer()]
  peers[0]?.socket.write('GET /mqtt HTTP/1.1\r\nHost: x\r\n')
  const healthy = await stage.pair()
  t.mock.timers.tick(1_000)
  peers[0]?.socket.write('X-A: b\r\n')
  t.mock.timers.tick(2_000)
  await Promise.all(peers.map((peer) => peer.ended))
  assert.equal(await stage.refusals.next(), 'no WebSocket request in time')
  const chunks = received(healthy.stream)
  healthy.peer.send(binary('upgraded in time'))
  assert.equal(await chunks.next(), 'upgraded in time')
})

test('a refused client that does not close is closed by timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const stage = await openWebSocketStage(t, { upgradeTimeoutMs: 1_000 })
  const client = connect({ port: stage.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => client.destroy())
  const socket = await stage.sockets.next()
  const closing = once(socket, 'close')
  assert.match(await new WebSocketPeer(client).request(upgradeRequest('/elsewhere')), /^HTTP\/1\.1 404/)
  assert.equal(socket.destroyed, false)
  t.mock.timers.tick(1_000)
  await closing
})
