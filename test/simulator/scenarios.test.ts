// Short hand-written scenarios of the most important rules, and of the simulated world itself.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { Violation, World } from './world.ts'
import { plainConnect } from './plain-connect.ts'

describe('a broker without faults', () => {
  for (const version of [3, 4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      test(`MQTT ${version}: a message published at QoS ${qos} arrives once, at QoS ${qos}`, () => {
        const world = new World({ seed: 1 })
        const subscriber = world.subscriber('news/+', { version })
        const author = world.connect('author', { version })
        const publication = author.publish('news/today', 'rain', { qos })

        assert.equal(publication.isComplete, true)
        assert.deepEqual(subscriber.payloads, ['rain'])
        assert.equal(subscriber.messages[0]?.qos, qos)
        assert.equal(subscriber.messages[0]?.topic, 'news/today')
      })
    }
  }

  test('[MQTT5-3.1.2-22] a silent client is disconnected and its will is published', () => {
    const world = new World({ seed: 1 })
    const willSubscriber = world.subscriber('wills/#')
    world.connect('sensor-1', { keepAliveSeconds: 10, will: { topic: 'wills/sensor-1', payload: 'gone' } })

    world.passSeconds(14)
    assert.deepEqual(willSubscriber.payloads, [], 'still within one and a half times its keep alive')

    world.passSeconds(2)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })
})

describe('a broker that crashes', () => {
  for (const death of ['kill', 'power-loss', 'graceful'] as const) {
    test(`delivers after ${death} all acknowledged messages of an offline session`, () => {
      const world = new World({ seed: 1 })
      const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 3_600 })
      offlineClient.subscribe('news/#')
      offlineClient.disconnect()
      world.publish('news/a', 'one', { qos: 1 })
      world.publish('news/a', 'two', { qos: 2 })

      world.restart(death)
      assert.equal(offlineClient.connect()?.sessionPresent, true)
      assert.deepEqual(offlineClient.payloads, ['one', 'two'])
    })
  }

  test('has acknowledged only durable messages', () => {
    const world = new World({ seed: 1 })
    const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 3_600 })
    offlineClient.subscribe('news/#')
    offlineClient.disconnect()

    const author = world.connect('author')
    world.disk.hold()
    const publication = author.publish('news/a', 'one', { qos: 1 })
    assert.equal(publication.isAcknowledged, false, 'the message is not durable yet')
    world.disk.release()
    world.settle()
    assert.equal(publication.isAcknowledged, true)
  })
})

describe('a disk that fails', () => {
  test('delays acknowledgements until it works again', () => {
    const world = new World({ seed: 1, shards: 1 })
    const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 3_600 })
    offlineClient.subscribe('news/#')
    offlineClient.disconnect()
    const author = world.connect('author')
    const another = world.connect('another')
    world.disk.fail()
    const waiting = author.publish('news/a', 'one', { qos: 1 })
    world.passSeconds(1)
    assert.equal(waiting.reasonCode, undefined, 'the batch is tried again and again')
    const refused = another.publish('news/a', 'two', { qos: 1 })
    assert.equal(refused.reasonCode, reasonCodes.quotaExceeded, 'by now the broker knows')

    world.disk.mend()
    world.passSeconds(1)
    assert.equal(waiting.isAcknowledged, true)
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['one'])
  })
})

describe('a late response to an authentication request', () => {
  test('delays a client, and packets sent meanwhile are handled in order', () => {
    const world = new World({ seed: 1, host: { decision: () => ({ decision: { allowed: true }, afterMs: 2_000 }) } })
    const subscriber = world.client('listener')
    subscriber.connect()
    world.passSeconds(3)
    subscriber.subscribe('news/#')

    const eager = world.wire({ name: 'eager' })
    eager.send(plainConnect(5, 'eager'))
    eager.sendPublish({ topic: 'news/a', payload: 'one' })
    eager.sendPublish({ topic: 'news/a', payload: 'two' })
    world.passSeconds(1)
    assert.deepEqual(subscriber.payloads, [])
    world.passSeconds(2)
    assert.deepEqual(subscriber.payloads, ['one', 'two'])
  })
})

describe('the simulated world', () => {
  test('redelivers unacknowledged messages with DUP after a broken connection', () => {
    const world = new World({ seed: 1 })
    const subscriber = world.subscriber('news/#', { cleanStart: false, sessionExpirySeconds: 60 })
    subscriber.acknowledges = false
    world.publish('news/a', 'one', { qos: 1 })
    subscriber.drop()
    subscriber.connect()
    assert.deepEqual(
      subscriber.messages.map(({ payload, dup }) => [payload, dup]),
      [
        ['one', false],
        ['one', true],
      ],
    )
  })

  test('detects a broker that violates a rule of the protocol', () => {
    const world = new World({ seed: 1 })
    const client = world.connect('client')
    assert.throws(() => {
      const stream = [...world.host.streams][0]
      assert.ok(stream !== undefined)
      world.host.watch.ackLeaves(stream.watch, 'puback', 7)
    }, Violation)
    assert.equal(client.isConnected, true)
  })

  test('records a scenario, with the time and the actor of each step', () => {
    const world = new World({ seed: 1, isRecorded: true })
    world.connect('client', { version: 4 })
    assert.ok(world.log.some((line) => line.includes('client') && line.includes('-> connect')))
    assert.ok(world.log.some((line) => line.includes('client') && line.includes('<- connack')))
  })
})
