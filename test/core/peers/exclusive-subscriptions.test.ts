// One session of the whole node holds `$exclusive/...` at a time.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeTopicShard } from '../../../src/core/index.ts'
import { reasonCodes, type TopicFilter } from '../../../src/protocol/index.ts'
import { Rulebook } from '../denied-actions.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores, type SeveralCoresOptions } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const
const filter = '$exclusive/door' as TopicFilter
const taken = reasonCodes.quotaExceeded

function several(options: SeveralCoresOptions = {}): SeveralCores {
  return new SeveralCores({ ...options, settings: { exclusiveSubscriptionAvailable: true } })
}

describe('an exclusive subscription', () => {
  test('is granted to one of the clients that request it at the same time, whatever their shards are', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const cores = several({ seed })
      const clients = [0, 1, 2, 0].map((shard, number) => cores.client(shard, `c${number}-`))
      cores.settle()
      for (const client of clients) client.subscribe(filter)
      cores.settle()
      const codes = clients.map(({ grantedQoS: subscribed }) => subscribed.get(filter))
      assert.deepEqual(
        codes.toSorted((one = 0, other = 0) => one - other),
        [2, taken, taken, taken],
        `seed ${seed}`,
      )
      clients[1].publish('door', 'open', { qos: 1 })
      cores.settle()
      assert.deepEqual(
        clients.map(({ payloads }) => payloads.length),
        codes.map((code) => (code === 2 ? 1 : 0)),
      )
    }
  })

  for (const how of ['unsubscribes', 'goes'] as const) {
    test(`is free again if its holder ${how}`, () => {
      for (const place of [0, 1, 2]) {
        const cores = several()
        const [first, second] = [cores.client(place, 'first'), cores.client((place + 1) % 3, 'second')]
        cores.settle()
        first.subscribe(filter)
        cores.settle()
        if (how === 'unsubscribes') first.unsubscribe(filter)
        else first.disconnect()
        cores.settle()
        second.subscribe(filter)
        cores.settle()
        assert.equal(second.grantedQoS.get(filter), 2)
      }
    })
  }

  test('is held by a persistent session while its shard is unavailable, and after a restart of the whole node', () => {
    for (const place of [0, 1, 2]) {
      const cores = several()
      const first = cores.client(place, 'first', stored)
      const second = cores.client((place + 1) % 3, 'second', stored)
      cores.settle()
      first.subscribe(filter)
      cores.settle()
      cores.kill(place)
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), taken)
      cores.start(place)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), taken)
      cores.killAll()
      cores.startAll()
      cores.settle()
      cores.connect(second)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), taken)
    }
  })

  test('of a clean session is free after its shard failed and restarted', () => {
    for (const place of [0, 1, 2]) {
      const cores = several()
      const [first, second] = [cores.client(place, 'first'), cores.client((place + 1) % 3, 'second')]
      cores.settle()
      first.subscribe(filter)
      cores.settle()
      cores.kill(place)
      cores.start(place)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), 2)
    }
  })

  test('that an administrator makes for a client is held as if the client had subscribed, whichever shard has the registry', () => {
    for (const place of [0, 1, 2]) {
      const cores = several()
      const first = cores.client(place, 'first')
      const second = cores.client((place + 1) % 3, 'second')
      cores.settle()
      const subscribe = (client: PacketClient) =>
        cores.command(cores.shardOf(client), { name: 'subscribe', clientId: client.id, filter, qos: 1 })
      const result = subscribe(first)
      cores.settle()
      assert.deepEqual(result(), { done: true, matched: 1 })
      const refused = subscribe(second)
      second.subscribe(filter)
      cores.settle()
      assert.deepEqual(refused(), { done: false, why: 'quota-exceeded' })
      assert.equal(second.grantedQoS.get(filter), taken)
      second.publish('door', 'open', { qos: 1 })
      cores.settle()
      assert.deepEqual(first.payloads, ['open'])
      first.unsubscribe(filter)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), 2)
    }
  })

  test('that an administrator requests is free again if the client disconnects before the response, and refused if the shard with the registry fails', () => {
    const books = ['$exclusive/door', '$exclusive/gate', '$exclusive/roof', '$exclusive/wall'] as TopicFilter[]
    for (const wanted of books) {
      const recordStore = computeTopicShard(wanted.slice('$exclusive/'.length), 3)
      const place = (recordStore + 1) % 3
      const cores = several()
      const first = cores.client(place, 'first')
      const second = cores.client(recordStore, 'second')
      cores.settle()
      cores.holdLink(place, recordStore)
      const command = { name: 'subscribe', clientId: first.id, filter: wanted, qos: 1 } as const
      const gone = cores.command(place, command)
      cores.breakConnection(first)
      cores.releaseLink(place, recordStore)
      cores.settle()
      assert.deepEqual(gone(), { done: false, why: 'no-such-client' })
      second.subscribe(wanted)
      cores.settle()
      assert.equal(second.grantedQoS.get(wanted), 2)
      second.unsubscribe(wanted)
      cores.connect(first)
      cores.settle()
      cores.holdLink(place, recordStore)
      const result = cores.command(place, command)
      cores.kill(recordStore)
      cores.settle()
      assert.deepEqual(result(), { done: false, why: 'shard-behind' })
    }
  })

  test('whose client disconnects during the request is free', () => {
    for (const place of [0, 1, 2]) {
      const cores = several()
      const [first, second] = [cores.client(place, 'first'), cores.client((place + 1) % 3, 'second')]
      cores.settle()
      first.subscribe(filter)
      cores.steps(1)
      cores.breakConnection(first)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), 2)
    }
  })

  for (const how of ['goes', 'dies with its shard'] as const) {
    test(`whose client ${how} while the shard with the registry is not ready is free when that is ready`, () => {
      const recordStore = computeTopicShard('door', 3)
      const [place, third] = [(recordStore + 1) % 3, (recordStore + 2) % 3]
      const cores = several()
      const [first, second] = [cores.client(place, 'first'), cores.client(third, 'second')]
      cores.settle()
      cores.kill(recordStore)
      cores.holdLink(third, recordStore)
      cores.start(recordStore)
      cores.settle()
      first.subscribe(filter)
      cores.settle()
      assert.equal(first.grantedQoS.get(filter), undefined, 'no shard can decide yet')
      if (how === 'goes') cores.breakConnection(first)
      else cores.kill(place)
      cores.settle()
      if (how !== 'goes') cores.start(place)
      cores.releaseLink(third, recordStore)
      cores.settle()
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), 2)
    })
  }

  test('is refused if the shard with the registry fails, and other filters of the same SUBSCRIBE and of administrators still wait', () => {
    const recordStore = computeTopicShard('door', 3)
    const [place, third] = [(recordStore + 1) % 3, (recordStore + 2) % 3]
    const [one, other] = ['gate', 'roof', 'wall', 'yard', 'hall', 'pond'].filter(
      (name) => computeTopicShard(name, 3) === third,
    )
    const cores = several()
    const client = cores.client(place, 'client')
    cores.settle()
    cores.holdLink(place, recordStore)
    cores.holdLink(place, third)
    client.subscribeTo([filter, `$exclusive/${one}`])
    const subscribe = (name: string) =>
      cores.command(place, {
        name: 'subscribe',
        clientId: client.id,
        filter: `$exclusive/${name}` as TopicFilter,
        qos: 1,
      })
    const [ofDead, ofLiving] = [subscribe('door'), subscribe(other)]
    cores.settle()
    cores.kill(recordStore)
    cores.settle()
    assert.deepEqual(ofDead(), { done: false, why: 'shard-behind' })
    assert.equal(ofLiving(), undefined)
    cores.releaseLink(place, third)
    cores.settle()
    assert.deepEqual(
      [filter, `$exclusive/${one}`].map((wanted) => client.grantedQoS.get(wanted)),
      [taken, 2],
    )
    cores.start(recordStore)
    cores.settle()
    assert.deepEqual(ofLiving(), { done: true, matched: 1 })
  })

  test('that was granted while other filters of its SUBSCRIBE are still requested is held after the shard with the registry failed', () => {
    const recordStore = computeTopicShard('door', 3)
    const place = (recordStore + 1) % 3
    const elsewhere = ['gate', 'roof', 'wall', 'yard', 'hall'].find(
      (name) => computeTopicShard(name, 3) === (recordStore + 2) % 3,
    )
    assert.ok(elsewhere !== undefined, 'one of these is in the registry of the third shard')
    const cores = several()
    const [first, second] = [cores.client(place, 'first'), cores.client((recordStore + 2) % 3, 'second')]
    cores.settle()
    cores.holdLink(computeTopicShard(elsewhere, 3), place)
    first.subscribeTo([filter, `$exclusive/${elsewhere}`])
    cores.settle()
    cores.kill(recordStore)
    cores.start(recordStore)
    cores.settle()
    cores.releaseLink(computeTopicShard(elsewhere, 3), place)
    cores.settle()
    assert.equal(first.grantedQoS.get(filter), 2)
    second.subscribe(filter)
    cores.settle()
    assert.equal(second.grantedQoS.get(filter), taken)
  })

  test('is not reserved by a client without permission for it', () => {
    const recordStore = computeTopicShard('door', 3)
    const [place, third] = [(recordStore + 1) % 3, (recordStore + 2) % 3]
    const elsewhere = ['gate', 'roof', 'wall', 'yard', 'hall'].find((name) => computeTopicShard(name, 3) === third)
    const rulebook = new Rulebook()
    const cores = several({ permissions: rulebook })
    const otherClient = cores.client(place, 'stranger')
    const rightful = cores.client(third, 'rightful')
    rulebook.rules = [{ action: 'subscribe', clientId: otherClient.id, topic: 'door' }]
    cores.settle()
    cores.holdLink(recordStore, place)
    otherClient.subscribe(filter)
    rightful.subscribe(filter)
    cores.settle()
    assert.deepEqual(
      [otherClient.grantedQoS.get(filter), rightful.grantedQoS.get(filter)],
      [reasonCodes.notAuthorized, 2],
    )
    rightful.unsubscribe(filter)
    cores.releaseLink(recordStore, place)
    cores.holdLink(third, place)
    otherClient.subscribeTo([filter, `$exclusive/${elsewhere}`])
    cores.settle()
    rulebook.rules = []
    cores.releaseLink(third, place)
    cores.settle()
    assert.equal(otherClient.grantedQoS.get(filter), 2)
    rightful.subscribe(filter)
    cores.settle()
    assert.equal(rightful.grantedQoS.get(filter), taken)
  })

  test('that is granted and then refused for another reason is free', () => {
    for (const place of [0, 1, 2]) {
      const cores = new SeveralCores({ settings: { exclusiveSubscriptionAvailable: true, maxSubscriptions: 1 } })
      const [full, second] = [cores.client(place, 'full'), cores.client((place + 1) % 3, 'second')]
      cores.settle()
      full.subscribe('a')
      full.subscribe(filter)
      cores.settle()
      assert.equal(full.grantedQoS.get(filter), reasonCodes.quotaExceeded)
      second.subscribe(filter)
      cores.settle()
      assert.equal(second.grantedQoS.get(filter), 2)
    }
  })

  test('that an administrator makes for a client that disconnects during its own request for the same filter is held', () => {
    const recordStore = computeTopicShard('door', 3)
    const place = (recordStore + 1) % 3
    const cores = several()
    const [first, second] = [cores.client(place, 'first', stored), cores.client(recordStore, 'second')]
    cores.settle()
    cores.holdLink(place, recordStore)
    first.subscribe(filter)
    cores.sendAll(first)
    const result = cores.command(place, { name: 'subscribe', clientId: first.id, filter, qos: 1 })
    cores.breakConnection(first)
    cores.releaseLink(place, recordStore)
    cores.settle()
    assert.deepEqual(result(), { done: true, matched: 1 })
    second.subscribe(filter)
    cores.settle()
    assert.equal(second.grantedQoS.get(filter), taken)
  })
})
