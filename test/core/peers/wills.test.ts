// A will that other shards need is published once, or stored until it can be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

interface Scene {
  readonly cores: SeveralCores
  /** On the shard that publishes the will, and on another. */
  readonly near: PacketClient
  readonly far: PacketClient
  /** Has the will, and a persistent session. */
  readonly author: PacketClient
}

/** All clients are connected, and both subscribers are subscribed to the will. */
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

/** Disconnects the author, which reconnects with another will or none. */
function comesAgain({ cores, author }: Scene, will: PacketClient['traits']['will']): void {
  cores.cut(author)
  cores.settle()
  author.traits.will = will
  cores.connect(author)
  cores.settle()
}

/** The messages of both subscribers when both are connected again. */
function heard({ cores, near, far }: Scene): { near: string[]; far: string[] } {
  for (const client of [near, far]) if (client.connection === undefined) cores.connect(client)
  cores.settle()
  return { near: near.payloads, far: far.payloads }
}

for (const qos of [1, 2] as const) {
  test(`a will of QoS ${qos} for an unavailable shard arrives there, though the broker restarts before`, () => {
    const told = scene({ qos })
    told.cores.kill(1)
    told.cores.cut(told.author)
    told.cores.settle()
    assert.deepEqual(told.near.payloads, ['gone'])
    restart(told)
    assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
  })
}

test('a will that an unavailable shard retains arrives there, too', () => {
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

test('a shard that fails while its will is being forwarded publishes it to the others after its restart', () => {
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

test('a will that every shard has committed is not published again', () => {
  const told = scene()
  told.cores.cut(told.author)
  told.cores.settle()
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
})

test('the end of the session does not delete its will', () => {
  const told = scene()
  const { cores, author } = told
  cores.kill(1)
  author.cleanStart = true
  comesAgain(told, undefined)
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone'], far: ['gone'] })
})

test('the second will of a client is stored when the first one has arrived everywhere', () => {
  const told = scene()
  const { cores } = told
  cores.kill(1)
  comesAgain(told, { topic: 'w', payload: 'gone again', qos: 1, retain: false })
  cores.start(1)
  cores.settle()
  restart(told)
  assert.deepEqual(heard(told), { near: ['gone', 'gone again'], far: ['gone', 'gone again'] })
})

test('several wills of one client are all stored for the unavailable shard, and none is left', () => {
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

test('a will that replaced another in the store is deleted when the shard has it', () => {
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

test('a large will, which is read from disk, reaches every shard once and leaves no record', () => {
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
