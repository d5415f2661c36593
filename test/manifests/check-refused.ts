// Checks that resources are refused with certain faults.

import assert from 'node:assert/strict'
import { listFaults, validateCluster } from './resources.ts'

export interface Refused {
  readonly spec: object
  /** Faults as `path: message`. */
  readonly faults: readonly string[]
}

/** Each fault has a line and a remedy, and nothing is rendered. */
export function checkRefused(cases: readonly Refused[]): void {
  for (const { spec, faults } of cases) {
    const found = validateCluster(spec)
    assert.deepEqual(listFaults(found.faults), faults, JSON.stringify(spec))
    assert.deepEqual(found.resources, [])
    for (const fault of found.faults) {
      assert.ok(fault.line > 0, fault.path)
      assert.notEqual(fault.hint, '')
    }
  }
}
