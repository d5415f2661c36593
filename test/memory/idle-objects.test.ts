// After clients have disconnected, their sessions and messages have expired and the shard is idle, the heap has as many objects as before.
// V8 counts the reachable objects of a class. It collects the heap for each count, which takes ten times as long in a process whose heap
// other tests have filled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { Connection } from '../../src/core/model/connection.ts'
import { Message } from '../../src/core/messages/message.ts'
import { SmallRetained } from '../../src/core/messages/retained-message.ts'
import { Delivery } from '../../src/core/state/sessions/delivery.ts'
import { PacketIdSet } from '../../src/core/state/sessions/packet-id-set.ts'
import { Session } from '../../src/core/state/sessions/session.ts'
import { SharedGroup } from '../../src/core/topics/index.ts'
import { FilterSubscribers } from '../../src/core/topics/filter-subscribers.ts'
import { Topic, type TopicName } from '../../src/protocol/index.ts'
import { ShardStage, type TestClient } from '../shard/stage.ts'

const ofClients = [Connection, Session, Message, SmallRetained, Topic, FilterSubscribers, SharedGroup]
const ofEndedSession = [Delivery, PacketIdSet]
const sessionExpiryIntervalSeconds = 2
const retainedExpiryMs = 5_000
const longEnoughMs = 60_000

/** V8 collects its heap before it counts. */
function countOf(one: { readonly name: string }): number {
  return queryObjects(one as unknown as new () => object, { format: 'count' })
}

async function countObjects(stage: ShardStage, classes: readonly { readonly name: string }[]): Promise<string[]> {
  // The store of the test records commits, which the broker does not.
  stage.store.attempts.length = 0
  await stage.turns()
  return classes.map((one) => `${one.name}: ${countOf(one)}`)
}

/** Connects clients with new names, disconnects them, resumes their sessions, and waits until everything has expired. */
async function connectAndExpire(stage: ShardStage, round: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, number) => `${round}-${number}`)
  const clients: TestClient[] = []
  for (const name of names) clients.push(await activeClient(stage, name))
  for (const { stream } of clients.splice(0)) stream.break()
  await stage.turns()
  for (const name of names) clients.push(await connectClient(stage, name, { cleanStart: false, receiveMaximum: 1 }))
  for (const { stream } of clients.splice(0)) stream.break()
  await stage.turns()
  await stage.passMs(longEnoughMs)
}

/** A client that subscribes, publishes with QoS 1 and 2, and acknowledges no message. */
async function activeClient(stage: ShardStage, name: string): Promise<TestClient> {
  const client = await connectClient(stage, name, { cleanStart: true, receiveMaximum: 3 })
  client.subscribe([{ filter: `own/${name}/+` }, { filter: 'all/#' }, { filter: `$share/${name}/all/+` }])
  client.publish(
    { topic: `own/${name}/state`, payload: name, qos: 2, packetId: 1, retain: true },
    { topic: `all/${name}`, payload: name, qos: 2, packetId: 2 },
    { topic: `all/${name}`, payload: name, qos: 1, packetId: 3 },
  )
  await stage.turns()
  return client
}

async function connectClient(
  stage: ShardStage,
  name: string,
  { cleanStart, receiveMaximum }: { readonly cleanStart: boolean; readonly receiveMaximum: number },
): Promise<TestClient> {
  const client = stage.unauthenticated(5)
  // The test does not store the packets to the client, so that it holds no reference to them.
  client.stream.onTaken = () => {}
  client.connect(name, {
    username: `user ${name}`,
    cleanStart,
    properties: { sessionExpiryIntervalSeconds, receiveMaximum },
    will: {
      topic: `wills/${name}` as TopicName,
      payload: Buffer.from(name),
      qos: 1,
      retain: true,
      properties: undefined,
    },
  })
  await stage.turns()
  return client
}

test('clients that connected, subscribed, published retained messages and disconnected leave no memory in use', async (context) => {
  const stage = new ShardStage(context, { core: { retainedExpiryMs } })
  await connectAndExpire(stage, 'first', 2)
  stage.shard.forgetTopics()
  const before = await countObjects(stage, ofClients)
  await connectAndExpire(stage, 'many', 20)
  stage.shard.forgetTopics()
  assert.deepEqual(await countObjects(stage, ofClients), before)
  assert.equal(stage.shard.core.view.sessions, 0)
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
})

test('an ended session releases its memory, also while cached match plans of topics without messages refer to it', async (context) => {
  const stage = new ShardStage(context, { core: { retainedExpiryMs } })
  const before = await countObjects(stage, ofEndedSession)
  await connectAndExpire(stage, 'some', 10)
  assert.notEqual(countOf(Session), 0, 'no match plan refers to a session, so the test shows nothing')
  assert.deepEqual(await countObjects(stage, ofEndedSession), before)
})

test('a will and a retained message keep no more memory than their bytes take', async (context) => {
  const stage = new ShardStage(context)
  const properties = { correlationData: Buffer.from('which one') }
  const client = stage.unauthenticated(5)
  client.connect('subscriber', {
    will: { topic: 'w' as TopicName, payload: Buffer.from('gone'), qos: 0, retain: false, properties },
  })
  await stage.turns()
  client.publish({ topic: 'r', payload: 'there', retain: true, properties })
  await stage.turns()
  const kept = stage.store.attempts.flat().flatMap((change) => (change?.change === 'put' ? [change.record] : []))
  const messages = kept.flatMap((record) =>
    record.kind === 'will' || record.kind === 'retained' ? [record.message] : [],
  )
  assert.deepEqual(
    messages.map(({ topic }) => topic),
    ['w', 'r'],
  )
  // The payload of the retained message is a string in memory, and the bytes of its record are released after the write.
  const [{ payload }] = messages
  assert.equal(payload.buffer.byteLength, payload.length)
  assert.ok(stage.shard.core.view.findRetained(new Topic('r' as TopicName, Buffer.from('r'))) instanceof SmallRetained)
  for (const { properties: own } of messages) {
    assert.deepEqual(own, properties)
    assert.equal(own?.correlationData?.buffer.byteLength, properties.correlationData.length)
  }
})
