import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MembershipWorld } from './membership-world.ts'
import type { SimulatedNode } from './simulated-node.ts'
import { describeServer } from './simulated-network.ts'

const leaseMs = 5_000

function startWorld(seed: number, names: readonly string[] = ['a', 'b', 'c']): MembershipWorld {
  const world = new MembershipWorld({ seed, shards: 6 })
  for (const name of names) world.start(name)
  world.time.runUntil(20_000)
  rebalance(world)
  return world
}

function rebalance(world: MembershipWorld): void {
  const [first] = world.nodes
  first?.input({ kind: 'command', id: 1, command: { kind: 'rebalance' } })
  world.time.runUntil(world.time.nowMs + 15_000)
}

function listHomes(node: SimulatedNode | undefined): number[] {
  return node === undefined || node.isDead
    ? []
    : [...node.homes.values()].filter(({ isRunning }) => isRunning).map(({ shard }) => shard)
}

function countHomes({ nodes }: Pick<MembershipWorld, 'nodes'>): number {
  return nodes.flatMap(listHomes).length
}

/** Returns the time until all shards run. */
function measureUntilRunning(world: MembershipWorld, limitMs: number): number {
  const startMs = world.time.nowMs
  while (countHomes(world) < world.shards && world.time.nowMs - startMs < limitMs)
    world.time.runUntil(world.time.nowMs + 10)
  return world.time.nowMs - startMs
}

void test('after a kill, the shards run again within the lease and three seconds', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = startWorld(seed)
    assert.deepEqual(
      world.nodes.map((node) => listHomes(node).length),
      [2, 2, 2],
    )
    world.nodes[1]?.kill()
    const passedMs = measureUntilRunning(world, 20_000)
    assert.ok(passedMs > leaseMs && passedMs <= leaseMs + 3_000, `seed ${seed}: ${passedMs} ms`)
  }
})

void test('a planned stop hands over all shards within a second', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = startWorld(seed)
    world.nodes[0]?.input({ kind: 'stop' })
    world.time.runUntil(world.time.nowMs + 20)
    const passedMs = measureUntilRunning(world, 10_000)
    assert.ok(passedMs <= 1_000, `seed ${seed}: ${passedMs} ms`)
    assert.equal(world.nodes[0]?.hasLeft, true)
  }
})

void test('an evacuated node gives its shards away one after the other and takes none until that ends', () => {
  const world = startWorld(1)
  const [node, , third] = world.nodes
  node?.input({ kind: 'command', id: 2, command: { kind: 'evacuate', node: 'a', isEvacuated: true } })
  world.time.runUntil(world.time.nowMs + 15_000)
  assert.deepEqual(listHomes(node), [])
  assert.equal(node?.mayAct(), true)
  third?.kill()
  world.time.runUntil(world.time.nowMs + 12_000)
  assert.deepEqual(
    world.nodes.map((found) => listHomes(found).length),
    [0, 6, 0],
  )
})

void test('while the database is away no life ends, no client is disconnected, and nothing is acknowledged', () => {
  const world = startWorld(3)
  const { primary } = world.network.database
  primary.stop()
  world.checkAvailability()
  world.time.runUntil(world.time.nowMs + 60_000)
  assert.deepEqual(
    world.nodes.map((node) => [node.mayAct(), node.membership.areClientsClosed]),
    [1, 2, 3].map(() => [false, false]),
  )
  primary.start()
  world.checkAvailability()
  world.time.runUntil(world.time.nowMs + 8_000)
  assert.deepEqual(
    world.nodes.map((node) => [node.isDead, node.mayAct(), listHomes(node).length]),
    [1, 2, 3].map(() => [false, true, 2]),
  )
})

void test('a node without the database disconnects its clients when others have a lease, and its life ends', () => {
  const world = startWorld(4)
  const [node] = world.nodes
  world.network.setCut('a', describeServer(world.network.database.primary), true)
  world.time.runUntil(world.time.nowMs + 10_000)
  assert.deepEqual([node?.mayAct(), countHomes({ nodes: world.nodes.slice(1) })], [false, 6])
  assert.equal(node?.membership.areClientsClosed, false, 'not before the isolation timeout')
  world.time.runUntil(world.time.nowMs + 12_000)
  assert.equal(node?.membership.areClientsClosed, true)
})

void test('a process with the name of a live one waits for its end', () => {
  const world = startWorld(5, ['a'])
  world.nodes[0]?.kill()
  const second = world.start('a')
  world.time.runUntil(world.time.nowMs + 4_000)
  assert.equal(second.mayAct(), false)
  assert.equal(second.membership.state.isWaiting, true)
  world.time.runUntil(world.time.nowMs + 6_000)
  assert.deepEqual(listHomes(second).length, 6)
})

void test('expire ends a life at once, but not one that writes its row', () => {
  const world = startWorld(6)
  const [node, dead] = world.nodes
  const expire = (): void =>
    node?.input({ kind: 'command', id: 7, command: { kind: 'expire', life: dead?.life ?? '' } })
  expire()
  world.time.runUntil(world.time.nowMs + 2_000)
  assert.equal(dead?.isDead, false)
  dead?.kill()
  world.time.runUntil(world.time.nowMs + 4_200)
  expire()
  assert.ok(measureUntilRunning(world, 10_000) < 1_000)
})

void test('a shard whose records end it twice stays down alone, and accept-loss starts it again', () => {
  const world = startWorld(7)
  for (const _ of [1, 2]) {
    const node = world.nodes.find((found) => listHomes(found).includes(0))
    const home = node?.homes.get(0)
    assert.ok(node !== undefined && home !== undefined)
    home.close()
    node.input({ kind: 'home-failed', shard: 0, epoch: home.epoch })
    world.time.runUntil(world.time.nowMs + 5_000)
  }
  assert.equal(countHomes(world), 5)
  world.nodes[0]?.input({ kind: 'command', id: 8, command: { kind: 'accept-loss', shard: 0 } })
  assert.ok(measureUntilRunning(world, 10_000) < 2_000)
})

void test('a shard whose epoch went back with the database is held until accept-loss', () => {
  const world = startWorld(8)
  const { database } = world.network
  const before = database.primary.log.length
  const [node] = world.nodes
  const [shard = 0] = listHomes(node)
  const other = world.nodes[1]?.life ?? ''
  node?.input({ kind: 'command', id: 9, command: { kind: 'evacuate', node: 'a', isEvacuated: true } })
  world.time.runUntil(world.time.nowMs + 10_000)
  assert.notEqual(world.rows.shards[shard]?.life, node?.life)
  world.isLossy = true
  database.primary.stop()
  database.promote((database.primary.replicated ?? 0) - before)
  database.attachStandby()
  world.checkAvailability()
  world.time.runUntil(world.time.nowMs + 12_000)
  assert.equal(world.rows.shards[shard]?.isHeld, true, `${shard} ${other}`)
  assert.equal(world.nodes.flatMap(listHomes).includes(shard), false)
  for (const { shard: number } of world.rows.shards.filter(({ isHeld }) => isHeld)) {
    node?.input({ kind: 'command', id: 10 + number, command: { kind: 'accept-loss', shard: number } })
  }
  assert.ok(measureUntilRunning(world, 10_000) < 5_000)
})
