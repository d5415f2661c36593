// Short stories by hand, about the promises that matter most and about the world in which they are told.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World } from './world.ts'

describe('a broker in a calm world', () => {
  for (const version of [3, 4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      test(`MQTT ${version}: what is published at QoS ${qos} arrives once, at QoS ${qos}`, () => {
        const world = new World({ seed: 1 })
        const listener = world.subscriber('news/+', { version })
        const author = world.connect('author', { version })
        const publication = author.publish('news/today', 'rain', { qos })

        assert.equal(publication.isComplete, true)
        assert.deepEqual(listener.payloads, ['rain'])
        assert.equal(listener.messages[0]?.qos, qos)
        assert.equal(listener.messages[0]?.topic, 'news/today')
      })
    }
  }

  test('[MQTT5-3.1.2-22] a silent client is dropped and its will is published', () => {
    const world = new World({ seed: 1 })
    const mourner = world.subscriber('wills/#')
    world.connect('sensor-1', { keepAliveSeconds: 10, will: { topic: 'wills/sensor-1', payload: 'gone' } })

    world.passSeconds(14)
    assert.deepEqual(mourner.payloads, [], 'still within one and a half times its keep alive')

    world.passSeconds(2)
    assert.deepEqual(mourner.payloads, ['gone'])
  })
})

describe('a broker that dies', () => {
  for (const death of ['kill', 'power-loss', 'graceful'] as const) {
    test(`gives after ${death} what it had acknowledged for a client that was away`, () => {
      const world = new World({ seed: 1 })
      const sleeper = world.connect('sleeper', { cleanStart: false, sessionExpirySeconds: 3_600 })
      sleeper.subscribe('news/#')
      sleeper.disconnect()
      world.publish('news/a', 'one', { qos: 1 })
      world.publish('news/a', 'two', { qos: 2 })

      world.restart(death)
      assert.equal(sleeper.connect()?.sessionPresent, true)
      assert.deepEqual(sleeper.payloads, ['one', 'two'])
    })
  }

  test('has acknowledged nothing that its disk does not have', () => {
    const world = new World({ seed: 1 })
    const sleeper = world.connect('sleeper', { cleanStart: false, sessionExpirySeconds: 3_600 })
    sleeper.subscribe('news/#')
    sleeper.disconnect()

    const author = world.connect('author')
    world.disk.hold()
    const publication = author.publish('news/a', 'one', { qos: 1 })
    assert.equal(publication.isAcknowledged, false, 'the disk has not said that it has it')
    world.disk.release()
    world.settle()
    assert.equal(publication.isAcknowledged, true)
  })
})
