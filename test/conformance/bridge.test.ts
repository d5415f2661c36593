// Section 7 of MQTT 3.1.1: a bridge is a client of the remote server, and follows the rules for clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketDecoder, TopicTable, type Packet } from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { Bridged } from '../bridges/bridged-brokers.ts'
import { bytes, publishBytes } from './raw.ts'

const bridge = `proto_ver = 4, clean_start = false, clientid = c, keepalive = 20s,
  forwards = [{local_topic = "out/#", remote_topic = ""}],
  subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]`

const pingresp = bytes`d0 00`

/** A server on byte level: it records the packets of each connection, decoded strictly, and sends bytes. */
class BareServer {
  readonly packetsByConnection: Packet[][] = []
  #stream: ByteStream | undefined

  readonly accept = (stream: ByteStream): void => {
    this.#stream = stream
    const packetsByConnection: Packet[] = []
    this.packetsByConnection.push(packetsByConnection)
    const limits = { maxPacketBytes: 1_000_000, maxPropertyBytes: 32_768, maxTopicLevels: 128, maxTopicBytes: 65_535 }
    const decoder = new PacketDecoder({ role: 'server', topics: new TopicTable(64), ...limits })
    stream.onData = (chunk) => {
      decoder.push(Buffer.from(chunk))
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) packetsByConnection.push(packet)
    }
    stream.onClose = () => undefined
  }

  /** The packets on the last connection since the last call. */
  take(): Packet[] {
    return this.packetsByConnection.at(-1)?.splice(0) ?? []
  }

  send(world: Bridged, packet: Buffer): Packet[] {
    this.#stream?.write(packet, () => undefined)
    world.settle()
    return this.take()
  }

  /**
   * A bridge without a session on the server connects twice: with a clean start, and without. Then it sends PINGREQ. Returns
   * the packets after the last response.
   */
  acceptBridge(world: Bridged, sessionPresent = false): Packet[] {
    const connack = sessionPresent ? bytes`20 02 01 00` : bytes`20 02 00 00`
    let packetsByConnection = this.take()
    for (let round = 0; round < 4; round++) {
      const last = packetsByConnection.at(-1)?.type
      if (last === 'connect') packetsByConnection = this.send(world, connack)
      else if (last === 'pingreq') packetsByConnection = this.send(world, pingresp)
    }
    return packetsByConnection
  }

  /** Ends the connection, and waits until the bridge reconnects. */
  breakConnection(world: Bridged): void {
    this.#stream?.end()
    world.passSeconds(30)
  }
}

const idOf = (packet: Packet | undefined): number =>
  packet !== undefined && 'packetId' in packet ? packet.packetId : 0
const idBytes = (id: number): number[] => [id >> 8, id & 0xff]
const typesOf = (packets: readonly Packet[]): string[] => packets.map(({ type }) => type)

test('[MQTT-7.0.0-1] a bridge sends CONNECT first, and nothing else before CONNACK', () => {
  const server = new BareServer()
  const world = new Bridged({ bridge, crafted: server.accept })
  world.local.publish('out/a', 'x', { qos: 1 })
  const [connect, ...more] = server.take()
  assert.ok(connect?.type === 'connect')
  assert.deepEqual([connect.version, connect.clientId], [4, 'c'])
  assert.deepEqual(more, [])
  assert.deepEqual(typesOf(server.send(world, bytes`20 02 00 00`)), ['pingreq'], 'packets behind CONNACK are handled')
  assert.deepEqual(
    typesOf(server.send(world, pingresp)),
    ['connect'],
    'the second connection, which resumes the session',
  )
  assert.deepEqual(typesOf(server.send(world, bytes`20 02 00 00`)).sort(), ['publish', 'subscribe'])
})

test('[MQTT-7.0.0-1] a bridge sends unacknowledged messages again with DUP and the same packet identifier, and sends PINGREQ within its keep alive', () => {
  const server = new BareServer()
  const world = new Bridged({ bridge, crafted: server.accept })
  server.acceptBridge(world)
  world.local.publish('out/a', 'x', { qos: 1 })
  const [first] = server.take()
  assert.ok(first?.type === 'publish' && !first.dup)
  server.breakConnection(world)
  const again = server.acceptBridge(world, true).filter(({ type }) => type === 'publish')
  assert.deepEqual(
    again.map((packet) => [packet.type === 'publish' && packet.dup, idOf(packet)]),
    [[true, first.packetId]],
  )
  server.send(world, Buffer.from([0x40, 2, ...idBytes(first.packetId)]))
  world.passSeconds(20)
  assert.ok(typesOf(server.take()).includes('pingreq'))
})

test('[MQTT-7.0.0-1] a bridge acknowledges each step of QoS 2, and delivers a redelivered message once', () => {
  const server = new BareServer()
  const world = new Bridged({ bridge, crafted: server.accept })
  const subscriber = world.local.subscriber('in/#', { qos: 2 })
  const subscribe = server.acceptBridge(world).find(({ type }) => type === 'subscribe')
  server.send(world, Buffer.from([0x90, 3, ...idBytes(idOf(subscribe)), 2]))
  for (const flags of [0x04, 0x0c]) {
    const responses = server.send(world, publishBytes(4, 'in/a', { flags, packetId: 7, payload: 'x' }))
    assert.deepEqual([typesOf(responses), responses.map(idOf)], [['pubrec'], [7]])
  }
  const released = server.send(world, bytes`62 02 0007`)
  assert.deepEqual([typesOf(released), released.map(idOf)], [['pubcomp'], [7]])
  assert.deepEqual(subscriber.payloads, ['x'])
})
