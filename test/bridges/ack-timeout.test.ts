// `resend_wait` and `resend_interval`: a remote broker that is connected and acknowledges no message.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Packet } from '../../src/protocol/index.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'
import { ack, crafted, pingresp, polite } from './crafted.ts'

const outward = 'forwards = [{local_topic = "out", remote_topic = ""}], keepalive = 60s'
const nothing = (): void => undefined

interface ReceivedPublish {
  readonly atMs: number
  readonly dup: boolean
}

/** A remote broker that responds to PINGREQ and passes other packets to `handlePacket`. */
function bridgeToSilentRemote(
  bridge: string,
  handlePacket: (packet: Packet, send: (bytes: Buffer) => void) => void = () => undefined,
) {
  const published: ReceivedPublish[] = []
  const remote = crafted(
    polite((packet, send) => {
      if (packet.type === 'pingreq') send(pingresp)
      if (packet.type === 'publish') published.push({ atMs: world.local.nowMs, dup: packet.dup })
      handlePacket(packet, send)
    }),
  )
  const world: Bridged = new Bridged({ bridge: `${outward}, ${bridge}`, crafted: remote.accept })
  return { world, remote, published }
}

describe('a remote broker that responds to PINGREQ only', () => {
  test('is reconnected when a message has waited for `ack_timeout`, and the message is sent again as a duplicate', () => {
    const { world, remote, published } = bridgeToSilentRemote('resend_wait = 3000, resend_interval = 20000')
    world.local.publish('out', 'one', { qos: 1 })
    const startMs = world.local.nowMs
    world.local.passMs(2_900)
    assert.equal(remote.connections, 1)
    world.passSeconds(3)
    assert.equal(remote.connections, 2)
    assert.match(world.status.lastError ?? '', /acknowledges no message/)
    world.passSeconds(60)
    // Once in twenty seconds at most.
    const connections: number = remote.connections
    assert.ok(connections >= 3 && connections <= 5, `${connections} connections`)
    assert.deepEqual(
      published.map(({ dup }) => dup),
      published.map((_, index) => index > 0),
    )
    const pauses = published.slice(1).map(({ atMs }) => atMs - startMs)
    for (const [index, atMs] of pauses.entries()) {
      if (index > 0) assert.ok(atMs - (pauses[index - 1] ?? 0) >= 19_000, `${pauses.join()} ms`)
    }
    assert.equal(world.status.spooled, 1)
  })

  test('is not reconnected if all its messages are acknowledged, or if there is nothing in flight', () => {
    for (const bridge of ['', 'resend_wait = 0']) {
      const { world, remote } = bridgeToSilentRemote(bridge)
      world.local.publish('out', 'one', { qos: 1 })
      world.passSeconds(120)
      assert.equal(remote.connections, 1)
      assert.equal(world.status.inFlight, 1)
    }
    const { world, remote } = bridgeToSilentRemote('resend_wait = 1s')
    world.local.publish('out', 'one', { qos: 0 })
    world.passSeconds(120)
    assert.equal(remote.connections, 1)
  })

  test('gets only the missing part of QoS 2: after PUBREC, only PUBREL', () => {
    const seen: string[] = []
    const { world } = bridgeToSilentRemote('resend_interval = 5s', (packet, send) => {
      if (packet.type === 'publish' || packet.type === 'pubrel') seen.push(packet.type)
      if (packet.type === 'publish') send(ack('pubrec', packet.packetId))
    })
    world.local.publish('out', 'one', { qos: 2 })
    world.passSeconds(12)
    assert.deepEqual(seen.slice(0, 2), ['publish', 'pubrel'])
    assert.equal(world.status.spooled, 1)
    assert.ok(world.status.counters.failures >= 1)
  })
})

test('the connection of a slow remote broker, which acknowledges one message a second, stays open', () => {
  const waiting: number[] = []
  let acknowledgeOne = nothing
  const { world, remote } = bridgeToSilentRemote('resend_wait = 3s, resend_interval = 1s', (packet, send) => {
    if (packet.type === 'publish') waiting.push(packet.packetId)
    acknowledgeOne = () => {
      const packetId = waiting.shift()
      if (packetId !== undefined) send(ack('puback', packetId))
    }
  })
  publishAll(world.local, 'out', payloads(20), 1)
  for (let second = 0; second < 25; second++) {
    world.passSeconds(1)
    acknowledgeOne()
    world.settle()
  }
  assert.equal(remote.connections, 1)
  assert.equal(world.status.counters.acknowledged, 20)
  assert.equal(world.status.counters.sentAgain, 0)
})
