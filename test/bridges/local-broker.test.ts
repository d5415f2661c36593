// The local broker of a bridge refuses, is slow, or does not respond.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toBridgeClientId } from '../../src/core/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { encodePublish } from '../simulator/world.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'
import { crafted, polite } from './crafted.ts'

const first = forwardsOf('a')

function forwardsOf(...tops: readonly string[]): string {
  return `forwards = [${tops.map((top) => `{local_topic = "${top}/#", remote_topic = "", qos = 1}`).join()}]`
}

/** The local broker has noticed the failure. */
function breakLocalDisk({ local }: Bridged): void {
  local.disk.fail()
  local.connect('witness').publish('witness', 'it fails', { qos: 1, retain: true })
  local.settle()
}

/** Bytes for the local broker arrive when it is not slow any more. */
function slowBroker(): { isSlow: boolean; release: () => void; holdWrites: (stream: ByteStream) => void } {
  const held: (() => void)[] = []
  const broker = {
    isSlow: false,
    release: () => {
      broker.isSlow = false
      for (const go of held.splice(0)) go()
    },
    holdWrites: (stream: ByteStream) => {
      const write = stream.write.bind(stream)
      stream.write = (buffer, done) => (broker.isSlow ? void held.push(() => write(buffer, done)) : write(buffer, done))
    },
  }
  return broker
}

describe('while the local disk fails', () => {
  test('a refused rule is requested again in the same connection, and reported once', () => {
    const world = new Bridged({ bridge: first })
    const subscriber = world.remote.subscriber('#')
    breakLocalDisk(world)
    world.change(forwardsOf('a', 'b'))
    world.local.disk.mend()
    world.passSeconds(1)
    assert.match(world.status.lastError ?? '', /this broker refused a subscription/)
    world.passSeconds(5)
    assert.equal(world.events.filter(({ event }) => event === 'warning').length, 1)
    world.local.publish('b/x', 'after', { qos: 1 })
    assert.deepEqual(subscriber.payloads, ['after'])
    assert.equal(world.status.counters.connects, 1)
  })

  test('the subscription state of the bridge is stored when the disk works again', () => {
    const world = new Bridged({ bridge: `${first}, subscription = [{remote_topic = "in", local_topic = "", qos = 1}]` })
    const [before] = grantedFilters(world)
    breakLocalDisk(world)
    world.change(`${first}, subscription = [{remote_topic = "in2", local_topic = "", qos = 1}]`)
    world.passSeconds(1)
    assert.deepEqual(grantedFilters(world), [])
    world.local.disk.mend()
    world.passSeconds(6)
    const [after, ...others] = grantedFilters(world)
    assert.deepEqual(others, [])
    assert.ok(after !== undefined && after !== before)
  })
})

/** The filters that store the granted subscriptions. */
function grantedFilters({ local }: Bridged): readonly string[] {
  const { subscriptions } = local.host.coreOf().view.findInternalSession(toBridgeClientId('b')) ?? {
    subscriptions: new Map(),
  }
  return [...subscriptions.keys()].filter((filter) => filter.includes('granted'))
}

test('a bridge is accepted whatever its name, also with a short maximum length of client IDs', () => {
  const world = new Bridged({ bridge: first, world: { settings: { maxClientIdBytes: 5 } } })
  assert.equal(world.status.state, 'connected', world.status.lastError)
})

test('a bridge is accepted and resumes its session whatever the length of its remote client ID', () => {
  const world = new Bridged({ bridge: `${first}, clientid = "${'c'.repeat(60_000)}"` })
  assert.equal(world.status.state, 'connected', world.status.lastError)
  world.stream?.destroy()
  world.passSeconds(5)
  const sessions = world.events.map((event) => (event.event === 'connected' ? event.sessionPresent : undefined))
  assert.deepEqual(
    sessions.filter((isPresent) => isPresent !== undefined),
    [false, true],
  )
})

test('a remote broker is not read while the local one is full, and then all messages arrive, in order', () => {
  const count = 300
  const texts = payloads(count).map((text) => text.padEnd(10_000, '.'))
  const flood = Buffer.concat(texts.map((payload) => encodePublish({ topic: 'in', payload, qos: 0 }, 5)))
  let floodNow: (() => void) | undefined
  const remote = crafted(
    polite((packet, send) => {
      if (packet.type !== 'subscribe') return
      floodNow = () => {
        for (let at = 0; at < flood.length; at += 65_536) send(flood.subarray(at, at + 65_536))
      }
    }),
  )
  const broker = slowBroker()
  const bridge = 'subscription = [{remote_topic = "in", local_topic = ""}]'
  const world = new Bridged({ bridge, localStream: broker.holdWrites, crafted: remote.accept })
  const subscriber = world.local.subscriber('in')
  broker.isSlow = true
  assert.ok(floodNow !== undefined)
  floodNow()
  world.passSeconds(1)
  const { received } = world.status.counters
  assert.ok(received > 100 && received < count / 2, `${received} were read`)
  broker.release()
  world.passSeconds(1)
  assert.deepEqual(subscriber.payloads, texts)
})

describe('a bridge that was removed from the configuration', () => {
  test('ends its session though the local broker does not respond at first', () => {
    const broker = slowBroker()
    const world = new Bridged({ bridge: first, localStream: broker.holdWrites, remoteOptions: { starts: false } })
    publishAll(world.local, 'a/x', payloads(3), 1)
    broker.isSlow = true
    world.bridge.remove()
    world.passSeconds(1)
    assert.equal(world.local.view.sessions, 1)
    broker.isSlow = false
    world.passSeconds(30)
    assert.equal(world.local.view.sessions, 0)
  })

  test('stays removed, whatever settings follow', () => {
    const world = new Bridged({ bridge: first })
    world.bridge.remove()
    world.change(forwardsOf('a', 'b'))
    world.passSeconds(60)
    assert.deepEqual([world.status.state, world.local.view.sessions, world.remote.view.sessions], ['off', 0, 0])
  })

  test('leaves no messages to one with the same name that is added at the same time', () => {
    const world = new Bridged({ bridge: first, remoteOptions: { starts: false } })
    publishAll(world.local, 'a/x', payloads(3, 'old'), 1)
    world.replaceBridge(forwardsOf('a', 'b'))
    assert.equal(world.status.spooled, 0)
    publishAll(world.local, 'b/x', payloads(3, 'new'), 1)
    world.remote.start()
    const subscriber = world.remote.subscriber('#')
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, payloads(3, 'new'))
  })

  test('leaves no messages to a later one with its name that is disabled, either', () => {
    const world = new Bridged({ bridge: first, remoteOptions: { starts: false } })
    publishAll(world.local, 'a/x', payloads(3, 'old'), 1)
    world.replaceBridge(`${first}, enable = false`)
    assert.deepEqual([world.status.state, world.status.spooled], ['off', 0])
    world.local.publish('a/x', 'meanwhile', { qos: 1 })
    assert.equal(world.status.spooled, 0)
  })
})
