// A will that other shards are to have is published once, or kept until it can be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

interface Scene {
  readonly cores: SeveralCores
  /** Of the shard that publishes the will, and of another one. */
  readonly near: PacketClient
  readonly far: PacketClient
  /** Has the will; its session is stored. */
  readonly author: PacketClient
}

/** All clients are connected, and both subscribers wait for the will. */
function scene(how: { qos?: 1 | 2; retain?: boolean } = {}): Scene {
  const cores = new SeveralCores()
  const [near, far] = [cores.client(0, 'near', stored), cores.client(1, 'far', stored)]
  const will = { topic: 'w', payload: 'gone', qos: how.qos ?? 1, retain: how.retain ?? false }
  const author = cores.client(0, 'author', { ...stored, will })
  cores.settle()
  for (const listener of [near, far]) listener.subscribe('w')
  cores.settle()
  return { cores, near, far, author }
}

function restart({ cores }: Scene): void {
  cores.killAll()
  cores.startAll()
  cores.settle()
  cores.pass(0)
}

/** The author is disconnected, and reconnects with another will or none. */
function comesAgain({ cores, author }: Scene, will: PacketClient['traits']['will']): void {
  cores.cut(author)
  cores.settle()
  author.traits.will = will
  cores.connect(author)
  cores.settle()
}

/** What the listeners have heard when both are there again. */
function heard({ cores, near, far }: Scene): { near: string[]; far: string[] } {
  for (const client of [near, far]) if (client.connection === undefined) cores.connect(client)
  cores.settle()
  return { near: near.payloads, far: far.payloads }
}

for (const qos of [1, 2] as const) {
  test(`a will of QoS ${qos} that a shard is to have which is away comes to it though the broker ends before`, () => {
    const told = scene({ qos })
    told.cores.kill(1)
    told.cores.cut(told.author)
    told.cores.settle()
    assert.deepEqual(told.near.payloads, ['gone'])
    restart(told)
    assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
  })
}

test('so does one that a topic of the shard that is away is to remember', () => {
  const told = scene({ retain: true })
  const { cores, author } = told
  const reader = cores.client(2, 'reader')
  for (const away of [1, 2]) cores.kill(away)
  cores.cut(author)
  cores.settle()
  restart(told)
  cores.connect(reader)
  cores.settle()
  reader.subscribe('w')
  cores.settle()
  assert.deepEqual(reader.payloads, ['gone'])
})

test('a shard that dies while its will is on the way publishes it to the others when it is back', () => {
  const told = scene()
  const { cores, author } = told
  cores.hold(0, 1)
  cores.cut(author)
  cores.settle()
  cores.kill(0)
  cores.letGo(0, 1)
  cores.start(0)
  cores.settle()
  cores.pass(0)
  assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
})

test('a message that every shard has on disk is not published again', () => {
  const told = scene()
  told.cores.cut(told.author)
  told.cores.settle()
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
})

test('the session that ends meanwhile does not take the will with it', () => {
  const told = scene()
  const { cores, author } = told
  cores.kill(1)
  author.cleanStart = true
  comesAgain(told, undefined)
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
})

test('the will of the client that has come back is kept when the earlier one has come everywhere', () => {
  const told = scene()
  const { cores } = told
  cores.kill(1)
  comesAgain(told, { topic: 'w', payload: 'gone again', qos: 1, retain: false })
  cores.start(1)
  cores.settle()
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone', 'gone again'], far: ['gone', 'gone again'] })
})

test('each of several wills of one client is kept for the shard that is away, and nothing of them stays', () => {
  const told = scene()
  const { cores, author } = told
  cores.kill(1)
  for (const payload of ['gone again', 'and again']) comesAgain(told, { topic: 'w', payload, qos: 1, retain: false })
  cores.cut(author)
  cores.settle()
  restart(told)
  assert.deepEqual(told.near.payloads, ['gone', 'gone again', 'and again'])
  assert.deepEqual(heard(told).far.toSorted(), ['and again', 'gone', 'gone again'])
  cores.pass(0)
  const left = cores.recordStore.readAll().filter(({ kind }) => kind === 'will')
  assert.deepEqual(left, [])
})

test('one that was kept in place of another goes when the shard that was away has it', () => {
  const told = scene()
  const { cores } = told
  cores.kill(1)
  comesAgain(told, { topic: 'w', payload: 'gone again', qos: 1, retain: false })
  const owed = (): number => cores.recordStore.readAll().filter(({ kind }) => kind === 'will').length
  assert.equal(owed(), 2)
  cores.start(1)
  cores.settle()
  assert.equal(owed(), 1)
  assert.deepEqual(heard(told).far, ['gone'])
})

test('a large will, which is read from disk, reaches every shard once and leaves nothing behind', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const cores = new SeveralCores({ seed, settings: { maxWillBytesInMemory: 10 } })
    const [near, far] = [cores.client(0, 'near', stored), cores.client(1, 'far', stored)]
    const payload = 'gone, and with many words'
    const author = cores.client(0, 'author', { ...stored, will: { topic: 'w', payload, qos: 1, retain: false } })
    cores.settle()
    for (const listener of [near, far]) listener.subscribe('w')
    cores.settle()
    const told = { cores, near, far, author }
    if (seed % 2 === 0) cores.kill(1)
    comesAgain(told, { topic: 'w', payload: `${payload}, again`, qos: 1, retain: false })
    cores.cut(author)
    cores.steps(seed)
    restart(told)
    const both = [payload, `${payload}, again`]
    const found = heard(told)
    assert.deepEqual([...new Set(found.near)], both)
    assert.deepEqual([...new Set(found.far)].toSorted(), both)
    cores.pass(0)
    assert.deepEqual(
      cores.recordStore.readAll().filter(({ kind }) => kind === 'will'),
      [],
    )
  }
})
