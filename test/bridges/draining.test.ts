// The time between a change of settings that needs a new connection and the opening of that connection.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodePublish } from '../simulator/world.ts'
import { Bridged, payloads, settingsOf } from './bridged-brokers.ts'
import { ack, connackIn, crafted, granted, type PacketHandler } from './crafted.ts'

const bothWays = `forwards = [{local_topic = "out/#", remote_topic = ""}],
  subscription = [{remote_topic = "in/#", local_topic = "", qos = 1}]`
/** Every packet has a delay, so that there is a time between any two. */
const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
const first = 'mqtt-tcp://first:1883'
const other = 'mqtt-tcp://other:1883'

interface Remote {
  acknowledges: boolean
  sendBytes: (bytes: Buffer) => void
  close: () => void
  /** The numbers of the connections of the messages. */
  readonly published: number[]
}

/** A bridge that drains: one message is in flight, and is acknowledged once `acknowledges` is set. */
function draining() {
  const remote: Remote = { acknowledges: false, sendBytes: () => undefined, close: () => undefined, published: [] }
  const handlePacket: PacketHandler = (packet, send, close) => {
    remote.sendBytes = send
    remote.close = close
    if (packet.type === 'connect') send(connackIn(5))
    const response = granted(packet)
    if (response !== undefined) send(response)
    if (packet.type !== 'publish') return
    remote.published.push(broker.connections)
    if (remote.acknowledges) send(ack('puback', packet.packetId))
  }
  const broker = crafted(handlePacket)
  const world = new Bridged({ bridge: `${bothWays}, server = "${first}"`, crafted: broker.accept })
  world.local.publish('out/a', 'one', { qos: 1 })
  world.change(`${bothWays}, server = "${other}"`)
  assert.equal(world.status.state, 'draining')
  return { world, remote }
}

describe('a bridge that drains', () => {
  test('sends no new message, whatever arrives meanwhile: new messages are sent over the next connection', () => {
    const { world, remote } = draining()
    const subscriber = world.local.subscriber('in/#')
    remote.sendBytes(encodePublish({ topic: 'in/a', payload: 'in', qos: 1, packetId: 1 }, 5))
    world.settle()
    world.local.publish('out/a', 'two', { qos: 1 })
    assert.deepEqual([subscriber.payloads, remote.published], [['in'], [1]])
    remote.acknowledges = true
    remote.sendBytes(ack('puback', 1))
    world.passSeconds(1)
    assert.deepEqual([remote.published, world.status.server, world.status.spooled], [[1, 2], other, 0])
  })

  test('uses its new settings at once when the connection breaks', () => {
    const { world, remote } = draining()
    remote.close()
    world.settle()
    assert.deepEqual(world.dialed, [first, other])
    assert.equal(world.status.state, 'connected')
  })

  test('reconnects as soon as QoS 2 and received messages are complete', () => {
    const world = new Bridged({ bridge: `${bothWays}, server = "${first}"`, network })
    world.passSeconds(1)
    const subscriber = world.remote.subscriber('out/#', { qos: 2 })
    for (const payload of payloads(10)) world.local.publish('out/a', payload, { qos: 2 })
    world.remote.publish('in/a', 'in', { qos: 1 })
    world.local.passMs(15)
    world.change(`${bothWays}, server = "${other}"`)
    assert.equal(world.status.state, 'draining')
    world.passSeconds(1)
    assert.deepEqual([world.status.state, world.status.server], ['connected', other])
    assert.deepEqual(subscriber.payloads, payloads(10))
    assert.equal(world.status.counters.sentAgain, 0)
  })

  test('waits at most five seconds', () => {
    const { world } = draining()
    world.passSeconds(4)
    assert.equal(world.status.state, 'draining')
    world.passSeconds(2)
    assert.deepEqual([world.dialed, world.status.state], [[first, other], 'connected'])
  })

  test('may get its previous settings again: it uses the last ones', () => {
    const { world } = draining()
    world.change(`${bothWays}, server = "${first}", keepalive = 33s`)
    world.change(`${bothWays}, server = "${first}"`)
    world.passSeconds(6)
    assert.deepEqual([world.dialed, world.status.state], [[first, first], 'connected'])
  })
})

function rulesTo(filter: string): string {
  return `forwards = [{local_topic = "${filter}", remote_topic = ""}]`
}

test('two changes of settings at once cause one connection, with the last of them', () => {
  const remote = crafted((packet, send) =>
    send(packet.type === 'connect' ? connackIn(5) : (granted(packet) ?? ack('puback', 1))),
  )
  const world = new Bridged({ bridge: bothWays, crafted: remote.accept, isBroken: () => true })
  world.isBroken = () => false
  for (const rules of ['one/#', 'two/#'].map(rulesTo)) world.bridge.change(settingsOf(`${rules}, server = "${first}"`))
  world.settle()
  assert.deepEqual([world.status.state, remote.connections], ['connected', 1], 'while the local session is prepared')
  for (const server of [other, first, other])
    world.bridge.change(settingsOf(`${rulesTo('two/#')}, server = "${server}"`))
  world.settle()
  assert.deepEqual([world.status.state, remote.connections], ['connected', 2], 'while the connection is opened')
  assert.equal(world.status.server, other)
})
