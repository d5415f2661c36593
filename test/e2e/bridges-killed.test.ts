// Bridges whose brokers are killed during transfers: acknowledged messages arrive.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLong, longTest } from '../test-length.ts'
import {
  client,
  durable,
  withoutDuplicates,
  Listener,
  oneShard,
  pair,
  publishNumbered,
  startAgain,
  untilBridge,
} from './bridge-stage.ts'

const remoteKilled = 'the remote broker is killed in the middle: QoS 1 and 2 arrive, in order, QoS 2 once'
/** The daily run covers this case by killing both brokers, and with mosquitto as the remote broker in test/clients/bridges.test.ts. */
if (isLong)
  test(remoteKilled, async (t) => {
    const { own, remote, wire } = await pair(t)
    const subscriber = await client(t, remote.port, durable)
    await subscriber.subscribeAsync('up/#', { qos: 2 })
    await subscriber.endAsync(true)
    const publisher = await client(t, own.port)
    const atLeast = publishNumbered(await client(t, own.port), 'up/least', { qos: 1, from: 0, count: 150 })
    const exactly = publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 150 })
    await untilBridge(own, ({ counters }) => counters.acknowledged > 20)
    await remote.process.stop('SIGKILL')
    const [least, once] = await Promise.all([atLeast, exactly])
    const more = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 150, count: 50 })
    const again = await startAgain(t, remote, oneShard)
    const archive = await Listener.at(t, again.port, 'none', durable)
    wire.target = again.port
    await archive.until([...least, ...once, ...more])
    await untilBridge(own, ({ spool_depth: depth }) => depth === 0)
    const of = (topic: string) => archive.received.filter((each) => each.topic === topic).map(({ text }) => text)
    assert.deepEqual(withoutDuplicates(of('up/least')), least)
    assert.deepEqual(of('up/exactly'), [...once, ...more])
  })

test('both brokers are killed while messages are queued: all messages arrive, in order, QoS 2 once', async (t) => {
  const { own, remote, wire } = await pair(t)
  const subscriber = await client(t, remote.port, durable)
  await subscriber.subscribeAsync('up/#', { qos: 2 })
  await subscriber.endAsync(true)
  const publisher = await client(t, own.port)
  const first = publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 120 })
  await untilBridge(own, ({ counters }) => counters.acknowledged > 20)
  await remote.process.stop('SIGKILL')
  const texts = await first
  const least = await publishNumbered(publisher, 'up/least', { qos: 1, from: 0, count: 50 })
  await own.process.stop('SIGKILL')
  const again = await startAgain(t, remote, oneShard)
  const archive = await Listener.at(t, again.port, 'none', durable)
  wire.target = again.port
  const restarted = await startAgain(t, own, oneShard)
  await archive.until([...texts, ...least])
  await untilBridge(restarted, ({ spool_depth: depth }) => depth === 0)
  const of = (topic: string) => archive.received.filter((each) => each.topic === topic).map(({ text }) => text)
  assert.deepEqual(of('up/exactly'), texts)
  assert.deepEqual(withoutDuplicates(of('up/least')), least)
})

// Daily: both brokers are killed, above.
longTest(
  'the broker with the bridge is killed while the remote broker sends: all messages arrive, QoS 2 once',
  async (t) => {
    const { own, remote } = await pair(t)
    const subscriber = await client(t, own.port, durable)
    await subscriber.subscribeAsync('down/#', { qos: 2 })
    await subscriber.endAsync(true)
    const publisher = await client(t, remote.port)
    const first = publishNumbered(publisher, 'down/exactly', { qos: 2, from: 0, count: 200 })
    await untilBridge(own, ({ counters }) => counters.received > 20)
    await own.process.stop('SIGKILL')
    const texts = await first
    const restarted = await startAgain(t, own, oneShard)
    const archive = await Listener.at(t, restarted.port, 'none', durable)
    await archive.until(texts)
    assert.deepEqual(archive.texts, texts)
  },
)
