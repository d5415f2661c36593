// The transport that both standards require: bytes in both directions, in order, without loss.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { listenTcp } from '../../src/transports/index.ts'
import { listener, ShardStage } from '../shard/stage.ts'
import { connectBytes, publishBytes, subscribeBytes, text, versions } from './raw.ts'

const messages = 500

for (const version of versions) {
  test(`[MQTT-7.1.1-1] [MQTT5-4.2-1] over TCP, all packets are received and sent in order, however the bytes are split (version ${version})`, async (t) => {
    const { shard } = new ShardStage(t)
    const tcp = await listenTcp({ host: '127.0.0.1', port: 0, onStream: (stream) => shard.accept(stream, listener) })
    t.after(() => tcp.close())
    const socket = connect(tcp.port, '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    const payloads = Array.from({ length: messages }, (_, number) => `${number} ${'x'.repeat(number % 90)}`)
    const sent = Buffer.concat([
      connectBytes(version, { payload: [text('tcp')] }),
      subscribeBytes(version, 'a'),
      ...payloads.map((payload) => publishBytes(version, 'a', { payload })),
    ])
    for (let at = 0, length = 1; at < sent.length; at += length++) socket.write(sent.subarray(at, at + length))

    const echoes = Buffer.concat(payloads.map((payload) => publishBytes(version, 'a', { payload })))
    let received = Buffer.alloc(0)
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer])
      if (received.subarray(-echoes.length).equals(echoes)) break
    }
    assert.equal(received[0], 0x20)
    assert.equal(received[received[1] + 2], 0x90)
  })
}
