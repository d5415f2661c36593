// The path of a message through the shard: frames that are forwarded unchanged, and messages that are encoded again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PublishPacket } from '../../src/protocol/index.ts'
import { headBits, publishHead } from '../../src/core/index.ts'
import { minReferencedBytes } from '../../src/shard/io/write-buffers.ts'
import { payloadOf, ShardStage } from './stage.ts'

const qualities = [0, 1, 2] as const
const versions = [3, 4, 5] as const

const factsOf = (packet: PublishPacket) => ({
  topic: packet.topic?.name,
  payload: payloadOf(packet),
  qos: packet.qos,
  retain: packet.retain,
  dup: packet.dup,
  hasPacketId: packet.packetId !== 0,
  properties: packet.properties,
})

test('a message reaches clients of every version from clients of every version with every QoS', async (context) => {
  const stage = new ShardStage(context)
  for (const from of versions)
    for (const to of versions)
      for (const qos of qualities)
        for (const granted of qualities) {
          const name = `${from}-${to}-${qos}-${granted}`
          const subscriber = await stage.subscriber(`s-${name}`, name, { version: to, qos: granted })
          const publisher = await stage.client(`p-${name}`, { version: from })
          publisher.publish(
            { topic: name, payload: 'first', qos, packetId: qos === 0 ? 0 : 7 },
            { topic: name, payload: '', qos, packetId: qos === 0 ? 0 : 8 },
          )
          await stage.turns()
          const expected = {
            topic: name,
            qos: qos < granted ? qos : granted,
            retain: false,
            dup: false,
            hasPacketId: Math.min(qos, granted) > 0,
            properties: undefined,
          }
          assert.deepEqual(
            subscriber.of('publish').map(factsOf),
            [
              { ...expected, payload: 'first' },
              { ...expected, payload: '' },
            ],
            name,
          )
        }
})

test('a large payload, which is not copied, arrives whole between small messages at clients of every version', async (context) => {
  const stage = new ShardStage(context)
  const large = 'large'.repeat(minReferencedBytes / 4)
  for (const from of versions)
    for (const to of versions)
      for (const granted of qualities) {
        const name = `${from}-${to}-${granted}`
        const subscriber = await stage.subscriber(`s-${name}`, name, { version: to, qos: granted })
        const publisher = await stage.client(`p-${name}`, { version: from })
        const payloads = ['first', large, 'second', large, large, 'third']
        publisher.publish(
          ...payloads.map((payload, index) => ({ topic: name, payload, qos: 1, packetId: index + 1 }) as const),
        )
        for (let turn = 0; turn < payloads.length; turn++) await stage.turns()
        const received = subscriber.of('publish').map(factsOf)
        assert.deepEqual(
          received.map(({ topic, qos, payload }) => [topic, qos, payload]),
          payloads.map((payload) => [name, Math.min(1, granted), payload]),
          name,
        )
      }
})

test('the first byte and the packet identifier are those of the receiver, whatever the publisher sent', async (context) => {
  const stage = new ShardStage(context)
  const publisher = await stage.client('publisher', { version: 5 })
  for (const qos of qualities)
    for (const dup of [false, true])
      for (const retain of [false, true])
        for (const retainAsPublished of [false, true]) {
          if (qos === 0 && dup) continue // [MQTT-3.3.1-2] There is no such packet.
          const topic = `t-${qos}-${dup}-${retain}-${retainAsPublished}`
          const subscriber = await stage.client(`s-${topic}`, { version: 5 })
          subscriber.subscribe([{ filter: topic, retainAsPublished }])
          await stage.turns()
          publisher.publish({ topic, payload: 'x', qos, dup, retain, packetId: qos === 0 ? 0 : 0xabcd })
          publisher.acknowledge('pubrel', 0xabcd)
          await stage.turns()
          const [packet] = subscriber.of('publish')
          assert.equal(packet?.qos, qos, topic)
          // [MQTT-3.3.1-3] DUP is not propagated.
          assert.equal(packet.dup, false, topic)
          assert.equal(packet.retain, retain && retainAsPublished, topic)
          assert.equal(packet.packetId, qos === 0 ? 0 : 1, topic)
        }
})

test('unacknowledged messages are sent again with DUP and the same packet identifier', async (context) => {
  for (const version of versions) {
    const stage = new ShardStage(context)
    const durable = {
      version,
      cleanStart: false,
      properties: version === 5 ? { sessionExpiryIntervalSeconds: 100 } : undefined,
    }
    const first = await stage.subscriber('offline', 'a', durable)
    const publisher = await stage.client('publisher')
    publisher.publish(
      { topic: 'a', payload: 'one', qos: 1, packetId: 1 },
      { topic: 'a', payload: 'two', qos: 2, packetId: 2 },
    )
    await stage.turns()
    assert.deepEqual(
      first.of('publish').map(({ dup }) => dup),
      [false, false],
    )
    first.stream.break()
    await stage.turns()
    const second = await stage.client('offline', durable)
    const known = first.of('publish')
    assert.deepEqual(
      second.of('publish').map((packet) => ({ dup: packet.dup, qos: packet.qos, id: packet.packetId })),
      known.map((packet) => ({ dup: true, qos: packet.qos, id: packet.packetId })),
    )
    context.mock.timers.reset()
  }
})

test('the columns of a send list hold every combination of flags and packet identifier', () => {
  for (const qos of qualities)
    for (const dup of [false, true])
      for (const retain of [false, true])
        for (const packetId of [0, 1, 0xff, 0x100, 0xffff]) {
          const head = publishHead(qos, { retain, dup }, packetId)
          assert.deepEqual(
            [headBits.qos(head), headBits.dup(head), headBits.retain(head), headBits.packetId(head)],
            [qos, dup, retain, packetId],
          )
        }
})

test('properties reach clients of 5.0 only, and the expiry is reduced', async (context) => {
  const stage = new ShardStage(context)
  const old = await stage.subscriber('old', 'a', { version: 4 })
  const modern = await stage.subscriber('modern', 'a', { version: 5 })
  const durableOptions = { version: 5, cleanStart: false, properties: { sessionExpiryIntervalSeconds: 1_000 } } as const
  ;(await stage.subscriber('offline', 'a', durableOptions)).stream.break()
  await stage.turns()
  const publisher = await stage.client('publisher', { version: 5 })
  const properties = {
    messageExpiryIntervalSeconds: 60,
    contentType: 'text/plain',
    userProperties: [
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
    ] as [string, string][],
  }
  publisher.publish({ topic: 'a', payload: 'x', qos: 1, packetId: 1, properties })
  await stage.turns()
  assert.deepEqual(modern.of('publish')[0]?.properties, properties)
  assert.equal(old.of('publish')[0]?.properties, undefined)
  assert.deepEqual(old.payloads, ['x'])
  await stage.passMs(20_500)
  const reconnected = await stage.client('offline', durableOptions)
  assert.deepEqual(reconnected.of('publish')[0]?.properties, { ...properties, messageExpiryIntervalSeconds: 40 })
})

test('every subscriber gets its own subscription identifiers', async (context) => {
  const stage = new ShardStage(context)
  const client = await stage.client('subscriber', { version: 5 })
  client.subscribe([{ filter: 'a/#' }], 268_435_455)
  client.subscribe([{ filter: 'a/+' }], 1)
  const plain = await stage.subscriber('plain', 'a/b', { version: 5 })
  await stage.turns()
  const publisher = await stage.client('publisher', { version: 4 })
  publisher.publish({ topic: 'a/b', payload: 'x', qos: 2, packetId: 1 })
  await stage.turns()
  const identifiers = client.of('publish').flatMap((packet) => packet.properties?.subscriptionIdentifiers ?? [])
  assert.deepEqual(new Set(identifiers), new Set([1, 268_435_455]))
  assert.deepEqual(plain.of('publish')[0]?.properties, undefined)
})

test('a topic alias is sent with the topic first and replaces it then', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('s', '#', { version: 5, properties: { topicAliasMaximum: 1 } })
  const publisher = await stage.client('publisher', { version: 5 })
  publisher.publish(
    { topic: 'long/topic', payload: '1', properties: { topicAlias: 3 } },
    { topic: '', payload: '2', properties: { topicAlias: 3 } },
    { topic: 'another', payload: '3' },
  )
  await stage.turns()
  assert.deepEqual(
    subscriber.of('publish').map((packet) => [packet.topic?.name, packet.properties?.topicAlias, payloadOf(packet)]),
    [
      ['long/topic', 1, '1'],
      [undefined, 1, '2'],
      ['another', undefined, '3'],
    ],
  )
})

test('chunks with any boundaries give the same packets', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('s', 'a')
  const publisher = await stage.client('publisher')
  const frame = Buffer.from([0x30, 0x06, 0x00, 0x01, 0x61, 0x31, 0x32, 0x33])
  const bytes = Buffer.concat(Array.from({ length: 20 }, () => frame))
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % 7) + 1) {
    publisher.stream.arrive(Buffer.from(bytes.subarray(at, at + size)))
    if (size === 3) await stage.turns()
  }
  await stage.turns()
  assert.deepEqual(
    subscriber.payloads,
    Array.from({ length: 20 }, () => '123'),
  )
})
