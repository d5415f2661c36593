// A will that other shards need is published once, or stored until it can be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

interface Setup {
  readonly cores: SeveralCores
  /** On the shard that publishes the will, and on another. */
  readonly near: PacketClient
  readonly far: PacketClient
  /** Has the will, and a persistent session. */
  readonly author: PacketClient
}

/** All clients are connected, and both subscribers are subscribed to the will. */
function createSetup(how: { qos?: 1 | 2; retain?: boolean } = {}): Setup {
  const cores = new SeveralCores()
  const [near, far] = [cores.client(0, 'near', stored), cores.client(1, 'far', stored)]
  const will = { topic: 'w', payload: 'gone', qos: how.qos ?? 1, retain: how.retain ?? false }
  const author = cores.client(0, 'author', { ...stored, will })
  cores.settle()
  for (const listener of [near, far]) listener.subscribe('w')
  cores.settle()
  return { cores, near, far, author }
}

function restart({ cores }: Setup): void {
  cores.killAll()
  cores.startAll()
  cores.settle()
  cores.passMs(0)
}

/** Disconnects the author, which reconnects with another will or none. */
function reconnectWithWill({ cores, author }: Setup, will: PacketClient['traits']['will']): void {
  cores.breakConnection(author)
  cores.settle()
  author.traits.will = will
  cores.connect(author)
  cores.settle()
}

/** The messages of both subscribers when both are connected again. */
function receivedPayloads({ cores, near, far }: Setup): { near: string[]; far: string[] } {
  for (const client of [near, far]) if (client.connection === undefined) cores.connect(client)
  cores.settle()
  return { near: near.payloads, far: far.payloads }
}

for (const qos of [1, 2] as const) {
  test(`a will of QoS ${qos} for an unavailable shard arrives there, though the broker restarts before`, () => {
    const setup = createSetup({ qos })
    setup.cores.kill(1)
    setup.cores.breakConnection(setup.author)
    setup.cores.settle()
    assert.deepEqual(setup.near.payloads, ['gone'])
    restart(setup)
    assert.deepEqual(receivedPayloads(setup), { near: ['gone'], far: ['gone'] })
  })
}

test('a will that an unavailable shard retains arrives there, too', () => {
  const setup = createSetup({ retain: true })
  const { cores, author } = setup
  const reader = cores.client(2, 'reader')
  for (const away of [1, 2]) cores.kill(away)
  cores.breakConnection(author)
  cores.settle()
  restart(setup)
  cores.connect(reader)
  cores.settle()
  reader.subscribe('w')
  cores.settle()
  assert.deepEqual(reader.payloads, ['gone'])
})

test('a shard that fails while its will is being forwarded publishes it to the others after its restart', () => {
  const setup = createSetup()
  const { cores, author } = setup
  cores.holdLink(0, 1)
  cores.breakConnection(author)
  cores.settle()
  cores.kill(0)
  cores.releaseLink(0, 1)
  cores.start(0)
  cores.settle()
  cores.passMs(0)
  assert.deepEqual(receivedPayloads(setup), { near: ['gone'], far: ['gone'] })
})

test('a will that every shard has committed is not published again', () => {
  const setup = createSetup()
  setup.cores.breakConnection(setup.author)
  setup.cores.settle()
  restart(setup)
  assert.deepEqual(receivedPayloads(setup), { near: ['gone'], far: ['gone'] })
})

test('the end of the session does not delete its will', () => {
  const setup = createSetup()
  const { cores, author } = setup
  cores.kill(1)
  author.cleanStart = true
  reconnectWithWill(setup, undefined)
  restart(setup)
  assert.deepEqual(receivedPayloads(setup), { near: ['gone'], far: ['gone'] })
})

test('the second will of a client is stored when the first one has arrived everywhere', () => {
  const setup = createSetup()
  const { cores } = setup
  cores.kill(1)
  reconnectWithWill(setup, { topic: 'w', payload: 'gone again', qos: 1, retain: false })
  cores.start(1)
  cores.settle()
  restart(setup)
  assert.deepEqual(receivedPayloads(setup), { near: ['gone', 'gone again'], far: ['gone', 'gone again'] })
})

test('several wills of one client are all stored for the unavailable shard, and none is left', () => {
  const setup = createSetup()
  const { cores, author } = setup
  cores.kill(1)
  for (const payload of ['gone again', 'and again'])
    reconnectWithWill(setup, { topic: 'w', payload, qos: 1, retain: false })
  cores.breakConnection(author)
  cores.settle()
  restart(setup)
  assert.deepEqual(setup.near.payloads, ['gone', 'gone again', 'and again'])
  assert.deepEqual(receivedPayloads(setup).far.toSorted(), ['and again', 'gone', 'gone again'])
  cores.passMs(0)
  const left = cores.recordStore.readAll().filter(({ kind }) => kind === 'will')
  assert.deepEqual(left, [])
})

test('a will that replaced another in the store is deleted when the shard has it', () => {
  const setup = createSetup()
  const { cores } = setup
  cores.kill(1)
  reconnectWithWill(setup, { topic: 'w', payload: 'gone again', qos: 1, retain: false })
  const owed = (): number => cores.recordStore.readAll().filter(({ kind }) => kind === 'will').length
  assert.equal(owed(), 2)
  cores.start(1)
  cores.settle()
  assert.equal(owed(), 1)
  assert.deepEqual(receivedPayloads(setup).far, ['gone'])
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
    const setup = { cores, near, far, author }
    if (seed % 2 === 0) cores.kill(1)
    reconnectWithWill(setup, { topic: 'w', payload: `${payload}, again`, qos: 1, retain: false })
    cores.breakConnection(author)
    cores.steps(seed)
    restart(setup)
    const both = [payload, `${payload}, again`]
    const found = receivedPayloads(setup)
    assert.deepEqual([...new Set(found.near)], both)
    assert.deepEqual([...new Set(found.far)].toSorted(), both)
    cores.passMs(0)
    assert.deepEqual(
      cores.recordStore.readAll().filter(({ kind }) => kind === 'will'),
      [],
    )
  }
})
