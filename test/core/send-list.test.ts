import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Connection } from '../../src/core/model/connection.ts'
import { Message } from '../../src/core/messages/message.ts'
import { SendList, publishHead, sendKinds, type PublishExtra } from '../../src/core/model/send-list.ts'
import { TopicTable } from '../../src/protocol/index.ts'

const connection = new Connection({}, { name: 'tcp:default', isLoopback: true }, '127.0.0.1')
const extra: PublishExtra = { subscriptionIdentifiers: [7], topicAlias: 0, topicIsOmitted: false }
const topic = new TopicTable(2).intern(Buffer.from('a'), 0, 1)
const message = new Message(topic, {
  qos: 0,
  retain: false,
  properties: undefined,
  publisher: 'p',
  publishedAtMs: 0,
  expiresAtMs: Infinity,
  chunk: Buffer.alloc(1),
  payloadStart: 0,
  payloadEnd: 1,
})
const head = publishHead(0, { retain: false, dup: false }, 0)

test('the data of an entry does not stay for later entries at its index', () => {
  const list = new SendList()
  list.publish(connection, message, head, undefined)
  list.publish(connection, message, head, extra)
  assert.deepEqual(list.extra.slice(0, 2), [undefined, extra])
  list.clear()
  for (let times = 0; times < 3; times++) list.publish(connection, message, head, undefined)
  assert.deepEqual(list.extra.slice(0, 3), [undefined, undefined, undefined])
})

test('an emptied list has no entries and no references', () => {
  const list = new SendList()
  list.publish(connection, message, head, extra)
  list.acknowledge(connection, sendKinds.puback, 1)
  list.clear()
  assert.equal(list.length, 0)
  for (const column of [list.to, list.what, list.extra]) {
    assert.ok(column.length >= 2)
    assert.ok(column.every((entry) => entry === undefined))
  }
  assert.throws(() => list.getConnection(0), /Assertion failed: there is no sending 0/)
})

test('appended entries come last, with all their data', () => {
  const [list, more] = [new SendList(), new SendList()]
  list.acknowledge(connection, sendKinds.puback, 1)
  more.publish(connection, message, head, extra)
  list.append(more)
  assert.deepEqual([list.length, list.extra[0], list.extra[1]], [2, undefined, extra])
})
