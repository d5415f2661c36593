// Links between two lives: every channel delivers exactly the buffers that were sent, once and in order, whatever happens to connections.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../properties.ts'
import { createBuffer, createIdentity, lives, SimulatedNetwork, SimulatedNode } from './simulated-nodes.ts'

const stored = (number: number, incarnation = 1) => ({ name: { stored: number }, epoch: 1, incarnation })

function createNetwork(maxKeptBytes?: number): SimulatedNetwork {
  return new SimulatedNetwork([
    new SimulatedNode(createIdentity(0), maxKeptBytes),
    new SimulatedNode(createIdentity(1), maxKeptBytes),
  ])
}

/** Two nodes with one shard each, connected. */
function createPair(maxKeptBytes?: number): SimulatedNetwork {
  const network = createNetwork(maxKeptBytes)
  for (const [index, { links }] of network.nodes.entries()) links.addShard(stored(index))
  network.connect()
  network.settle()
  return network
}

test('two shards have a channel, whichever was announced first', () => {
  const network = createNetwork()
  const [one, other] = network.nodes
  one.links.addShard(stored(0))
  network.connect()
  network.settle()
  assert.deepEqual([one.channels.length, other.channels.length], [0, 0])
  other.links.addShard(stored(1))
  network.settle()
  assert.deepEqual(
    [one.channels[0]?.channel.remote.name, other.channels[0]?.channel.remote.name],
    [{ stored: 1 }, { stored: 0 }],
  )
  one.channels[0].channel.send(createBuffer(7, 100))
  other.channels[0].channel.send(createBuffer(8, 0))
  network.settle()
  assert.deepEqual([one.channels[0].received, other.channels[0].received], [[8], [7]])
})

test('a buffer above the size of a frame arrives as one', () => {
  const network = createPair()
  const [one, other] = network.nodes
  one.channels[0].channel.send(createBuffer(1, 3_000_000))
  one.channels[0].channel.send(createBuffer(2, 10))
  network.settle()
  assert.deepEqual(other.channels[0].received, [1, 2])
})

test('buffers arrive once and in order when the connection is cut after any byte', () => {
  const total = new Exchange().move(1_000_000)
  assert.ok(total > 1_000, `only ${total} bytes`)
  for (let offset = 0; offset <= total; offset++) {
    const exchange = new Exchange()
    exchange.move(offset)
    exchange.network.cut()
    exchange.network.connect({ dialer: offset % 2 })
    exchange.move(1_000_000)
    for (const { channels } of exchange.network.nodes) {
      assert.equal(channels.length, 1, `cut after ${offset} bytes`)
      assert.deepEqual(channels[0].received, [1, 2, 3], `cut after ${offset} bytes`)
    }
  }
})

/** Two nodes with one shard each, which sends three buffers when it has a channel. */
class Exchange {
  readonly network = createNetwork()
  readonly #haveSent = new Set<SimulatedNode>()

  constructor() {
    for (const [index, { links }] of this.network.nodes.entries()) links.addShard(stored(index))
    this.network.connect()
  }

  /** Moves at most `maxBytes` in each direction, one by one. Returns how many there were. */
  move(maxBytes: number): number {
    for (let moved = 0; moved < maxBytes; moved++) {
      if (this.network.step(1) === 0) return moved
      for (const node of this.network.nodes) {
        if (node.channels.length === 0 || this.#haveSent.has(node)) continue
        this.#haveSent.add(node)
        for (const number of [1, 2, 3]) node.channels[0].channel.send(createBuffer(number, 200 * number))
      }
    }
    return maxBytes
  }
}

test('a shard that restarts opens a new channel, and its old channel ends after everything that was sent', () => {
  const network = createNetwork()
  const [one, other] = network.nodes
  const id = one.links.addShard(stored(0, 1))
  other.links.addShard(stored(1))
  network.connect()
  network.settle()
  one.channels[0].channel.send(createBuffer(1, 10))
  one.links.removeShard(id)
  one.links.addShard(stored(0, 2))
  // The other shard does not know of the restart yet: this buffer belongs to the old channel, and must not reach the new one.
  other.channels[0].channel.send(createBuffer(9, 10))
  network.settle()
  assert.deepEqual(other.channels[0].received, [1])
  assert.deepEqual([other.channels[0].hasEnded, one.channels[0].hasEnded], [true, true])
  assert.equal(other.channels[1].channel.remote.incarnation, 2)
  other.channels[1].channel.send(createBuffer(3, 10))
  network.settle()
  assert.deepEqual(one.channels[1].received, [3])
})

test('a channel that one shard closes ends at the other shard after everything that was sent', () => {
  const network = createPair()
  const [one, other] = network.nodes
  one.channels[0].channel.send(createBuffer(1, 10))
  one.channels[0].channel.end()
  one.channels[0].channel.send(createBuffer(2, 10))
  network.settle()
  assert.deepEqual(other.channels[0].received, [1])
  assert.deepEqual([one.channels[0].hasEnded, other.channels[0].hasEnded], [false, true])
})

test('the end of a life ends all its channels, and its connections are refused', () => {
  const network = createPair()
  const [one, other] = network.nodes
  one.links.setLives(new Set())
  network.settle()
  assert.equal(one.channels[0].hasEnded, true)
  assert.deepEqual(other.ends, [
    { reason: 'life-ended', message: 'the other node ended the connection', isRemote: true },
  ])
  assert.equal(other.channels[0].hasEnded, false, 'the other life waits: only the database ends lives')
  network.connect({ dialer: 1 })
  network.settle()
  assert.equal(other.ends.at(-1)?.reason, 'unknown-life')
  assert.equal(network.connections, 0)
})

test('a new run of a link thread ends the channels of the earlier run, which cannot come back', () => {
  const network = createPair()
  const [one, other] = network.nodes
  one.channels[0].channel.send(createBuffer(1, 10))
  network.settle()
  const restarted = new SimulatedNode(createIdentity(0, { run: 2 }))
  restarted.links.addShard(stored(0))
  network.cut()
  const later = new SimulatedNetwork([restarted, other])
  later.connect()
  later.settle()
  assert.equal(other.channels[0].hasEnded, true)
  restarted.channels[0].channel.send(createBuffer(2, 10))
  later.settle()
  assert.deepEqual(other.channels[1].received, [2])
  network.connect()
  network.settle()
  assert.equal(one.ends.at(-1)?.reason, 'old-run')
})

test('of two connections that both nodes dial at once, the one of the lesser life survives on both sides', () => {
  for (const first of [0, 1]) {
    const network = createNetwork()
    for (const [index, { links }] of network.nodes.entries()) links.addShard(stored(index))
    const pairs = [first, 1 - first].map((dialer) => network.connect({ dialer }))
    network.settle()
    const survivor = pairs[first === 0 ? 0 : 1]
    assert.deepEqual(
      survivor.map(({ isEstablished }) => isEstablished),
      [true, true],
      `node ${first} dialed first`,
    )
    assert.equal(network.connections, 1)
    network.nodes[0].channels[0].channel.send(createBuffer(1, 10))
    network.settle()
    assert.deepEqual(network.nodes[1].channels[0].received, [1])
  }
})

test('a node with the greater life that has lost the connection replaces it within two seconds', () => {
  const network = createPair()
  const [one, other] = network.nodes
  other.links.find(lives[0])?.connection?.handleClosed('lost at this side only')
  network.loseInput(0)
  network.loseInput(1)
  network.connect({ dialer: 1 })
  network.settle()
  assert.equal(other.ends.at(-1)?.reason, 'duplicate')
  network.passMs(1_500)
  assert.equal(one.ends.at(-1)?.reason, 'silent')
  network.connect({ dialer: 1 })
  network.settle()
  one.channels[0].channel.send(createBuffer(1, 10))
  network.settle()
  assert.deepEqual(other.channels[0].received, [1])
})

test('a connection of which one direction is lost ends after three seconds of silence, and nothing is lost', () => {
  for (const losing of [0, 1]) {
    const network = createPair()
    const [one, other] = network.nodes
    network.loseInput(losing)
    one.channels[0].channel.send(createBuffer(1, 10))
    other.channels[0].channel.send(createBuffer(2, 10))
    network.passMs(2_500)
    assert.equal(network.nodes[losing].ends.length, 0, 'not silent for long enough')
    network.passMs(1_000)
    assert.equal(network.nodes[losing].ends.at(-1)?.reason, 'silent')
    network.cut()
    network.connect()
    network.settle()
    assert.deepEqual([one.channels[0].received, other.channels[0].received], [[2], [1]])
  }
})

test('an idle connection stays, and the memory for repetitions is free after a second', () => {
  const network = createPair()
  const [one] = network.nodes
  for (let number = 0; number < 10; number++) one.channels[0].channel.send(createBuffer(number, 50_000))
  network.settle()
  network.passMs(60_000)
  assert.equal(network.connections, 1)
  assert.equal(one.links.find(lives[1])?.keptBytes, 0)
})

test('channels are full above the limit of kept bytes, until half of it is confirmed; nothing is dropped', () => {
  const network = createPair(100_000)
  const [one, other] = network.nodes
  network.cut()
  for (let number = 0; number < 12; number++) {
    one.channels[0].channel.send(createBuffer(number, 10_000))
    assert.equal(one.channels[0].isFull, number >= 9, `after ${number + 1} buffers`)
  }
  one.links.addShard(stored(2))
  assert.equal(one.channels[1].isFull, true, 'a new channel learns it')
  network.connect()
  network.settle()
  network.passMs(500)
  assert.deepEqual([one.channels[0].isFull, one.channels[1].isFull], [false, false])
  assert.deepEqual(other.channels[0].received, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
})

type Step =
  | { readonly kind: 'send'; readonly node: number; readonly bytes: number }
  | { readonly kind: 'step'; readonly bytes: number }
  | { readonly kind: 'cut' | 'pass' | 'settle' }
  | { readonly kind: 'dial' | 'loseInput' | 'restart'; readonly node: number }

const node = fc.integer({ min: 0, max: 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('send'), node, bytes: fc.integer({ min: 4, max: 600_000 }) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('step'), bytes: fc.integer({ min: 1, max: 300_000 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('dial'), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('loseInput'), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart'), node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('cut', 'pass', 'settle') }) },
)

test('every channel delivers exactly the buffers that were sent, whatever happens', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const run = new RandomRun()
      for (const one of steps) run.carryOut(one)
      run.check()
    }),
    { numRuns: 300 },
  )
})

/** Each node has one shard, which may restart. A number of a buffer is used once. */
class RandomRun {
  readonly #network = createNetwork()
  readonly #shards: number[]
  #incarnation = 1
  #lastNumber = 0
  /** By channel: what was sent on it, by node and incarnations of both shards. */
  readonly #sent = new Map<string, number[]>()

  constructor() {
    this.#shards = this.#network.nodes.map(({ links }, index) => links.addShard(stored(index)))
    this.#network.connect()
  }

  carryOut(one: Step): void {
    const network = this.#network
    if (one.kind === 'send') this.#send(one.node, one.bytes)
    else if (one.kind === 'step') network.step(one.bytes)
    else if (one.kind === 'dial') network.connect({ dialer: one.node })
    else if (one.kind === 'loseInput') network.loseInput(one.node)
    else if (one.kind === 'restart') this.#restart(one.node)
    else if (one.kind === 'cut') network.cut()
    else if (one.kind === 'pass') network.passMs(3_500)
    else network.settle()
  }

  /** Connects the nodes again, and compares what arrived. */
  check(): void {
    const network = this.#network
    network.passMs(7_000)
    network.cut()
    network.connect()
    network.settle()
    for (const [index, { channels }] of network.nodes.entries()) {
      for (const { channel, received, hasEnded } of channels) {
        const { remote, local } = channel
        const sent = this.#sent.get(`${1 - index} ${remote.incarnation} ${local.incarnation}`) ?? []
        // A shard that has ended does not receive what was on its way.
        if (hasEnded) assert.deepEqual(received, sent.slice(0, received.length))
        else assert.deepEqual(received, sent)
      }
    }
    const open = network.nodes.map(({ channels }) => channels.filter(({ hasEnded }) => !hasEnded).length)
    assert.deepEqual(open, [1, 1])
  }

  #send(index: number, bytes: number): void {
    const open = this.#network.nodes[index].channels.find(({ hasEnded }) => !hasEnded)
    if (open === undefined) return
    const number = ++this.#lastNumber
    const key = `${index} ${open.channel.local.incarnation} ${open.channel.remote.incarnation}`
    this.#sent.set(key, [...(this.#sent.get(key) ?? []), number])
    open.channel.send(createBuffer(number, bytes))
  }

  #restart(index: number): void {
    const { links } = this.#network.nodes[index]
    links.removeShard(this.#shards[index])
    this.#shards[index] = links.addShard(stored(index, ++this.#incarnation))
  }
}
