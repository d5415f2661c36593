import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Bridged } from './bridged.ts'

const outward = 'forwards = [{local_topic = "out/#", remote_topic = "", qos = 2}]'
const inward = 'subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]'

describe('a bridge', () => {
  for (const version of [3, 4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      test(`with MQTT ${version} brings QoS ${qos} over in both directions`, () => {
        const world = new Bridged({ bridge: `${outward}, ${inward}, proto_ver = ${version}, clientid = c` })
        assert.equal(world.status.state, 'connected', world.status.lastError)
        const there = world.there.subscriber('out/#', { qos: 2 })
        const here = world.here.subscriber('in/#', { qos: 2 })
        world.here.publish('out/a', 'one', { qos })
        world.there.publish('in/b', 'two', { qos })
        assert.deepEqual(there.payloads, ['one'])
        assert.deepEqual(here.payloads, ['two'])
        assert.deepEqual([there.messages[0]?.qos, here.messages[0]?.qos], [qos, qos])
        assert.equal(world.status.inFlight, 0)
        assert.equal(world.status.spooled, 0)
      })
    }
  }
})
