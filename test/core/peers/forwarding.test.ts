// Messages that one shard publishes reach the subscribers on all shards, once each.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CommandResult } from '../../../src/core/index.ts'
import { reasonCodes } from '../../../src/protocol/index.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

/** All sets of the numbers below `count`. */
function subsets(count: number): number[][] {
  return Array.from({ length: 2 ** count }, (_, bits) =>
    Array.from({ length: count }, (_unused, number) => number).filter((number) => (bits & (1 << number)) !== 0),
  )
}

describe('a publication on one of three shards', () => {
  for (const qos of [0, 1, 2] as const) {
    for (const kind of ['clean', 'stored'] as const) {
      test(`with QoS ${qos} reaches every set of ${kind} subscribers, each once`, () => {
        for (const publisher of [0, 1, 2]) {
          for (const places of subsets(3)) {
            const cores = new SeveralCores({ seed: publisher * 8 + places.length })
            const subscribers = places.map((place) => cores.client(place, `s${place}`, kind === 'stored' ? stored : {}))
            const author = cores.client(publisher, 'author')
            cores.settle()
            for (const subscriber of subscribers) for (const filter of ['a/b', 'a/+', '#']) subscriber.subscribe(filter)
            cores.settle()
            author.publish('a/b', 'x', { qos })
            author.publish('a/b', 'y', { qos })
            cores.settle()
            for (const subscriber of subscribers) assert.deepEqual(subscriber.payloads, ['x', 'y'])
            if (qos === 0) continue
            const expected = places.length === 0 ? reasonCodes.noMatchingSubscribers : reasonCodes.success
            assert.deepEqual([...author.acknowledged.values()], [expected, expected])
            assert.equal(author.unfinishedCount, 0)
          }
        }
      })
    }
  }

  test('reaches no client that has unsubscribed, and no session that has ended', () => {
    const cores = new SeveralCores()
    const [unsubscribing, leaving] = [cores.client(1, 'one'), cores.client(2, 'two')]
    const author = cores.client(0, 'author')
    cores.settle()
    for (const client of [unsubscribing, leaving]) client.subscribe('a')
    cores.settle()
    unsubscribing.unsubscribe('a')
    leaving.disconnect()
    cores.settle()
    author.publish('a', 'x', { qos: 1 })
    cores.settle()
    assert.deepEqual([unsubscribing.payloads, leaving.payloads], [[], []])
    assert.equal(author.acknowledged.get('x'), reasonCodes.noMatchingSubscribers)
  })

  test('with No Local does not return to its publisher, and reaches other subscribers with No Local', () => {
    const cores = new SeveralCores()
    const [self, other] = [cores.client(0, 'self'), cores.client(1, 'other')]
    cores.settle()
    for (const client of [self, other]) client.subscribe('a', { noLocal: true })
    cores.settle()
    self.publish('a', 'x')
    cores.settle()
    assert.deepEqual([self.payloads, other.payloads], [[], ['x']])
  })

  test('is stored in a persistent session of another shard until its client connects, and shares one payload', () => {
    const cores = new SeveralCores()
    const offlineClients = [
      cores.client(1, 'one', stored),
      cores.client(1, 'two', stored),
      cores.client(2, 'three', stored),
    ]
    const author = cores.client(0, 'author')
    cores.settle()
    for (const client of offlineClients) client.subscribe('a')
    cores.settle()
    for (const client of offlineClients) cores.breakConnection(client)
    for (let count = 0; count < 20; count++) author.publish('a', `${count}`, { qos: 1 })
    cores.settle()
    assert.equal(author.unfinishedCount, 0)
    for (const client of offlineClients) cores.connect(client)
    cores.settle()
    const expected = Array.from({ length: 20 }, (_, count) => `${count}`)
    for (const client of offlineClients) assert.deepEqual(client.payloads, expected)
  })
})

describe('a message that a shard has not confirmed when it fails', () => {
  test('is sent again, with DUP to clients that may have received it', () => {
    const cores = new SeveralCores()
    const subscriber = cores.client(1, 'listener', stored)
    const author = cores.client(0, 'author')
    cores.settle()
    subscriber.subscribe('a')
    cores.settle()
    cores.holdLink(1, 0)
    author.publish('a', 'x', { qos: 1 })
    cores.settle()
    assert.deepEqual(
      subscriber.received.map(({ payload, dup }) => [payload, dup]),
      [['x', false]],
    )
    cores.kill(1)
    cores.releaseLink(1, 0)
    cores.start(1)
    cores.settle()
    cores.connect(subscriber)
    cores.settle()
    assert.deepEqual(
      subscriber.received.map(({ payload, dup }) => [payload, dup]),
      [
        ['x', false],
        ['x', true],
      ],
    )
    assert.equal(author.unfinishedCount, 0)
  })
})

test('the interest of a shard that fails before its commit is removed when it has restarted', () => {
  const cores = new SeveralCores()
  const offlineClient = cores.client(1, 'offline', stored)
  const author = cores.client(0, 'author')
  cores.settle()
  offlineClient.subscribe('a')
  cores.sendAll(offlineClient)
  cores.deliverAll(1, 0)
  cores.kill(1)
  author.publish('a', 'x', { qos: 1 })
  cores.settle()
  assert.equal(author.acknowledged.get('x'), undefined, 'it is stored for the shard, which may have acknowledged it')
  cores.start(1)
  cores.settle()
  author.publish('a', 'y', { qos: 1 })
  cores.settle()
  assert.deepEqual(
    [...author.acknowledged],
    [
      ['x', 0],
      ['y', reasonCodes.noMatchingSubscribers],
    ],
  )
})

describe('an acknowledgement', () => {
  test('of QoS 1 and 2 waits for the commits of all shards that must store the message', () => {
    const cores = new SeveralCores()
    const [one, two] = [cores.client(1, 'one', stored), cores.client(2, 'two', stored)]
    const author = cores.client(0, 'author')
    cores.settle()
    for (const client of [one, two]) client.subscribe('a')
    cores.settle()
    cores.holdLink(2, 0)
    author.publish('a', 'x', { qos: 1 })
    author.publish('a', 'y', { qos: 2 })
    cores.settle()
    assert.deepEqual(
      [one.payloads, two.payloads],
      [
        ['x', 'y'],
        ['x', 'y'],
      ],
    )
    assert.equal(author.acknowledged.size, 0, 'one of the shards has not confirmed its commit')
    cores.releaseLink(2, 0)
    cores.settle()
    assert.deepEqual(
      [...author.acknowledged],
      [
        ['x', 0],
        ['y', 0],
      ],
    )
    assert.equal(author.unfinishedCount, 0)
  })

  test('waits for no commit if only clean sessions receive the message', () => {
    const cores = new SeveralCores()
    const one = cores.client(1, 'one')
    const author = cores.client(0, 'author')
    cores.settle()
    one.subscribe('a')
    cores.settle()
    cores.holdLink(1, 0)
    author.publish('a', 'x', { qos: 1 })
    cores.settle()
    assert.equal(author.acknowledged.get('x'), 0)
  })

  test('is sent in the order of the messages, whatever each one waits for', () => {
    const cores = new SeveralCores()
    const one = cores.client(1, 'one', stored)
    const author = cores.client(0, 'author')
    cores.settle()
    one.subscribe('far')
    cores.settle()
    cores.holdLink(1, 0)
    author.publish('far', 'first', { qos: 1 })
    author.publish('nowhere', 'second', { qos: 1 })
    cores.settle()
    assert.equal(author.acknowledged.size, 0)
    cores.releaseLink(1, 0)
    cores.settle()
    assert.deepEqual([...author.acknowledged.keys()], ['first', 'second'])
  })

  test('SUBACK waits until every shard knows the filter, and for none if all know it', () => {
    const cores = new SeveralCores()
    const [first, second] = [cores.client(1, 'first'), cores.client(1, 'second')]
    cores.settle()
    cores.holdLink(2, 1)
    first.subscribe('a')
    cores.settle()
    assert.equal(first.grantedQoS.size, 0)
    second.subscribe('a')
    cores.settle()
    assert.equal(second.grantedQoS.size, 0, 'the second one has to wait for the same shard')
    cores.releaseLink(2, 1)
    cores.settle()
    assert.deepEqual([first.grantedQoS.get('a'), second.grantedQoS.get('a')], [2, 2])
    cores.holdLink(2, 1)
    cores.holdLink(0, 1)
    const third = cores.client(1, 'third')
    cores.settle()
    third.subscribe('a')
    cores.settle()
    assert.equal(third.grantedQoS.get('a'), 2)
  })

  test('SUBACK does not wait for a failed shard', () => {
    const cores = new SeveralCores()
    const client = cores.client(0, 'client')
    cores.settle()
    cores.holdLink(0, 1)
    client.subscribe('a')
    cores.settle()
    assert.equal(client.grantedQoS.get('a'), undefined)
    cores.kill(1)
    cores.settle()
    assert.equal(client.grantedQoS.get('a'), 2)
  })

  test('of a QoS 2 message that is sent again waits for the commit of the first copy', () => {
    const cores = new SeveralCores()
    const subscriber = cores.client(1, 'listener', stored)
    const author = cores.client(0, 'author', stored)
    cores.settle()
    subscriber.subscribe('a')
    cores.settle()
    cores.breakConnection(subscriber)
    cores.settle()
    author.publish('a', 'x', { qos: 2 })
    const allButTheDiskThere = (): void => {
      for (let round = 0; round < 5; round++) {
        cores.sendAll(author)
        cores.cores[0]?.commit()
        for (const core of [0, 1, 2]) cores.handle(core, { kind: 'tick' })
        for (const from of [0, 1, 2]) for (const to of [0, 1, 2]) if (from !== to) cores.deliverAll(from, to)
        while (author.hasPacketToProcess) author.processPacket()
      }
    }
    allButTheDiskThere()
    cores.kill(0)
    cores.start(0)
    allButTheDiskThere()
    cores.connect(author)
    allButTheDiskThere()
    assert.equal(author.isConnected, true)
    assert.equal(author.acknowledged.get('x'), undefined, 'shard 1 has committed nothing')
    cores.settle()
    assert.equal(author.acknowledged.get('x'), 0)
  })

  test('is 0x97 for a 5.0 client if a persistent session on another shard is full, and the packet identifier is free then', () => {
    for (const qos of [1, 2] as const) {
      const cores = new SeveralCores({ settings: { maxStoredMessages: 2, storedMessagesOverflow: 'reject-publish' } })
      const offlineClient = cores.client(1, 'offline', stored)
      const author = cores.client(0, 'author')
      cores.settle()
      offlineClient.subscribe('a')
      cores.settle()
      cores.breakConnection(offlineClient)
      for (const payload of ['1', '2', '3', '4']) {
        author.publish('a', payload, { qos })
        cores.settle()
      }
      assert.deepEqual([...author.acknowledged.values()], [0, 0, reasonCodes.quotaExceeded, reasonCodes.quotaExceeded])
      assert.equal(author.unfinishedCount, 0)
      cores.connect(offlineClient)
      cores.settle()
      author.publish('a', '5', { qos })
      cores.settle()
      assert.deepEqual(offlineClient.payloads, ['1', '2', '5'])
    }
  })

  test('is 0x97 also before the shard of the full session reports it, beyond as many messages as the limit has again', () => {
    for (const qos of [1, 2] as const) {
      const cores = new SeveralCores({ settings: { maxStoredMessages: 2, storedMessagesOverflow: 'reject-publish' } })
      // Otherwise the shard stores all messages that can be on the way.
      cores.changeSettings(1, { maxUnconfirmedMessages: 0 })
      const offlineClient = cores.client(1, 'offline', stored)
      const online = cores.client(1, 'online')
      const author = cores.client(0, 'author')
      cores.settle()
      for (const client of [offlineClient, online]) client.subscribe('a')
      cores.settle()
      cores.breakConnection(offlineClient)
      cores.holdLink(1, 0)
      for (const payload of ['1', '2', '3', '4', '5']) author.publish('a', payload, { qos })
      cores.settle()
      assert.deepEqual(online.payloads, ['1', '2', '3', '4', '5'])
      cores.releaseLink(1, 0)
      cores.settle()
      assert.deepEqual([...author.acknowledged.values()], [0, 0, 0, 0, reasonCodes.quotaExceeded])
    }
  })

  test('is 0x97 before any subscriber gets the message, after the shard of the full session has reported it', () => {
    const cores = new SeveralCores({ settings: { maxStoredMessages: 2, storedMessagesOverflow: 'reject-publish' } })
    const offlineClient = cores.client(1, 'offline', stored)
    const online = cores.client(2, 'online')
    const author = cores.client(0, 'author')
    cores.settle()
    offlineClient.subscribe('a')
    online.subscribe('#')
    cores.settle()
    cores.breakConnection(offlineClient)
    for (const payload of ['1', '2', '3']) {
      author.publish('a', payload, { qos: 1 })
      cores.settle()
    }
    author.publish('a', 'of QoS 0', { qos: 0 })
    author.publish('b', 'to others', { qos: 1 })
    cores.settle()
    assert.deepEqual(online.payloads, ['1', '2', 'of QoS 0', 'to others'])
    cores.connect(offlineClient)
    cores.settle()
    author.publish('a', '4', { qos: 1 })
    cores.settle()
    assert.deepEqual(offlineClient.payloads, ['1', '2', '4'])
    assert.deepEqual([...author.acknowledged.values()], [0, 0, reasonCodes.quotaExceeded, 0, 0])
  })

  test('is 0x97 also from a shard that joins, and not after the full session has ended', () => {
    const cores = new SeveralCores({ settings: { maxStoredMessages: 1, storedMessagesOverflow: 'reject-publish' } })
    const offlineClient = cores.client(1, 'offline', stored)
    cores.settle()
    offlineClient.subscribe('a')
    cores.settle()
    cores.breakConnection(offlineClient)
    const first = cores.client(0, 'first')
    cores.settle()
    first.publish('a', '1', { qos: 1 })
    cores.settle()
    cores.kill(0)
    cores.start(0)
    cores.settle()
    const author = cores.client(0, 'author')
    const online = cores.client(2, 'online')
    cores.settle()
    online.subscribe('a')
    cores.settle()
    author.publish('a', '2', { qos: 1 })
    cores.settle()
    assert.deepEqual(online.payloads, [])
    cores.client(1, 'offline')
    cores.settle()
    author.publish('a', '3', { qos: 1 })
    cores.settle()
    assert.deepEqual(online.payloads, ['3'])
    assert.deepEqual([...author.acknowledged.values()], [reasonCodes.quotaExceeded, 0])
  })
})

describe('a shard', () => {
  test('accepts no clients until it and its peers know all filters', () => {
    const cores = new SeveralCores()
    cores.kill(1)
    cores.holdLink(2, 1)
    cores.start(1)
    const early = cores.client(1, 'early')
    cores.settle()
    assert.equal(early.isConnected, false)
    assert.equal(cores.cores[1]?.core.view.isReadyForClients, false)
    cores.releaseLink(2, 1)
    cores.settle()
    assert.equal(cores.cores[1]?.core.view.isReadyForClients, true)
    cores.connect(early)
    cores.settle()
    assert.equal(early.isConnected, true)
  })

  test('refuses to publish for an administrator until then: its peers would miss the message', () => {
    const cores = new SeveralCores()
    const offlineClient = cores.client(2, 'offline', stored)
    cores.settle()
    offlineClient.subscribe('a')
    cores.settle()
    const publish = (payload: string): (() => CommandResult | undefined) =>
      cores.command(1, {
        name: 'publish',
        clientId: 'administrator',
        topic: 'a',
        payload: Buffer.from(payload),
        qos: 1,
        retain: false,
        properties: undefined,
      })
    cores.kill(1)
    cores.holdLink(2, 1)
    cores.start(1)
    cores.settle()
    const early = publish('early')
    cores.settle()
    assert.deepEqual(early(), { done: false, why: 'shard-behind' })
    cores.releaseLink(2, 1)
    cores.settle()
    const later = publish('later')
    cores.settle()
    assert.deepEqual(later(), { done: true, matched: 1 })
    assert.deepEqual(offlineClient.payloads, ['later'])
  })

  test('sends thousands of filters in slices to a shard that joins', () => {
    const cores = new SeveralCores()
    const reader = cores.client(0, 'reader', stored)
    cores.settle()
    for (let number = 0; number < 2_500; number++) reader.subscribe(`a/${number}`)
    cores.settle()
    cores.kill(1)
    cores.start(1)
    cores.settle()
    const author = cores.client(1, 'author')
    cores.settle()
    for (const number of [0, 1_300, 2_499]) author.publish(`a/${number}`, `${number}`, { qos: 1 })
    cores.settle()
    assert.deepEqual(reader.payloads, ['0', '1300', '2499'])
  })
})
