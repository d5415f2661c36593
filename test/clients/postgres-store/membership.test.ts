// The transactions of the membership on a PostgreSQL with a synchronous standby: they do what the model of the simulator does, and nodes that
// decide at the same moment get one result.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MembershipAction, MembershipRows, MembershipTransaction } from '../../../src/cluster/index.ts'
import { claimShard, MembershipConnection, prepareDatabase } from '../../../src/storage/index.ts'
import { applyTransaction, createRows, type EndTimes } from '../../cluster/membership/database-model.ts'
import { shared } from '../../e2e/godwit-process.ts'
import { Random } from '../../simulator/random.ts'
import { testLength } from '../../test-length.ts'
import { toAddress } from './postgres-stage.ts'
import { startReplicatedDatabase } from './replicated-database.ts'

const shards = 4
const lives = ['00000000000000a1', '00000000000000b2', '00000000000000c3', '00000000000000d4']
const join = { kind: 'join', role: 'core', address: '127.0.0.1:1', leaseMs: 5_000 } as const

const getDatabase = shared(async (t) => {
  const database = await startReplicatedDatabase(t)
  const address = toAddress(database.url)
  await prepareDatabase({ address, store: 0, stores: 1, shards, clusterId: undefined, isReplicated: false })
  return { ...database, address }
})

async function clearRows(): Promise<void> {
  const { primary } = await getDatabase()
  await primary.query(
    'TRUNCATE godwit.nodes, godwit.unlinked',
    'UPDATE godwit.homes SET epoch = 0, life = NULL, failures = 0, is_restored = true, target = NULL, is_held = false',
    'UPDATE godwit.godwit_cluster SET membership_version = 0',
  )
}

async function connect(): Promise<MembershipConnection> {
  const { address } = await getDatabase()
  return await MembershipConnection.open({ address, isReplicated: false })
}

function write(life: string, ...actions: readonly MembershipAction[]): MembershipTransaction {
  return { life, attempt: 1, canTake: true, actions }
}

/** Times differ between the server and the model by the time of a statement. */
function withoutTimes({ nodes, version, shards: homes, unlinked }: MembershipRows) {
  const pairs = unlinked.toSorted((a, b) => `${a.by}${a.other}`.localeCompare(`${b.by}${b.other}`))
  return { version, homes, pairs, nodes: nodes.map((node) => ({ ...node, seenMs: 0 })) }
}

function chooseAction(random: Random): MembershipAction {
  const life = random.pick(lives)
  const version = { shard: random.between(0, shards - 1), epoch: random.between(0, 3) }
  return random.pick<MembershipAction>([
    { ...join, name: random.pick(['a', "b'\\"]), role: random.pick(['core', 'core', 'replica']) },
    { kind: 'barrier' },
    { kind: 'end', life, beats: random.between(0, 6), minAgeMs: random.pick([undefined, -60_000, 60_000]) },
    { kind: 'expire', life },
    { kind: 'leave' },
    { kind: 'refuse', life, other: random.pick(lives) },
    { kind: 'unlink', lives: lives.filter(() => random.chance(0.5)) },
    { kind: 'take', shards: [version, { shard: version.shard === 0 ? 1 : 0, epoch: random.between(0, 2) }] },
    { kind: 'take', shards: [version] },
    { kind: 'release', ...version },
    { kind: 'restart', ...version },
    { kind: 'restored', ...version },
    { kind: 'stable', ...version },
    { kind: 'move', ...version, target: life },
    { kind: 'hold', ...version },
    { kind: 'accept-loss', ...version, raiseTo: random.between(0, 4) },
    { kind: 'evacuate', life, isEvacuated: random.chance(0.5) },
    { kind: 'clean' },
  ])
}

void test('the statements do what the model of the simulator does', async () => {
  const connection = await connect()
  const counts = { ended: 0, taken: 0, refused: 0 }
  for (let seed = 1; seed <= testLength({ daily: 8, long: 400 }); seed++) {
    await clearRows()
    const random = new Random(seed)
    const endTimes: EndTimes = new Map()
    let model = createRows(shards)
    for (const life of lives) {
      const others = lives.filter((other) => other !== life)
      const refuse: MembershipAction = { kind: 'refuse', life, other: random.pick(others) }
      const transaction = write(life, { ...join, name: `node ${life}` }, { kind: 'unlink', lives: others }, refuse)
      model = applyTransaction(model, transaction, (await connection.run(transaction)).rows.nowMs, endTimes)
    }
    for (let step = 1; step <= 40; step++) {
      const actions = Array.from({ length: random.between(0, 3) }, () => chooseAction(random))
      const transaction = { ...write(random.pick(lives), ...actions), attempt: random.between(1, 2) }
      const { rows } = await connection.run(transaction)
      model = applyTransaction(model, transaction, rows.nowMs, endTimes)
      assert.deepEqual(
        withoutTimes(rows),
        withoutTimes(model),
        `seed ${seed} step ${step}: ${JSON.stringify(transaction)}`,
      )
    }
    counts.ended += model.nodes.filter(({ isEnded }) => isEnded).length
    counts.taken += model.shards.filter(({ epoch }) => epoch > 0).length
    counts.refused += model.nodes.filter(({ isRefused }) => isRefused).length
  }
  connection.destroy()
  assert.ok(counts.ended > 5 && counts.taken > 2 && counts.refused > 0, JSON.stringify(counts))
})

void test('of two nodes that end a life and take its shards at the same moment, each shard has one home with the next epoch', async () => {
  await clearRows()
  const [a = '', b = ''] = lives
  const [first, second, third] = await Promise.all([connect(), connect(), connect()])
  await first.run(write(a, { ...join, name: 'a' }))
  await second.run(write(b, { ...join, name: 'b' }))
  const random = new Random(1)
  const wins = new Map<string | undefined, number>()
  const rounds = testLength({ daily: 200, long: 1_000 })
  let epoch = 0
  for (let round = 1; round <= rounds; round++) {
    const victim = (0x10000 + round).toString(16).padStart(16, '0')
    const versions = [0, 1, 2, 3].map((shard) => ({ shard, epoch }))
    const before = await third.run(
      write(
        victim,
        { ...join, name: `victim ${round}` },
        { kind: 'take', shards: versions },
        ...versions.map(({ shard }): MembershipAction => ({ kind: 'restored', shard, epoch: epoch + 1 })),
      ),
    )
    epoch++
    const beats = before.rows.nodes.find(({ life }) => life === victim)?.beats ?? 0
    const owned = before.rows.shards.filter(({ life }) => life === victim).map(({ shard }) => ({ shard, epoch }))
    assert.equal(owned.length, shards)
    const end: MembershipAction = { kind: 'end', life: victim, beats, minAgeMs: undefined }
    const decide = async (connection: MembershipConnection, life: string) => {
      // So that either is first.
      for (let turns = random.between(0, 4); turns > 0; turns--) await new Promise(setImmediate)
      const shuffled = owned.toSorted((x, y) => ((x.shard * 7 + round) % 5) - ((y.shard * 7 + round) % 5))
      return await connection.run(write(life, end, { kind: 'take', shards: shuffled }))
    }
    const readings = await Promise.all([decide(first, a), decide(second, b)])
    const last = readings.toSorted((x, y) => y.rows.version - x.rows.version)[0]
    epoch++
    assert.deepEqual(
      last?.rows.shards.map((shard) => [shard.epoch, shard.life === a || shard.life === b]),
      Array.from({ length: shards }, () => [epoch, true]),
      `round ${round}`,
    )
    const homes = new Set(last?.rows.shards.map(({ life }) => life))
    assert.equal(homes.size, 1, 'a transaction takes all shards or finds them taken')
    const [winner] = homes
    wins.set(winner, (wins.get(winner) ?? 0) + 1)
    const releases = owned.map(({ shard }): MembershipAction => ({ kind: 'release', shard, epoch }))
    await (winner === a ? first : second).run(write(winner ?? '', ...releases))
  }
  for (const connection of [first, second, third]) connection.destroy()
  assert.ok([...wins.values()].every((count) => count > rounds / 20) && wins.size === 2, JSON.stringify([...wins]))
})

void test('the writer of a shard is the home with the greatest epoch', async () => {
  const { address, primary } = await getDatabase()
  const [a = '', b = ''] = lives
  assert.equal(await claimShard(address, { shard: 3, epoch: 5, life: a }), true)
  await primary.query('UPDATE godwit.shards SET attempt = 7, sequence = 9 WHERE shard = 3')
  assert.equal(await claimShard(address, { shard: 3, epoch: 5, life: a }), true, 'repeated')
  assert.equal(await claimShard(address, { shard: 3, epoch: 5, life: b }), false)
  assert.deepEqual(await primary.query('SELECT epoch, life, attempt, sequence FROM godwit.shards WHERE shard = 3'), [
    ['5', a, '7', '9'],
  ])
  assert.equal(await claimShard(address, { shard: 3, epoch: 6, life: b }), true)
  assert.equal(await claimShard(address, { shard: 3, epoch: 5, life: a }), false)
  assert.deepEqual(await primary.query('SELECT epoch, life, attempt, sequence FROM godwit.shards WHERE shard = 3'), [
    ['6', b, '0', '9'],
  ])
})

void test('a commit whose wait for the standby is cancelled is not confirmed, although other nodes see it', async () => {
  const { primary, standby } = await getDatabase()
  await clearRows()
  const connection = await connect()
  await standby.kill()
  const [life = ''] = lives
  const running = connection.run(write(life, { ...join, name: 'a' }))
  const rejected = assert.rejects(running, /one server only/)
  for (let cancelled = 0; cancelled === 0;) {
    const found = await primary.query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'godwit commit'",
    )
    cancelled = found.length
  }
  await rejected
  assert.deepEqual(await primary.query('SELECT name FROM godwit.nodes'), [['a']])
  connection.destroy()
})
