// Bridges of 3.1 and 3.1.1 that identify themselves receive the name of the broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Packet, ProtocolVersion, TopicFilter } from '../../src/protocol/index.ts'
import { World, type Wire } from '../simulator/world.ts'

interface Comer {
  readonly version: ProtocolVersion
  readonly isBridge: boolean
  readonly cleanStart?: boolean
}

function comes(world: World, { version, isBridge, cleanStart = true }: Comer): Wire {
  const wire = world.wire({ version })
  const nothing = { username: undefined, password: undefined, will: undefined, properties: undefined }
  wire.send({ type: 'connect', version, clientId: 'me', cleanStart, keepAliveSeconds: 0, isBridge, ...nothing })
  world.passSeconds(1)
  return wire
}

function announcement(packet: Packet | undefined): string | undefined {
  if (packet?.type !== 'publish') return undefined
  const { topic, qos, retain, chunk, payloadStart, frameEnd } = packet
  return `${topic?.name} ${qos} ${retain} ${chunk.toString('utf8', payloadStart, frameEnd)}`
}

const subscription = {
  filter: 'a' as TopicFilter,
  qos: 1,
  noLocal: false,
  retainAsPublished: false,
  retainHandling: 0,
} as const
const named = { brokerName: 'a1b2' }

describe('the name of a broker', () => {
  for (const version of [3, 4] as const) {
    for (const cleanStart of [true, false]) {
      const how = cleanStart ? 'at once' : 'when CONNACK may, which waits for the disk'
      test(`is sent right after CONNACK to a bridge of MQTT ${version}, ${how}`, () => {
        const world = new World({ host: named, diskStepMs: 20 })
        const packets = comes(world, { version, isBridge: true, cleanStart }).received
        assert.equal(packets.length, 2)
        assert.equal(packets[0]?.type, 'connack')
        assert.equal(announcement(packets[1]), '$godwit/broker 0 false a1b2')
      })
    }
  }

  test('is sent before the queued messages of the bridge, and is not one of them', () => {
    const world = new World({ host: named })
    const subscriber = world.subscriber(['#', '$godwit/#'])
    const first = comes(world, { version: 4, isBridge: true, cleanStart: false })
    first.send({ type: 'subscribe', packetId: 1, subscriptions: [subscription], properties: undefined })
    world.settle()
    first.close()
    world.passSeconds(1)
    world.publish('a', 'waited', { qos: 1 })
    const sent = world.view.counts.publishesSent
    const again = comes(world, { version: 4, isBridge: true, cleanStart: false })
    assert.deepEqual(again.received.slice(1).map(announcement), ['$godwit/broker 0 false a1b2', 'a 1 false waited'])
    assert.equal(world.view.counts.publishesSent - sent, 1)
    assert.equal(world.view.findClient('me')?.sentMessages, 1)
    assert.deepEqual(subscriber.payloads, ['waited'])
  })

  test('is sent without the mount point', () => {
    const world = new World({ host: { ...named, listener: { mountpoint: 'site/' } } })
    assert.equal(announcement(comes(world, { version: 4, isBridge: true }).received[1]), '$godwit/broker 0 false a1b2')
  })

  for (const [who, comer, host] of [
    ['a client that is not a bridge', { version: 4, isBridge: false }, named],
    ['a client of 5.0, which requests it in CONNECT', { version: 5, isBridge: false }, named],
    ['any client ID if the broker has no name', { version: 4, isBridge: true }, {}],
  ] as const) {
    test(`is not sent to ${who}`, () => {
      const { received } = comes(new World({ host }), comer)
      assert.deepEqual(
        received.map(({ type }) => type),
        ['connack'],
      )
    })
  }
})
