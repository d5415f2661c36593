import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SliceWanted, WalkPosition } from '../../src/core/index.ts'
import { MemoryAccount, createIdentity } from '../../src/core/index.ts'
import { Session } from '../../src/core/state/sessions/session.ts'
import { SessionTable } from '../../src/core/state/sessions/session-table.ts'
import { walkChosen, walkSessions } from '../../src/core/views/walk.ts'
import { fc } from '../properties.ts'

const start: WalkPosition = { place: 0, offset: 0 }

function session(clientId: string): Session {
  return new Session(clientId, 0, createIdentity(clientId, undefined, ''))
}

type Visit = Parameters<typeof walkSessions>[2]

function wanted(from: WalkPosition): SliceWanted {
  return { from, skip: 0, maxRows: 1, isOver: () => true }
}

test('a scan in slices finds each session once that exists throughout, whatever other sessions begin and end', () => {
  const change = fc.record({ isComing: fc.boolean(), client: fc.nat(40) })
  const steps = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 12 })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), steps, (stayers, changes) => {
      const table = new SessionTable(new MemoryAccount())
      const waiting = [...changes]
      // Sessions that stay and sessions that end are mixed.
      for (let index = 0; index < stayers; index++) {
        table.add(session(`stays-${index}`))
        if (index < 41) table.add(session(`goes-${index}`))
      }
      const seen = new Map<string, number>()
      for (let at: WalkPosition | undefined = start; at !== undefined;) {
        at = walkSessions(table, wanted(at), ({ clientId }) => {
          seen.set(clientId, (seen.get(clientId) ?? 0) + 1)
          return undefined
        })
        for (const { isComing, client } of waiting.shift() ?? []) {
          const known = table.get(`goes-${client}`)
          if (isComing && known === undefined) table.add(session(`goes-${client}`))
          if (!isComing && known !== undefined) table.remove(known)
        }
      }
      for (let index = 0; index < stayers; index++) assert.equal(seen.get(`stays-${index}`), 1)
    }),
  )
})

test('a free slot is used by the next session, and an empty table has none', () => {
  const table = new SessionTable(new MemoryAccount())
  const [first, second, third] = ['a', 'b', 'c'].map(session)
  table.add(first)
  table.add(second)
  table.add(second)
  assert.deepEqual([table.size, table.places], [2, 2])
  table.remove(first)
  table.remove(first)
  assert.equal(table.at(0), undefined)
  table.add(third)
  assert.equal(table.at(0), third)
  assert.equal(table.places, 2)
  table.remove(second)
  table.remove(third)
  assert.deepEqual([table.size, table.places], [0, 0])
})

test('a scan of selected sessions finds the same as a scan of all, slice by slice', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5), { maxLength: 120 }), fc.integer({ min: 1, max: 4 }), (rows, maxRows) => {
      const table = new SessionTable(new MemoryAccount())
      for (const [index, count] of rows.entries()) table.add(session(`${index}:${count}`))
      const chosen = [...table.values()].filter(({ clientId }) => !clientId.endsWith(':0'))
      /** Each session has as many rows as its name says; this number fits into a slice. */
      const rowsOf = (walk: (at: WalkPosition, visit: Visit) => WalkPosition | undefined): string[] => {
        const read: string[] = []
        for (let at: WalkPosition | undefined = start; at !== undefined;) {
          let room = maxRows
          at = walk(at, ({ clientId }, offset) => {
            for (let row = offset; row < Number(clientId.split(':')[1]); row++) {
              if (room-- === 0) return row
              read.push(`${clientId} ${row}`)
            }
            return undefined
          })
        }
        return read
      }
      const found = rowsOf((at, visit) => walkChosen(chosen, wanted(at), visit))
      assert.deepEqual(
        found,
        rowsOf((at, visit) => walkSessions(table, wanted(at), visit)),
      )
      assert.equal(
        found.length,
        rows.reduce((sum, count) => sum + count, 0),
      )
    }),
  )
})
