// Section 6: MQTT over WebSocket, from the upgrade request to the packet, with frames as bytes.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ByteStream } from '../../src/transports/index.ts'
import { listener, ShardStage } from '../shard/stage.ts'
import { binary, frame, opcodes, upgradeRequest, type WebSocketPeer } from '../transports/websocket-peer.ts'
import { openWebSocketStage, path } from '../transports/websocket-stage.ts'
import { connectBytes, subscribeBytes, text, versions, type Version } from './raw.ts'

const pingRequest = Buffer.of(0xc0, 0)
const pingResponse = 'd000'

type Upgrade = (offers?: string) => Promise<{ peer: WebSocketPeer; head: string }>

/** A shard with a WebSocket listener; each call returns an upgraded connection before CONNECT. */
async function webSocketShard(t: TestContext): Promise<Upgrade> {
  const { shard } = new ShardStage(t)
  const onStream = (stream: ByteStream): void => shard.accept(stream, listener)
  const stage = await openWebSocketStage(t, { onStream })
  return async (offers = 'mqtt') => {
    const peer = await stage.peer()
    return { peer, head: await peer.request(upgradeRequest(path, { 'Sec-WebSocket-Protocol': offers })) }
  }
}

const connect = (version: Version): Buffer => connectBytes(version, { payload: [text('browser')] })

/** Reads MQTT bytes until there are so many, and returns them in hexadecimal. */
async function readResponse(peer: WebSocketPeer, bytes: number): Promise<string> {
  let arrived = Buffer.alloc(0)
  while (arrived.length < bytes) {
    const { opcode, payload } = await peer.nextFrame()
    assert.equal(opcode, opcodes.binary)
    arrived = Buffer.concat([arrived, payload])
  }
  return arrived.toString('hex')
}

for (const version of versions) {
  test(`[MQTT-6.0.0-1] [MQTT5-6.0.0-1] MQTT ${version} is received and sent in binary frames`, async (t) => {
    const { peer } = await (await webSocketShard(t))()
    peer.send(binary(connect(version)))
    assert.match(await readResponse(peer, 4), /^20..0000/)
    peer.send(binary(pingRequest))
    assert.equal(await readResponse(peer, 2), pingResponse)
  })

  test(`[MQTT-6.0.0-1] [MQTT5-6.0.0-1] a text frame closes the connection of MQTT ${version}`, async (t) => {
    const { peer } = await (await webSocketShard(t))()
    peer.send(binary(connect(version)))
    await readResponse(peer, 4)
    peer.send(frame({ opcode: opcodes.text, payload: pingRequest }), binary(pingRequest))
    assert.equal(await peer.closeCode(), 1003)
    peer.socket.end()
    await peer.ended
    assert.equal(peer.frames.left, 0, 'the text frame got no response')
  })

  test(`[MQTT-6.0.0-2] [MQTT5-6.0.0-2] a packet of MQTT ${version} may start in one frame and end in another`, async (t) => {
    const packet = connect(version)
    const upgrade = await webSocketShard(t)
    for (let cut = 1; cut < packet.length; cut += 1) {
      const { peer } = await upgrade()
      peer.send(binary(packet.subarray(0, cut)), binary(packet.subarray(cut)))
      assert.match(await readResponse(peer, 4), /^20..0000/, `cut at ${cut}`)
      peer.socket.destroy()
    }
  })

  test(`[MQTT-6.0.0-2] [MQTT5-6.0.0-2] one frame may hold many packets of MQTT ${version}`, async (t) => {
    const { peer } = await (await webSocketShard(t))()
    peer.send(binary(connect(version)))
    await readResponse(peer, 4)
    peer.send(binary(Buffer.concat([pingRequest, pingRequest, pingRequest.subarray(0, 1)])), binary(Buffer.of(0)))
    assert.equal(await readResponse(peer, 6), pingResponse.repeat(3))
  })

  test(`[MQTT-6.0.0-2] [MQTT5-6.0.0-2] [bad-input 3] a packet of MQTT ${version} that is longer than its frames reaches no subscriber`, async (t) => {
    const upgrade = await webSocketShard(t)
    const { peer: listening } = await upgrade()
    listening.send(binary(connect(version)))
    await readResponse(listening, 4)
    listening.send(binary(subscribeBytes(version, 'a')))
    await readResponse(listening, version === 5 ? 6 : 5)
    const { peer } = await upgrade()
    peer.send(binary(connectBytes(version, { payload: [text('liar')] })))
    await readResponse(peer, 4)
    // The header announces 127 bytes, and five arrive; the bytes after that reach no subscriber.
    peer.send(
      binary(Buffer.of(0x30, 127, 0, 1, 0x61, 0x78, 0x78)),
      frame({ opcode: opcodes.close, payload: Buffer.of(3, 232) }),
    )
    assert.equal(await peer.closeCode(), 1_000)
    listening.send(binary(pingRequest))
    assert.equal(await readResponse(listening, 2), pingResponse)
  })
}

test('[MQTT-6.0.0-4] [MQTT5-6.0.0-4] the subprotocol that the server selects is mqtt', async (t) => {
  const upgrade = await webSocketShard(t)
  for (const offers of ['mqtt', 'chat, mqtt', 'mqttv3.1, mqtt']) {
    const { peer, head } = await upgrade(offers)
    assert.match(head, /\r\nSec-WebSocket-Protocol: mqtt\r\n/i)
    peer.socket.destroy()
  }
  const { head } = await upgrade('chat')
  assert.match(head, /^HTTP\/1\.1 400 /)
})
