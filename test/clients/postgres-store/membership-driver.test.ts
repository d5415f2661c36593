// The membership of three nodes in one process, over a PostgreSQL with a synchronous standby.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { MembershipDriver } from '../../../src/node/cluster/membership-driver.ts'
import { prepareDatabase, type StoreAddress } from '../../../src/storage/index.ts'
import { eventually } from '../../e2e/eventually.ts'
import { toAddress } from './postgres-stage.ts'
import { startReplicatedDatabase } from './replicated-database.ts'

const shards = 6
const heartbeatMs = 500

class Member {
  readonly driver: MembershipDriver
  readonly life = randomBytes(8).toString('hex')
  readonly homes = new Map<number, number>()
  readonly endedLives: string[] = []
  end: string | undefined
  hasEnded = false
  wereClientsClosed = false

  constructor(name: string, address: StoreAddress, options: { isReplicated: boolean; members: readonly Member[] }) {
    const { members, isReplicated } = options
    this.driver = new MembershipDriver({
      membership: {
        life: this.life,
        name,
        role: 'core',
        address: `${name}:1`,
        leaseMs: 5_000,
        isolationTimeoutMs: 15_000,
        maxClockSkewMs: 2_000,
      },
      address,
      findShardAddress: () => address,
      isReplicated,
      log: { warn: () => {} },
      callbacks: {
        onLifeJoined: () => {},
        onLifeEnded: (life) => this.endedLives.push(life),
        onHome: () => {},
        startHome: (shard) => {
          this.homes.set(shard.shard, shard.epoch)
          setImmediate(() => this.driver.reportRestored(shard))
        },
        stopHome: (shard) => {
          this.homes.delete(shard.shard)
          setImmediate(() => this.driver.reportStopped(shard))
        },
        sendHeartbeats: () => this.sendHeartbeats(members),
        closeClients: () => (this.wereClientsClosed = true),
        onOwnLifeEnded: (reason) => {
          this.hasEnded = true
          this.end = reason
        },
      },
    })
  }

  sendHeartbeats(members: readonly Member[]): void {
    for (const other of members) {
      if (other === this || other.hasEnded || this.hasEnded) continue
      const heartbeat = this.driver.createHeartbeat(other.life)
      setImmediate(() => other.driver.receiveHeartbeat(heartbeat))
    }
  }

  /** As SIGKILL. */
  kill(): void {
    this.driver.abort()
    this.hasEnded = true
  }
}

async function startMembers(t: TestContext, isReplicated = false) {
  const database = await startReplicatedDatabase(t)
  const address = toAddress(database.url)
  await prepareDatabase({ address, store: 0, stores: 1, shards, clusterId: undefined, isReplicated })
  const members: Member[] = []
  for (const name of ['a', 'b', 'c']) members.push(new Member(name, address, { isReplicated, members }))
  const timer = setInterval(() => {
    for (const member of members) member.sendHeartbeats(members)
  }, heartbeatMs)
  t.after(() => {
    clearInterval(timer)
    for (const member of members) member.kill()
  })
  for (const { driver } of members) driver.start()
  await eventually(() => assert.equal(countHomes(members), shards))
  await eventually(() => assert.ok(members.every(({ driver }) => driver.hasLease())))
  await eventually(async () => {
    assert.equal(await members[0]?.driver.runCommand({ kind: 'rebalance' }), undefined)
    assert.deepEqual(
      members.map(({ homes }) => homes.size),
      [2, 2, 2],
    )
  })
  return { ...database, members }
}

function countHomes(members: readonly Member[]): number {
  return members.filter(({ hasEnded }) => !hasEnded).reduce((sum, { homes }) => sum + homes.size, 0)
}

void test('after a kill, the other nodes take the shards with the next epochs', async (t) => {
  const { members } = await startMembers(t)
  const [a, b, c] = members as [Member, Member, Member]
  const former = [...b.homes]
  const startedMs = performance.now()
  b.kill()
  await eventually(() => assert.equal(countHomes(members), shards))
  t.diagnostic(`from the kill to the new homes: ${Math.round(performance.now() - startedMs)} ms`)
  for (const [shard, epoch] of former) assert.equal(a.homes.get(shard) ?? c.homes.get(shard), epoch + 1)
  assert.deepEqual([a.homes.size, c.homes.size], [3, 3])
  assert.deepEqual([a.endedLives, c.endedLives], [[b.life], [b.life]])

  const stoppedMs = performance.now()
  a.driver.stop()
  await eventually(() => assert.deepEqual([a.hasEnded, c.homes.size], [true, shards]))
  t.diagnostic(`a planned stop: ${Math.round(performance.now() - stoppedMs)} ms`)
  assert.equal(a.end, undefined)
})

void test('after a stop of the database, all lives and homes go on', async (t) => {
  const { members, primary } = await startMembers(t)
  const homes = members.map((member) => [...member.homes])
  await primary.kill()
  await eventually(() =>
    assert.deepEqual(
      members.map(({ driver }) => driver.hasLease()),
      [false, false, false],
    ),
  )
  assert.deepEqual(
    members.map(({ driver }) => driver.describe().stalls[0]?.kind),
    ['database', 'database', 'database'],
  )
  await primary.start('synchronous_standby_names=*')
  await eventually(() =>
    assert.deepEqual(
      members.map(({ driver }) => driver.hasLease()),
      [true, true, true],
    ),
  )
  assert.deepEqual(
    members.map((member) => [...member.homes]),
    homes,
  )
  assert.deepEqual(
    members.flatMap(({ endedLives, wereClientsClosed, hasEnded }) => [endedLives.length, wereClientsClosed, hasEnded]),
    [0, false, false, 0, false, false, 0, false, false],
  )
})

void test('after a promotion of the standby, all lives and homes go on there', async (t) => {
  const { members, primary, standby } = await startMembers(t, true)
  const homes = members.map((member) => [...member.homes])
  const before = members[0]?.driver.describe().server?.timeline ?? 0
  await primary.kill()
  await standby.promote()
  await standby.kill()
  await standby.start()
  await eventually(() =>
    assert.deepEqual(
      members.map(({ driver }) => [driver.hasLease(), driver.describe().server?.timeline]),
      [1, 2, 3].map(() => [true, before + 1]),
    ),
  )
  assert.deepEqual(
    members.map((member) => [...member.homes]),
    homes,
  )
  assert.deepEqual(
    members.map(({ endedLives }) => endedLives.length),
    [0, 0, 0],
  )
})
