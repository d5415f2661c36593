// Tests the preloaded library itself: it logs exactly the synced bytes.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PowerLoss } from './power-loss.ts'

const script = `
  const { appendFileSync, closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync, writeSync } = require('node:fs')
  process.chdir(process.argv[1])
  const half = openSync('half', 'w')
  writeSync(half, 'safe'); fdatasyncSync(half); writeSync(half, 'lost'); closeSync(half)
  const whole = openSync('before', 'w')
  writeSync(whole, 'safe'); fsyncSync(whole); closeSync(whole); renameSync('before', 'after')
  writeFileSync('named', 'lost')
  const names = openSync('.', 'r')
  fsyncSync(names); closeSync(names)
  writeFileSync('never', 'lost')
  const old = openSync('emptied', 'w')
  writeSync(old, 'once safe'); fsyncSync(old); closeSync(old); writeFileSync('emptied', 'lost')
  const gone = openSync('gone', 'w')
  writeSync(gone, 'safe'); fsyncSync(gone); closeSync(gone); rmSync('gone'); writeFileSync('heir', 'lost')
`

test('a simulated power cut removes all bytes that were not synced, and no others', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-power-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const directory = join(folder, 'data')
  mkdirSync(directory)
  const power = new PowerLoss(folder, directory)
  const env = { ...process.env, ...power.environment }
  execFileSync(process.execPath, ['-e', script, directory], { env })
  power.fail()
  const left = readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')])
  assert.deepEqual(left, [
    ['after', 'safe'],
    ['half', 'safe'],
    ['named', ''],
  ])
  power.fail()
  assert.equal(readdirSync(directory).length, 3, 'what survived one cut is safe from the next')
})
