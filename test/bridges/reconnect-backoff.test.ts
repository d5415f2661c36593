import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bridged } from './bridged-brokers.ts'

const quic = 'mqtt-quic://there:14567'
const tcp = 'mqtt-tcp://there:1883'
const forwards = 'forwards = [{local_topic = "#", remote_topic = ""}]'
const hybrid = `server = "${quic}", hybrid_bridging = true, ${forwards}`

test('a hybrid bridge uses TCP at once if QUIC fails, and QUIC again when that works', () => {
  const world = new Bridged({ bridge: hybrid, isBroken: (server) => server === quic })
  assert.equal(world.status.state, 'connected')
  assert.deepEqual(world.dialed, [quic, tcp])
  world.passSeconds(30)
  assert.equal(world.dialed.length, 2, 'not yet')
  world.passSeconds(40)
  assert.deepEqual(world.dialed, [quic, tcp, quic])
  assert.equal(world.status.server, tcp)
  assert.equal(world.status.counters.failures, 1, 'a probe for QUIC delays no client')
  world.isBroken = () => false
  world.passSeconds(130)
  assert.deepEqual(world.dialed, [quic, tcp, quic, quic])
  assert.equal(world.status.server, quic)
  assert.equal(world.status.counters.failures, 1)
  const subscriber = world.remote.subscriber('#')
  world.local.publish('a', 'one', { qos: 2 })
  assert.deepEqual(subscriber.payloads, ['one'])
})

test('a change between QUIC and TCP of one broker forwards QoS 2 once', () => {
  const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
  for (let step = 0; step < 20; step++) {
    const world = new Bridged({ bridge: hybrid, network })
    const subscriber = world.remote.subscriber('#')
    world.passSeconds(2)
    world.local.publish('a', 'one', { qos: 2 })
    world.local.passMs(step * 5)
    world.isBroken = (server) => server === quic
    world.stream?.fallIntoBlackHole()
    world.passSeconds(200)
    assert.equal(world.status.server, tcp)
    assert.deepEqual(subscriber.payloads, ['one'], `lost QUIC after ${step * 5} ms`)
  }
})

test('several servers are tried in turn, with a pause after each round', () => {
  const servers = '["mqtt-tcp://b:1", "mqtt-tcp://c:1"]'
  const bridge = `server = "mqtt-tcp://a:1", hybrid_bridging = true, hybrid_servers = ${servers}, ${forwards}`
  const world = new Bridged({ bridge, isBroken: () => true })
  world.passSeconds(20)
  const dialed = world.dialed.slice(0, 6).map((server) => server.slice('mqtt-tcp://'.length, -2))
  assert.deepEqual(dialed, ['a', 'b', 'c', 'a', 'b', 'c'])
})

test('without hybrid bridging only the server is tried', () => {
  const bridge = `server = "${quic}", hybrid_servers = ["${tcp}"], ${forwards}`
  const world = new Bridged({ bridge, isBroken: () => true })
  world.passSeconds(60)
  assert.deepEqual([...new Set(world.dialed)], [quic])
})

test('a draining bridge takes its new settings though QUIC works again', () => {
  const other = 'mqtt-tcp://other:1883'
  const world = new Bridged({ bridge: `${hybrid}, keepalive = 600s`, isBroken: (server) => server === quic })
  world.passSeconds(57)
  world.stream?.fallIntoBlackHole()
  world.local.publish('a', 'one', { qos: 1 })
  world.isBroken = () => false
  world.change(`server = "${other}", ${forwards}`)
  assert.equal(world.status.state, 'draining')
  const subscriber = world.remote.subscriber('#')
  world.passSeconds(30)
  assert.deepEqual([world.status.state, world.status.server], ['connected', other])
  assert.deepEqual(world.dialed, [quic, tcp, other])
  assert.deepEqual(subscriber.payloads, ['one'])
})
