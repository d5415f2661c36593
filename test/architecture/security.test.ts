// docs/SECURITY.md names the tests against each attack: they exist.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

/** Lines of the list of attacks on the MQTT side. */
const attacks = 31
/** Kinds of faults. */
const faults = 10

const page = readFileSync(new URL('../../docs/SECURITY.md', import.meta.url), 'utf8')
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/---|\| tests \|$/.test(line))
  .map((line) => line.slice(2, -2).split(' | '))

interface Entry {
  readonly file: string
  readonly name: string
}

/** What the last cell of a row names; undefined where it says why there is nothing yet. */
function entriesOf(row: readonly string[]): Entry[] | undefined {
  const cell = row.at(-1) ?? ''
  if (/^open: \S/.test(cell)) return undefined
  return cell.split('<br>').map((entry) => {
    const [, file, name] = /^`(test\/[\w./-]+\.ts)`: (\S.*)$/.exec(entry) ?? []
    assert.ok(file !== undefined && name !== undefined, `docs/SECURITY.md: "${entry}" is not \`test/...\`: name`)
    return { file, name }
  })
}

function patternOf(name: string): RegExp {
  return new RegExp(name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('…', '.*'))
}

describe('docs/SECURITY.md', () => {
  const attackRows = rows.filter(([number = '']) => /^\d+$/.test(number))
  const faultRows = rows.filter((row) => row.length === 2)
  const otherRows = rows.filter((row) => row.length > 2 && !attackRows.includes(row))

  test('has every line of the list of attacks, in its order, and every fault', () => {
    assert.deepEqual(
      attackRows.map(([number]) => Number(number)),
      Array.from({ length: attacks }, (_, index) => index + 1),
    )
    assert.equal(faultRows.length, faults)
  })

  test('names tests that are there', () => {
    for (const row of [...attackRows, ...faultRows, ...otherRows]) {
      for (const { file, name } of entriesOf(row) ?? []) {
        const url = new URL(`../../${file}`, import.meta.url)
        assert.ok(existsSync(url), `${file} is not there`)
        assert.match(readFileSync(url, 'utf8'), patternOf(name), `${file} has no test named "${name}"`)
      }
    }
  })
})
