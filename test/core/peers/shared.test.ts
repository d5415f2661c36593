// A shared subscription with members on several shards: each message goes to one member, on any shard.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../../src/protocol/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'
import { testLength } from '../../test-length.ts'

const seeds = testLength({ daily: 24, long: 200 })

const stored = { expirySeconds: 3_600 } as const
const group = '$share/g/a'

function member(cores: SeveralCores, shard: number, name: string, traits = {}): PacketClient {
  const client = cores.client(shard, name, traits)
  cores.settle()
  client.subscribe(group)
  cores.settle()
  return client
}

function publishMany(
  cores: SeveralCores,
  shard: number,
  count: number,
  qos: 0 | 1 | 2,
): { author: PacketClient; all: Set<string> } {
  const author = cores.client(shard, 'author')
  cores.settle()
  const all = Array.from({ length: count }, (_, number) => `${number}`)
  for (const payload of all) author.publish('a', payload, { qos })
  cores.settle()
  return { author, all: new Set(all) }
}

function receivedByAll(clients: readonly PacketClient[]): string[] {
  return clients.flatMap(({ payloads }) => payloads)
}

describe('a shared subscription with members on several shards', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`sends each message of QoS ${qos} to one member, and a similar number to each`, () => {
      for (const publisher of [0, 1, 2]) {
        const cores = new SeveralCores({ seed: publisher + 1 })
        const members = [0, 1, 1, 2].map((shard, number) => member(cores, shard, `m${number}-`))
        const { author, all } = publishMany(cores, publisher, 40, qos)
        const received = receivedByAll(members)
        assert.equal(received.length, 40)
        assert.deepEqual(new Set(received), all)
        for (const { payloads } of members) assert.ok(payloads.length >= 5, `only ${payloads.length} of 40`)
        assert.equal(author.unfinishedCount, 0)
      }
    })
  }

  const companions = [
    ['each message also matches another group', '$share/h/a'],
    ['every other message matches another group', '$share/h/b'],
  ] as const
  for (const [when, companion] of companions) {
    test(`sends a similar number to each member if ${when}`, () => {
      const cores = new SeveralCores()
      const members = [group, companion].flatMap((filter) =>
        [1, 2].map((shard) => {
          const client = cores.client(shard, `${shard}-${filter.at(7)}`)
          cores.settle()
          client.subscribe(filter)
          cores.settle()
          return client
        }),
      )
      const author = cores.client(0, 'author')
      cores.settle()
      for (let number = 0; number < 20; number++) {
        author.publish('a', `${number}`, { qos: 1 })
        if (companion.endsWith('b')) author.publish('b', `${number}`, { qos: 1 })
      }
      cores.settle()
      assert.deepEqual(
        members.map(({ payloads }) => payloads.length),
        [10, 10, 10, 10],
      )
    })
  }

  test('prefers connected members, and stores messages for disconnected ones if there are no others', () => {
    const cores = new SeveralCores()
    const away = member(cores, 1, 'away', stored)
    const there = member(cores, 2, 'there')
    cores.breakConnection(away)
    cores.settle()
    const { author } = publishMany(cores, 0, 10, 1)
    assert.equal(there.payloads.length, 10)
    cores.breakConnection(there)
    cores.settle()
    for (let number = 10; number < 20; number++) author.publish('a', `${number}`, { qos: 1 })
    cores.settle()
    assert.equal(author.unfinishedCount, 0)
    cores.killAll()
    cores.startAll()
    cores.settle()
    cores.connect(away)
    cores.settle()
    assert.deepEqual(
      away.payloads,
      Array.from({ length: 10 }, (_, number) => `${number + 10}`),
    )
  })

  for (const kind of ['clean', 'stored'] as const) {
    test(`moves messages that a ${kind} member has not acknowledged to a member on another shard when its client disconnects`, () => {
      const cores = new SeveralCores()
      const leaving = member(cores, 1, 'leaving', kind === 'stored' ? stored : {})
      leaving.acknowledges = false
      const { all } = publishMany(cores, 0, 10, 1)
      assert.equal(leaving.payloads.length, 10)
      const staying = member(cores, 2, 'staying')
      cores.breakConnection(leaving)
      cores.settle()
      assert.deepEqual(new Set(staying.payloads), all)
      leaving.acknowledges = true
      cores.connect(leaving)
      cores.settle()
      assert.equal(leaving.payloads.length, 10, 'no message is left for it')
    })
  }

  test('sends nothing to stored members of a failed shard while others are connected', () => {
    const cores = new SeveralCores()
    member(cores, 1, 'dead', stored)
    const living = member(cores, 2, 'living')
    cores.kill(1)
    const { author, all } = publishMany(cores, 0, 10, 1)
    assert.deepEqual(new Set(living.payloads), all)
    assert.equal(author.unfinishedCount, 0)
  })

  test('moves a message on if its chosen member has unsubscribed meanwhile', () => {
    const cores = new SeveralCores()
    const leaving = member(cores, 1, 'leaving', stored)
    const staying = member(cores, 2, 'staying', stored)
    cores.holdLink(1, 0)
    leaving.unsubscribe(group)
    cores.settle()
    const { author, all } = publishMany(cores, 0, 10, 1)
    cores.releaseLink(1, 0)
    cores.settle()
    assert.deepEqual(new Set(staying.payloads), all)
    assert.deepEqual(leaving.payloads, [])
    assert.equal(author.unfinishedCount, 0)
  })

  test('acknowledges a message that moved to another shard when it is durable there', () => {
    const cores = new SeveralCores()
    const leaving = member(cores, 1, 'leaving', stored)
    member(cores, 2, 'staying', stored)
    cores.holdLink(1, 0)
    cores.holdLink(2, 1)
    leaving.unsubscribe(group)
    cores.settle()
    const { author } = publishMany(cores, 0, 10, 1)
    cores.releaseLink(1, 0)
    cores.settle()
    assert.notEqual(author.unfinishedCount, 0, 'no commit is confirmed')
    cores.releaseLink(2, 1)
    cores.settle()
    assert.equal(author.unfinishedCount, 0)
  })

  test('acknowledges both messages if two shards move messages to each other at the same time', () => {
    const cores = new SeveralCores()
    const join = (shard: number, name: string, filter: string): PacketClient => {
      const client = cores.client(shard, name, stored)
      cores.settle()
      client.subscribe(filter)
      cores.settle()
      return client
    }
    const staying = [join(0, 'in-g', '$share/g/a'), join(1, 'in-h', '$share/h/b')]
    const fromG = join(1, 'from-g', '$share/g/a')
    const fromH = join(0, 'from-h', '$share/h/b')
    const authors = [0, 1].map((shard) => cores.client(shard, `author-${shard}-`))
    cores.settle()
    cores.holdLink(0, 1)
    cores.holdLink(1, 0)
    fromG.unsubscribe('$share/g/a')
    fromH.unsubscribe('$share/h/b')
    cores.settle()
    for (let number = 0; number < 10; number++) {
      authors[0].publish('a', `${number}`, { qos: 1 })
      authors[1].publish('b', `${number}`, { qos: 1 })
    }
    cores.settle()
    cores.releaseLink(0, 1)
    cores.releaseLink(1, 0)
    cores.settle()
    for (const { payloads } of staying) assert.equal(new Set(payloads).size, 10)
    assert.deepEqual(
      authors.map(({ unfinishedCount }) => unfinishedCount),
      [0, 0],
    )
  })

  test('drops a message that all members are denied, and does not move it endlessly', () => {
    const cores = new SeveralCores()
    const members = [1, 2].map((shard) => member(cores, shard, `m${shard}-`, stored))
    cores.holdLink(1, 0)
    cores.holdLink(2, 0)
    cores.holdLink(1, 2)
    cores.holdLink(2, 1)
    for (const client of members) client.unsubscribe(group)
    cores.settle()
    const author = cores.client(0, 'author')
    cores.settle()
    author.publish('a', 'x', { qos: 1 })
    cores.settle()
    for (const from of [1, 2]) for (const to of [0, 1, 2]) if (from !== to) cores.releaseLink(from, to)
    cores.settle()
    assert.equal(author.unfinishedCount, 0)
    assert.deepEqual(receivedByAll(members), [])
    author.publish('a', 'y', { qos: 1 })
    cores.settle()
    assert.equal(author.acknowledged.get('y'), reasonCodes.noMatchingSubscribers)
  })

  test('and an ordinary one on the same shard: one forwarded message reaches both', () => {
    const cores = new SeveralCores()
    const shared = member(cores, 1, 'shared')
    const plain = cores.client(1, 'plain')
    cores.settle()
    plain.subscribe('a')
    cores.settle()
    const { all } = publishMany(cores, 0, 5, 1)
    for (const client of [shared, plain]) assert.deepEqual(new Set(client.payloads), all)
    assert.equal(receivedByAll([shared, plain]).length, 10)
  })
})

describe('a shared subscription while clients connect and shards restart', () => {
  test('loses no acknowledged message: one of the members has it', () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const cores = new SeveralCores({ seed, settings: { awaitReleaseTimeoutMs: 0, retryIntervalMs: 0 } })
      const { random } = cores
      const members = [0, 0, 1, 1, 2].map((shard, number) => member(cores, shard, `m${number}-`, stored))
      const author = cores.client(random.between(0, 2), 'author', stored)
      cores.settle()
      for (let act = 0; act < 80; act++) {
        cores.steps(random.between(0, 20))
        const draw = random.fraction()
        const client = random.pick([...members, author])
        if (draw < 0.5 && author.unfinishedCount < 20)
          author.publish('a', `${act}`, { qos: random.pick([1, 2] as const) })
        else if (draw < 0.65) cores.breakConnection(client)
        else if (draw < 0.9) {
          if (!client.isConnected) cores.connect(client)
        } else if (draw < 0.94) cores.kill(random.between(0, 2))
        else for (const shard of [0, 1, 2]) if (cores.cores[shard] === undefined) cores.start(shard)
      }
      for (const shard of [0, 1, 2]) if (cores.cores[shard] === undefined) cores.start(shard)
      for (let round = 0; round < 3; round++) {
        cores.settle()
        for (const client of [...members, author]) if (!client.isConnected) cores.connect(client)
      }
      cores.settle()
      const received = new Set(receivedByAll(members))
      assert.equal(author.unfinishedCount, 0, `seed ${seed}: some messages are unacknowledged`)
      for (const [payload, reason] of author.acknowledged)
        if (reason === 0) assert.ok(received.has(payload), `seed ${seed}: no member has ${payload}`)
    }
  })
})
