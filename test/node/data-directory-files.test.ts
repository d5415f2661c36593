// Files of the data directory that are lost or damaged between two runs: nothing is replaced without a word.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findLostDatabase } from '../../src/node/data-dir/earlier-run.ts'
import { settleAccessSecret } from '../../src/node/data-dir/access-secret.ts'
import { settleNodeName } from '../../src/node/data-dir/node-name.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

/** A data directory after a run. */
async function used(t: Parameters<typeof temporaryFolder>[0]): Promise<string> {
  const directory = await temporaryFolder(t)
  mkdirSync(join(directory, 'config-history'))
  writeFileSync(join(directory, 'config-history/00000001.json'), '{}')
  mkdirSync(join(directory, 'store'))
  writeFileSync(join(directory, 'store/CURRENT'), 'MANIFEST-000002')
  writeFileSync(join(directory, 'store.batches'), Buffer.alloc(32))
  await settleAccessSecret(directory)
  return directory
}

test('the first start creates a secret, and later starts read it', async (t) => {
  const directory = await temporaryFolder(t)
  const first = await settleAccessSecret(directory)
  const second = await settleAccessSecret(directory)
  assert.ok('secret' in first && 'secret' in second)
  assert.deepEqual([first.loss, second.loss], [undefined, undefined])
  assert.deepEqual(Buffer.from(first.secret), Buffer.from(second.secret))
})

const losses: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
  missing: [(path) => rmSync(path), /access-secret was missing and was replaced: users of the API must log in again/],
  empty: [(path) => truncateSync(path), /access-secret had 0 bytes instead of 32/],
  garbage: [(path) => writeFileSync(path, 'garbage'), /access-secret had 7 bytes instead of 32/],
}

for (const [name, [damage, expected]] of Object.entries(losses)) {
  test(`a secret that is ${name} is replaced with an alarm, once`, async (t) => {
    const directory = await used(t)
    damage(join(directory, 'access-secret'))
    const settled = await settleAccessSecret(directory)
    assert.ok('secret' in settled && settled.secret.length === 32)
    assert.match(settled.loss ?? '', expected)
    assert.deepEqual(await settleAccessSecret(directory), {
      secret: readFileSync(join(directory, 'access-secret')),
      loss: undefined,
    })
  })
}

for (const name of ['access-secret', 'node-name']) {
  test(`a start is refused if ${name} is a directory, and nothing is replaced`, async (t) => {
    const directory = await used(t)
    rmSync(join(directory, name), { force: true })
    mkdirSync(join(directory, name))
    const settled =
      name === 'node-name' ? await settleNodeName(directory, undefined) : await settleAccessSecret(directory)
    assert.ok(typeof settled === 'object' && 'problem' in settled)
    assert.match(settled.problem, new RegExp(`${name}: it is a directory: make it`))
  })
}

test('a database that is missing with store.batches is reported, because the history shows that there was one', async (t) => {
  const directory = await used(t)
  assert.equal(await findLostDatabase(directory), undefined)
  rmSync(join(directory, 'store'), { recursive: true })
  assert.equal(await findLostDatabase(directory), undefined, 'store.batches reports it')
  rmSync(join(directory, 'store.batches'))
  assert.match((await findLostDatabase(directory)) ?? '', /store is missing, but \S+config-history shows/)
  mkdirSync(join(directory, 'store'))
  assert.match((await findLostDatabase(directory)) ?? '', /is missing/, 'an empty directory is no database')
  rmSync(join(directory, 'config-history'), { recursive: true })
  assert.equal(await findLostDatabase(directory), undefined, 'a first start')
})
