// The code of the API server of Kubernetes (apiextensions-apiserver) accepts the definitions of the resources, and decides about resources and
// changes as `godwit deploy validate` does.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { createCrds, fromJson } from '../../src/deploy/index.ts'
import { validateDocument } from '../../src/manifests/index.ts'
import { resourceCases } from './api-server/resource-cases.ts'
import { apiServer } from './programs.ts'

interface Decisions {
  readonly definitions: readonly (readonly string[])[]
  readonly cases: readonly (readonly string[])[]
}

test('the API server accepts the definitions, and refuses what godwit deploy validate refuses', async (t) => {
  const program = await apiServer()
  if ('missing' in program) return t.skip(program.missing)
  const definitions = [false, true].flatMap((isEmqx) => createCrds({ isEmqx }))
  const input = JSON.stringify({ definitions, cases: resourceCases })
  const output = execFileSync(program.command, program.words, { input, encoding: 'utf8', maxBuffer: 67_108_864 })
  const decisions = JSON.parse(output) as Decisions
  assert.deepEqual(decisions.definitions, [[], [], [], []])
  assert.equal(decisions.cases.length, resourceCases.length)
  for (const [index, { object, previous }] of resourceCases.entries()) {
    const [next, before] = [fromJson(object), fromJson(previous ?? null)]
    assert.ok(next !== undefined)
    const { faults } = validateDocument(next, previous === undefined ? undefined : before)
    const errors = decisions.cases[index] ?? []
    assert.equal(errors.length > 0, faults.length > 0, JSON.stringify({ object, previous, faults, errors }))
  }
})
