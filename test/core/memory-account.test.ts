import assert from 'node:assert/strict'
import test from 'node:test'
import { MemoryAccount, memoryUses } from '../../src/core/index.ts'

test('the memory account adds up the bytes of each use, in cells that another thread can read', () => {
  const cells = new Float64Array(new SharedArrayBuffer(memoryUses.length * Float64Array.BYTES_PER_ELEMENT))
  const account = new MemoryAccount(cells)
  account.add('wills', 100)
  account.add('filters', 50)
  account.add('wills', -40)
  assert.equal(account.get('wills'), 60)
  assert.equal(account.totalBytes, 110)
  assert.equal(new MemoryAccount(cells).get('filters'), 50)
  assert.equal(account.level, 'normal')
})
