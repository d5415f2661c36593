// Topic names, topic filters and shared subscriptions (section 4.7 of both standards, 4.8 of 5.0).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import {
  assertBytesEnd,
  connectedRaw,
  durable,
  publishBytes,
  silentClient,
  subscribeBytes,
  unsubscribeBytes,
  versions,
  type Version,
} from './raw.ts'

/** The topics, of a fixed list, that a subscriber to the filter receives. */
function receivedTopics(version: Version, filter: string): string {
  const world = new World()
  const subscriber = world.subscriber(filter, { version })
  for (const topic of ['a', 'a/', 'a/b', 'a/b/c', '/', '/a', 'b']) world.publish(topic, 'x')
  return subscriber.messages.map(({ topic }) => topic).join(' ')
}

for (const version of versions) {
  describe(`topics in MQTT ${version}`, () => {
    test('[MQTT-4.7.1-2] [MQTT5-4.7.1-1] a filter with # that is not alone in the last level ends the connection', () => {
      for (const filter of ['a#', 'a/#/b', '#/a', 'a/b#', '##', '#+', '$share/g/a#']) {
        assertBytesEnd(version, subscribeBytes(version, filter), 'malformedPacket', new World())
        assertBytesEnd(version, unsubscribeBytes(version, filter), 'malformedPacket', new World())
      }
    })

    test('[MQTT-4.7.1-3] [MQTT5-4.7.1-2] a filter with + that is not alone in its level ends the connection', () => {
      for (const filter of ['a+', '+a', 'a/+b/c', '++', 'a/+#'])
        assertBytesEnd(version, subscribeBytes(version, filter), 'malformedPacket', new World())
    })

    test('[MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT5-4.7.1-1] [MQTT5-4.7.1-2] + matches one level, and # any number of levels', () => {
      assert.equal(receivedTopics(version, '#'), 'a a/ a/b a/b/c / /a b')
      assert.equal(receivedTopics(version, 'a/#'), 'a a/ a/b a/b/c')
      assert.equal(receivedTopics(version, '+'), 'a b')
      assert.equal(receivedTopics(version, 'a/+'), 'a/ a/b')
      assert.equal(receivedTopics(version, '+/+'), 'a/ a/b / /a')
      assert.equal(receivedTopics(version, '/+'), '/ /a')
      assert.equal(receivedTopics(version, '+/b/#'), 'a/b a/b/c')
      assert.equal(receivedTopics(version, '+/+/#'), 'a/ a/b a/b/c / /a')
    })

    test('[MQTT-4.7.2-1] [MQTT5-4.7.2-1] a filter that begins with a wildcard matches no topic that begins with $, live or retained', () => {
      const world = new World()
      world.publish('$topic/a', 'retained', { retain: true })
      const wild = world.subscriber(['#', '+/a', '+/#', '$share/g/#'], { version })
      const plain = world.subscriber(['$topic/+'], { version })
      world.publish('$topic/a', 'live', { qos: 1 })
      assert.deepEqual(wild.payloads, [])
      assert.deepEqual(plain.payloads, ['retained', 'live'])
    })

    test('[MQTT-4.7.3-1] [MQTT5-4.7.3-1] an empty topic or filter ends the connection', () => {
      assertBytesEnd(version, publishBytes(version, ''), 'protocolError', new World())
      assertBytesEnd(version, subscribeBytes(version, ''), 'malformedPacket', new World())
      assertBytesEnd(version, unsubscribeBytes(version, ''), 'malformedPacket', new World())
    })

    test('[MQTT-4.7.3-3] [MQTT5-4.7.3-3] a topic of 65,535 bytes is valid', () => {
      const world = new World()
      const topic = 'ä'.repeat(32_767) + 'x'
      const subscriber = world.subscriber(topic, { version })
      world.connect('author', { version }).publish(topic, 'far', { qos: 1 })
      assert.deepEqual(
        subscriber.messages.map((message) => [message.topic === topic, message.payload]),
        [[true, 'far']],
      )
    })

    test('[MQTT-4.7.3-4] [MQTT5-4.7.3-4] topics differ in case, composed characters, slashes and spaces', () => {
      const world = new World()
      const names = ['Å/a', 'A\u030A/a', 'å/a', 'Å/A', 'Å//a', '/Å/a', 'Å/a/', ' Å/a', 'Å/a ', 'Å/\u200Ba', 'Å/.']
      const subscribers = names.map((name) => world.subscriber(name, { version }))
      names.forEach((name, index) => world.publish(name, String(index)))
      assert.deepEqual(
        subscribers.map(({ payloads }) => payloads),
        names.map((_, index) => [String(index)]),
      )
    })

    test('[MQTT-4.8.0-1] [MQTT5-4.13.1-1] a protocol violation ends its connection, and no other', () => {
      const world = new World()
      const bystander = world.subscriber('a', { version })
      for (const packet of ['00 00', '20 02 00 00', '90 03 00 01 00', 'b0 02 00 01', 'd0 00'])
        assertBytesEnd(version, Buffer.from(packet.replaceAll(' ', ''), 'hex'), 'protocolError', world)
      world.publish('a', 'still here')
      assert.deepEqual(bystander.payloads, ['still here'])
    })

    test('[MQTT-4.8.0-1] [MQTT5-4.13.1-1] an acknowledgement of the wrong type ends the connection', () => {
      for (const [qos, acknowledgement] of [
        [1, '50'],
        [2, '40'],
        [2, '70'],
      ] as const) {
        const world = new World()
        const end = connectedRaw(world, version)
        end.send(subscribeBytes(version, 'a', { options: 2 }))
        world.publish('a', 'x', { qos })
        const id = end.take().subarray(5, 7).toString('hex')
        assert.match(end.send(Buffer.from(`${acknowledgement}02${id}`, 'hex')), version === 5 ? /^e00[12]82/ : /^$/)
        assert.equal(end.isOpen, false)
      }
    })

    test('[MQTT-3.14.1-1] [MQTT5-3.14.1-1] DISCONNECT with flags is malformed: the will is published', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills')
      const client = world.connect('me', { version, will: { topic: 'wills', payload: 'gone' } })
      client.wire?.sendBytes(Buffer.from('e800', 'hex'))
      world.settle()
      assert.equal(client.hasOpenConnection, false)
      assert.deepEqual(willSubscriber.payloads, ['gone'])
    })

    test('[MQTT-3.14.4-1] [MQTT-3.14.4-2] [MQTT5-3.14.4-1] packets after DISCONNECT are not processed, and the broker closes the connection if the client does not', () => {
      const world = new World()
      const subscriber = world.subscriber('#')
      const end = connectedRaw(world, version)
      assert.equal(end.send(Buffer.from('e000', 'hex'), publishBytes(version, 'late', { payload: 'x' })), '')
      assert.equal(end.isOpen, false)
      assert.deepEqual(subscriber.payloads, [])
    })
  })
}

describe('shared subscriptions', () => {
  test('[MQTT5-4.8.2-1] [MQTT5-4.8.2-2] with a filter without a share name, with + or # in it, or without a topic filter, they end the connection', () => {
    for (const filter of [
      '$share//a',
      '$share/g',
      '$share/g/',
      '$share/',
      '$share/g+/a',
      '$share/+/a',
      '$share/#/a',
      '$share/#',
    ])
      assertBytesEnd(5, subscribeBytes(5, filter), 'malformedPacket', new World())
  })

  test('[MQTT5-4.8.2-1] each message goes to one member of each group, and to every ordinary subscriber', () => {
    const world = new World()
    const red = [world.subscriber('$share/red/a'), world.subscriber('$share/red/a')]
    const blue = [world.subscriber('$share/blue/a'), world.subscriber('$share/blue/+')]
    const plain = world.subscriber('a')
    for (let count = 0; count < 10; count++) world.publish('a', String(count), { qos: 1 })
    const all = Array.from({ length: 10 }, (_, index) => String(index))
    assert.deepEqual(
      red.flatMap(({ payloads }) => payloads).sort((a, b) => Number(a) - Number(b)),
      all,
    )
    assert.ok(red.every(({ payloads }) => payloads.length === 5))
    assert.deepEqual(
      blue.map(({ payloads }) => payloads),
      [all, all],
      'another filter is another group',
    )
    assert.deepEqual(plain.payloads, all)
  })

  test('[MQTT5-4.8.2-3] each member gets messages with its granted QoS', () => {
    const world = new World()
    const members = ([0, 1, 2] as const).map((qos) => world.subscriber('$share/g/a', { qos }))
    for (let count = 0; count < 9; count++) world.publish('a', 'x', { qos: 2 })
    assert.deepEqual(
      members.map(({ messages }) => new Set(messages.map(({ qos }) => qos))),
      [new Set([0]), new Set([1]), new Set([2])],
    )
  })

  test('[MQTT5-4.8.2-4] a QoS 2 delivery that began with a member is completed with that member', () => {
    const world = new World()
    const one = silentClient(world, 'one', { ...durable })
    one.subscribe('$share/g/a')
    world.publish('a', 'x', { qos: 2 })
    assert.deepEqual(one.payloads, ['x'])
    const two = world.subscriber('$share/g/a')
    one.drop()
    world.passSeconds(10)
    assert.deepEqual(two.payloads, [])
    one.acknowledges = true
    one.connect()
    assert.deepEqual(
      one.messages.map(({ dup }) => dup),
      [false, true],
    )
    assert.deepEqual(two.payloads, [])
    assert.equal(world.view.findClient('one')?.inflight, 0)
  })

  test('[MQTT5-4.8.2-5] if the session of the member ends before that, no other member gets the message', () => {
    const world = new World()
    const one = silentClient(world, 'one', { cleanStart: true, sessionExpirySeconds: 10 })
    one.subscribe('$share/g/a')
    world.publish('a', 'begun', { qos: 2 })
    const two = world.subscriber('$share/g/a')
    one.drop()
    world.passSeconds(20)
    assert.equal(world.view.findClient('one'), undefined)
    assert.deepEqual(two.payloads, [])
    world.publish('a', 'next', { qos: 2 })
    assert.deepEqual(two.payloads, ['next'])
  })

  test('[MQTT5-4.8.2-6] a message that a member rejects is sent to no other member', () => {
    const world = new World()
    const members = ['one', 'two'].map((id) => silentClient(world, id))
    for (const member of members) member.subscribe('$share/g/a')
    for (const qos of [1, 2] as const) {
      world.publish('a', `${qos}`, { qos })
      const chosen = members.find(({ messages }) => messages.some(({ payload }) => payload === `${qos}`))
      chosen?.acknowledge(chosen.messages.at(-1)!, reasonCodes.implementationSpecificError)
      chosen?.drop()
      assert.equal(members.flatMap(({ messages }) => messages.filter(({ payload }) => payload === `${qos}`)).length, 1)
      chosen?.connect()
      chosen?.subscribe('$share/g/a')
    }
  })

  test('[MQTT5-3.3.1-9] a shared subscription gets no retained messages', () => {
    const world = new World()
    world.publish('a', 'kept', { retain: true })
    const client = world.connect('me')
    client.subscribe('$share/g/a', { retainHandling: 0 })
    assert.deepEqual(client.payloads, [])
  })
})
