// Each failure of a network or a server, in each phase of the work of a shard. Everything that was committed is stored once, and the store
// works again without help.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { StorageFailure, type Store } from '../../../src/storage/index.ts'
import type { StoredRecord } from '../../../src/records/index.ts'
import { eventually } from '../../e2e/eventually.ts'
import { shared } from '../../e2e/godwit-process.ts'
import { put, readAll } from '../../storage/read-all.ts'
import { message, queued } from '../../storage/sample-records.ts'
import { casesOf } from '../../test-length.ts'
import { type Begin, type Fault, FaultProxy, faults } from '../matrix/fault-proxy.ts'
import { PostgresStage, toAddress } from './postgres-stage.ts'
import { startReplicatedDatabase, toUrl } from './replicated-database.ts'

/** More than the store waits for an answer: 5 s, and 1 s for each MiB of a batch, of which the largest here has 18 MiB. */
const lateMs = 30_000
/** A batch of two statements. */
const largePayload = Buffer.alloc(9 * 1_024 * 1_024, 'x')
const maxConnectionsOfShard = 6

type PhaseCase = readonly [name: string, begin: Begin, subject: 'commit' | 'read']

const phases: readonly PhaseCase[] = [
  ['while a connection is opened', 'handshake', 'commit'],
  ['while nothing is written', 'now', 'commit'],
  ['while a batch is written', /commit-/, 'commit'],
  ['while the parts of a large batch are written', /part-put/, 'commit'],
  ['while a large batch is committed', /COMMIT/, 'commit'],
  ['while the attempt is raised', /SET attempt/, 'commit'],
  ['while a queue is read', /slices/, 'read'],
]

const getStage = shared(async (t) => {
  const { primary, url } = await startReplicatedDatabase(t, { settings: ['max_connections=300'] })
  return await new PostgresStage(primary, url).prepare()
})

describe('a shard whose database fails', () => {
  for (const [name, begin, subject] of casesOf(phases, ...phases.map(([phase]) => phase))) {
    // Each fault has a shard and a proxy of its own.
    test(`${name}: ${faults.join(', ')}`, async (context) => {
      const found = await Promise.allSettled(faults.map((fault) => runCell(context, fault, { name, begin, subject })))
      const failed = found.flatMap((result, index) =>
        result.status === 'rejected' ? [`${faults[index]}: ${String(result.reason)}`] : [],
      )
      assert.deepEqual(failed, [])
    })
  }
})

interface Phase {
  readonly name: string
  readonly begin: Begin
  readonly subject: 'commit' | 'read'
}

async function runCell(context: TestContext, fault: Fault, { begin, subject }: Phase): Promise<void> {
  const stage = await getStage()
  const proxy = await FaultProxy.start(context, stage.primary.port, { lateMs })
  const { store, shard, trouble, alarms, stopped } = await stage.open(context, {
    address: toAddress(toUrl(proxy.port)),
  })
  await store.commit(put(queued('client', 1)))
  assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 1)])
  const isReconnect = begin === 'handshake' || String(begin).includes('attempt')
  if (isReconnect) {
    await proxy.begin('refuse')
    await proxy.heal()
  }
  await proxy.begin(fault, begin)
  const troubleBefore = trouble.length
  const committed = store.commit(createBatch(begin))
  const reads = { failures: 0 }
  const read = readUntilSuccess(store, reads)
  if (fault !== 'delay' && subject === 'commit') await eventually(() => assert.ok(trouble.length > troubleBefore))
  if (fault !== 'delay' && subject === 'read') await eventually(() => assert.ok(reads.failures > 0))
  await proxy.heal()
  await committed
  await read
  await store.commit(put(queued('client', 9)))
  const sequences = (await readAll(store, { kind: 'queued' })).map((record) => 'sequence' in record && record.sequence)
  assert.deepEqual(sequences, [1, 2, 3, 4, 9])
  const [row] = await stage.primary.query(`SELECT sequence FROM godwit.shards WHERE shard = ${shard}`)
  assert.deepEqual(row, ['3'], 'three batches')
  assert.deepEqual([alarms, stopped], [[], []])
  assert.ok(proxy.open <= maxConnectionsOfShard, `${proxy.open} connections are open`)
  await store.close()
}

function createBatch(begin: Begin): ReturnType<typeof put> {
  const isLarge = /part|COMMIT/.test(String(begin))
  const payload = isLarge ? largePayload : Buffer.from('x')
  const records = [2, 3].map((sequence): StoredRecord => ({
    ...queued('client', sequence),
    message: message('t', '', { payload }),
  }))
  return put(...records, queued('client', 4))
}

/** As `QueueReads` of a shard, without pauses that grow. */
async function readUntilSuccess(store: Store, reads: { failures: number }): Promise<void> {
  for (;;) {
    try {
      await readAll(store, { kind: 'queued', clientId: 'client', limit: 1 })
      return
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      reads.failures += 1
    }
  }
}
