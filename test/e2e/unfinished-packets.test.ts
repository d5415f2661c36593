// A thousand clients send incomplete large packets over real sockets: their memory is limited, and a client that completes a large
// packet is served.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { PacketDecoder, reasonCodes, TopicTable, type Packet } from '../../src/protocol/index.ts'
import { encode, encodePublish } from '../simulator/wire.ts'
import { EventQueue } from '../transports/event-queue.ts'
import { binary, upgradeRequest, WebSocketPeer } from '../transports/websocket-peer.ts'
import { portOf, startBroker } from './godwit-process.ts'
import { plainConnect } from '../simulator/plain-connect.ts'
import { shardNumbers } from '../test-length.ts'

const packetBytes = 100_000
/** The part of each packet that is sent. */
const sentBytes = 90_000
const limitBytes = 8 * 1_048_576
const incompletePackets = 1_000
/** Far fewer than exhaust the limit of one shard, so that a client with a complete packet is served meanwhile. */
const simultaneousPackets = 10

const large = encodePublish({ topic: 'large', payload: 'x'.repeat(packetBytes - 12), qos: 1, packetId: 1 }, 5)
const topics = new TopicTable(1_024)

const connectOf = (clientId: string): Buffer => encode(plainConnect(5, clientId), 5)

/** A client on a TCP socket that can send parts of packets. */
class RawClient {
  readonly socket: Socket
  readonly packets = new EventQueue<Packet>()
  readonly #decoder = new PacketDecoder({
    role: 'client',
    version: 5,
    topics,
    maxPacketBytes: 1_000_000,
    maxPropertyBytes: 10_000,
    maxTopicLevels: 10,
    maxTopicBytes: 65_535,
  })

  constructor(t: TestContext, port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    t.after(() => this.socket.destroy())
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk) => this.#read(chunk))
  }

  async connect(clientId: string): Promise<void> {
    this.socket.write(connectOf(clientId))
    assert.equal((await this.packets.next()).type, 'connack')
  }

  #read(chunk: Buffer): void {
    this.#decoder.push(chunk)
    for (let packet = this.#decoder.next(); packet !== undefined; packet = this.#decoder.next())
      this.packets.add(packet)
  }
}

/** Counts closed connections, and those that got DISCONNECT with the reason. */
class Crowd {
  readonly #gone = new EventQueue<string>()
  disconnectsWithReason = 0

  async addOverTcp(t: TestContext, port: number, clientId: string): Promise<void> {
    const client = new RawClient(t, port)
    client.socket.once('close', () => this.#gone.add(clientId))
    await client.connect(clientId)
    void client.packets.next().then((packet) => {
      if (packet.type === 'disconnect' && packet.reasonCode === reasonCodes.quotaExceeded) this.disconnectsWithReason++
    })
    client.socket.write(large.subarray(0, sentBytes))
  }

  async addOverWebSocket(t: TestContext, port: number, clientId: string): Promise<void> {
    const peer = await WebSocketPeer.connect(port)
    t.after(() => peer.socket.destroy())
    peer.socket.once('close', () => this.#gone.add(clientId))
    await peer.request(upgradeRequest('/mqtt'))
    peer.send(binary(connectOf(clientId)))
    await peer.nextFrame()
    peer.send(binary(large).subarray(0, sentBytes))
  }

  async until(gone: number): Promise<void> {
    for (let count = 0; count < gone; count++) await this.#gone.next()
  }
}

for (const shards of shardNumbers(1, 2)) {
  test(`a thousand packets that are never completed use no more memory than their limit (shards: ${shards})`, async (t) => {
    const set = [`node.shards=${shards}`, `mqtt.max_unfinished_bytes_total=${limitBytes}`]
    const broker = await startBroker(t, {
      set: [...set, 'listeners.ws.bind="127.0.0.1:0"', 'sys_topics.client_events=false'],
    })
    const honest = new RawClient(t, broker.port)
    await once(honest.socket, 'connect')
    await honest.connect('honest')
    const crowd = new Crowd()
    const pieceBytes = Math.ceil(large.length / (incompletePackets / simultaneousPackets / 2))
    let at = 0
    for (let count = 0; count < incompletePackets; count += simultaneousPackets) {
      const added = Array.from({ length: simultaneousPackets }, (_, index) => {
        const clientId = `hog ${count + index}`
        if (index % 2 === 0) return crowd.addOverTcp(t, broker.port, clientId)
        return crowd.addOverWebSocket(t, portOf(broker, 'ws'), clientId)
      })
      await Promise.all(added)
      // One complete packet after each half of the clients; the last part of the second packet is sent after all of them.
      const isLast = count + simultaneousPackets >= incompletePackets
      const end = isLast ? 2 * large.length : Math.min(at + pieceBytes, 2 * large.length - 1)
      honest.socket.write(Buffer.concat([large, large]).subarray(at, end))
      at = end
    }
    await crowd.until(incompletePackets - Math.floor(limitBytes / sentBytes))
    assert.equal((await honest.packets.next()).type, 'puback')
    assert.equal((await honest.packets.next()).type, 'puback')
    assert.ok(crowd.disconnectsWithReason > 0)
  })
}
