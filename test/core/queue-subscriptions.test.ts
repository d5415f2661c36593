// `$queue/filter`: a shared subscription of one group, as in EMQX. `$share/$queue/filter` is another name of it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes, type TopicFilter } from '../../src/protocol/index.ts'
import { World, type Client } from '../simulator/world.ts'
import { worldWith } from './denied-actions.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const numbers = Array.from({ length: 12 }, (_, number) => String(number))

function receivedBy(...clients: Client[]): string[] {
  return clients.flatMap((client) => client.payloads).toSorted((a, b) => Number(a) - Number(b))
}

for (const shards of [1, 3]) {
  describe(`a subscription to $queue/filter, ${shards} shards`, () => {
    for (const version of [4, 5] as const) {
      test(`shares the messages among its subscribers, apart from other groups and subscriptions (version ${version})`, () => {
        const world = new World({ shards })
        const [a, b, other, plain] = ['a', 'b', 'other', 'plain'].map((id) => world.connect(id, { version }))
        assert.ok(a && b && other && plain)
        for (const client of [a, b]) assert.deepEqual(client.subscribe('$queue/t/+')?.reasonCodes, [2])
        other.subscribe('$share/g/t/+')
        plain.subscribe('t/+')
        const author = world.connect('author')
        for (const payload of numbers) author.publish(`t/${payload}`, payload, { qos: 1 })
        world.settle()
        assert.deepEqual(receivedBy(a, b), numbers)
        assert.ok(a.payloads.length > 0 && b.payloads.length > 0)
        assert.deepEqual(receivedBy(other), numbers)
        assert.deepEqual(receivedBy(plain), numbers)
      })

      test(`is the same as $share/$queue/filter, and ends with UNSUBSCRIBE of either (version ${version})`, () => {
        const world = new World({ shards })
        const client = world.connect('c', { version })
        for (const [subscribed, unsubscribed] of [
          ['$queue/t', '$queue/t'],
          ['$queue/t', '$share/$queue/t'],
          ['$share/$queue/t', '$queue/t'],
        ] as const) {
          client.subscribe(subscribed)
          client.unsubscribe(unsubscribed)
          world.connect('author').publish('t', 'x', { qos: 1 })
          world.settle()
          assert.deepEqual(client.payloads, [])
        }
      })
    }

    test('survives a restart, also one that an earlier version stored as a topic', () => {
      const world = new World({ shards })
      const client = world.connect('c', durable)
      client.subscribe('$queue/t', { qos: 1 })
      client.drop()
      world.stop()
      const filters = (): TopicFilter[] =>
        world.records().flatMap((record) => (record.kind === 'subscription' ? [record.filter as TopicFilter] : []))
      assert.deepEqual(filters(), ['$share/$queue/t'])
      const [record] = world.records().filter(({ kind }) => kind === 'subscription')
      assert.ok(record?.kind === 'subscription')
      void world.recordStore.apply([
        { change: 'delete', key: record },
        { change: 'put', record: { ...record, filter: '$queue/t' } },
      ])
      world.start()
      const author = world.connect('author')
      author.publish('t', 'while away', { qos: 1 })
      client.connect()
      world.settle()
      assert.deepEqual(client.payloads, ['while away'])
      assert.deepEqual(filters(), ['$share/$queue/t'], 'its record is replaced')
    })
  })
}

test('the access rules see the filter after $queue/, and so do namespaces and mount points', () => {
  const { world } = worldWith([{ action: 'subscribe', topic: 'secret' }])
  world.host.traits.listener = { mountpoint: 'site/' }
  const client = world.client('c')
  client.connect()
  assert.deepEqual(client.subscribe(['$queue/secret', '$queue/open'])?.reasonCodes, [reasonCodes.notAuthorized, 2])
  assert.deepEqual([...world.view.findSubscriptions('c').keys()], ['$share/$queue/site/open'])
})

test('filters that are not valid after $queue/, and publications, are refused; no retained message is sent', () => {
  const world = new World()
  world.connect('author').publish('t', 'kept', { qos: 1, retain: true })
  const client = world.connect('c')
  client.subscribe('$queue/t')
  world.settle()
  assert.deepEqual(client.payloads, [])
  assert.equal(client.publish('$queue/t', 'x', { qos: 1 }).reasonCode, reasonCodes.notAuthorized)
  for (const filter of [
    '$queue/',
    '$queue/$queue/t',
    '$queue/$share/g/t',
    '$share/g/$queue/t',
    '$exclusive/$queue/t',
    '$queue/a+',
    '$queue/#/a',
  ]) {
    const other = world.connect('other')
    other.subscribe(filter)
    assert.equal(other.isConnected, false, filter)
  }
})

test('the API subscribes to the filter in the same way', () => {
  const world = new World()
  const client = world.connect('c')
  world.command({ name: 'subscribe', clientId: 'c', filter: '$share/$queue/t' as TopicFilter, qos: 1 })
  world.connect('author').publish('t', 'x', { qos: 1 })
  assert.deepEqual(client.payloads, ['x'])
})
