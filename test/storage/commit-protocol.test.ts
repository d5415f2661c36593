// A home and its database, while connections, servers and waits for the standby fail. Found with 20,000 seeds of each kind.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CommitProtocol } from '../../src/storage/postgres/commit-protocol.ts'
import { testLength } from '../test-length.ts'
import { CommitWorld, type WorldOptions } from './commit-world.ts'
import type { SimulatedBatch } from './simulated-database.ts'

const seeds = testLength({ daily: 400, long: 20_000 })

function runSeeds(options: Omit<WorldOptions, 'seed' | 'batches'>): CommitWorld[] {
  return Array.from({ length: seeds }, (_, seed) => {
    const world = new CommitWorld({ seed, batches: 20, ...options })
    try {
      world.run()
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
    return world
  })
}

describe('a home that commits to a database with a synchronous standby', () => {
  test('loses no durable batch, writes none twice, and shows nothing that is not replicated', () => {
    const worlds = runSeeds({})
    assert.ok(worlds.every(({ stopped }) => stopped === undefined))
    for (const fault of ['cancel', 'lose', 'fail', 'restart', 'promote', 'report']) {
      assert.ok(
        worlds.some(({ counts }) => counts.has(fault)),
        `${fault} happened`,
      )
    }
  })

  test('has no effect after another home has taken the shard, and stops', () => {
    const worlds = runSeeds({ canBeReplaced: true })
    assert.ok(worlds.some(({ stopped }) => stopped === 'replaced'))
  })

  test('repeats the last batches when the database went back', () => {
    const worlds = runSeeds({ canGoBack: true })
    assert.ok(worlds.some(({ repeated }) => repeated.length > 0))
  })

  test('stops when the database went back and the batches are not in memory any more', () => {
    const worlds = runSeeds({ canGoBack: true, maxKeptBytes: 150 })
    assert.ok(worlds.some(({ stopped }) => stopped === 'went-back'))
    assert.ok(worlds.some(({ stopped, repeated }) => stopped === undefined && repeated.length > 0))
  })
})

describe('the commit protocol', () => {
  const home = { shard: 3, epoch: 5, life: 'mine' }
  const server = { systemIdentifier: '1', timeline: 4 }
  const start = (): CommitProtocol<SimulatedBatch> => {
    const protocol = new CommitProtocol<SimulatedBatch>({ home, server, maxKeptBytes: 1_000 })
    protocol.start()
    protocol.takeEffects()
    return protocol
  }

  test('uses no former primary and no other database', () => {
    const protocol = start()
    protocol.handleConnected(1, { ...server, timeline: 3 })
    assert.deepEqual(
      protocol.takeEffects().map(({ kind }) => kind),
      ['unready', 'disconnect', 'connect'],
    )
    protocol.handleConnected(2, { ...server, systemIdentifier: '2' })
    const [unready] = protocol.takeEffects()
    assert.deepEqual(unready, { kind: 'unready', why: 'it is another database: 2 instead of 1' })
    protocol.handleConnected(3, { ...server, timeline: 5 })
    assert.deepEqual(protocol.takeEffects(), [{ kind: 'raise-attempt', connection: 3, attempt: 1 }])
  })

  test('leaves a server at once when another node knows a newer one', () => {
    const protocol = start()
    protocol.handleConnected(1, server)
    protocol.handleRaised(1, { epoch: 5, life: 'mine', sequence: 9, attempt: 1 }, [])
    protocol.commit({ bytes: 1, position: 1 })
    protocol.takeEffects()
    protocol.handleReportedServer({ ...server, timeline: 4 })
    protocol.handleReportedServer({ systemIdentifier: '2', timeline: 9 })
    assert.deepEqual(protocol.takeEffects(), [])
    protocol.handleReportedServer({ ...server, timeline: 5 })
    assert.deepEqual(
      protocol.takeEffects().map(({ kind }) => kind),
      ['unready', 'disconnect', 'connect'],
    )
    protocol.handleWritten(1, true, [])
    assert.deepEqual(protocol.takeEffects(), [], 'the response of that server does not count')
  })

  test('continues with the batch after the last one of the former home', () => {
    const protocol = start()
    protocol.commit({ bytes: 1, position: 1 })
    protocol.handleConnected(1, server)
    protocol.handleRaised(1, { epoch: 5, life: 'mine', sequence: 9, attempt: 1 }, [])
    const written = protocol.takeEffects().find(({ kind }) => kind === 'write')
    assert.equal(written?.kind === 'write' && written.sequence, 10)
  })

  test('stops when the start of this home is lost', () => {
    for (const row of [undefined, { epoch: 4, life: 'mine', sequence: 9, attempt: 1 }]) {
      const protocol = start()
      protocol.handleConnected(1, server)
      protocol.handleRaised(1, undefined, [])
      protocol.takeEffects()
      protocol.handleRow(1, row)
      const stopped = protocol.takeEffects().at(-1)
      assert.ok(stopped?.kind === 'stopped' && stopped.reason === 'went-back')
      assert.match(stopped.text, /the database lost epoch 5 of shard 3/)
    }
  })
})
