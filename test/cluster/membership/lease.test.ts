import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantLease, isLeaseHeld, LeaseCell } from '../../../src/cluster/index.ts'

const sentAt = { monotonicMs: 1_000, wallMs: 50_000 }
const lease = grantLease(sentAt, 5_000)

const moments = [
  { title: 'at once', monotonicMs: 0, wallMs: 0, isHeld: true },
  { title: 'just before its end', monotonicMs: 4_999, wallMs: 4_999, isHeld: true },
  { title: 'after its time by the monotonic clock', monotonicMs: 5_000, wallMs: 10, isHeld: false },
  { title: 'after its time by the wall clock, as after a pause of a virtual machine', monotonicMs: 10, wallMs: 5_000, isHeld: false },
  { title: 'when the wall clock is slowed down a little', monotonicMs: 500, wallMs: -100, isHeld: true },
  { title: 'when the wall clock was set back, because it limits nothing then', monotonicMs: 500, wallMs: -600, isHeld: false },
] // oxfmt-ignore

for (const { title, monotonicMs, wallMs, isHeld } of moments) {
  void test(`a lease is ${isHeld ? '' : 'not '}held ${title}`, () => {
    const now = { monotonicMs: sentAt.monotonicMs + monotonicMs, wallMs: sentAt.wallMs + wallMs }
    assert.equal(isLeaseHeld(lease, now), isHeld)
    const cell = new LeaseCell()
    cell.write(lease)
    assert.equal(new LeaseCell(cell.buffer).isHeld(now), isHeld, 'in the memory of all threads')
  })
}

void test('a cell without a lease, and one whose lease was taken away, hold none', () => {
  const cell = new LeaseCell()
  assert.equal(cell.isHeld({ monotonicMs: 0, wallMs: 0 }), false)
  cell.write(lease)
  cell.write(undefined)
  assert.equal(cell.isHeld(sentAt), false)
})
