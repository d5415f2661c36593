// docs/SECURITY.md names the tests against each attack: they exist.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { namesInFile } from './test-names.ts'

/** Lines of the list of attacks on the MQTT side. */
const attacks = 31
/** Kinds of faults. */
const faults = 12
/** Rows of the table of security profiles. */
const profileRows = 9

const page = readFileSync(new URL('../../docs/SECURITY.md', import.meta.url), 'utf8')
const secondPart = page.slice(page.indexOf('\n## Attacks and their tests'))

interface Entry {
  readonly file: string
  readonly name: string
}

/** Cells of the rows of the tables in `text` that list tests. */
function rowsIn(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/---|\| tests \|$/.test(line))
    .map((line) => line.slice(2, -2).split(' | '))
}

function section(title: string): string {
  const from = secondPart.indexOf(`\n### ${title}\n`)
  assert.ok(from >= 0, `docs/SECURITY.md has no section "${title}"`)
  const to = secondPart.indexOf('\n### ', from + 1)
  return secondPart.slice(from, to < 0 ? undefined : to)
}

/** Tests in the last cell of a row; undefined if it says why there is none yet. */
function entriesOf(row: readonly string[]): Entry[] | undefined {
  const cell = row.at(-1) ?? ''
  if (/^open: \S/.test(cell)) return undefined
  return cell.split('<br>').map((entry) => {
    const [, file, name] = /^`(test\/[\w./-]+\.ts)`: (\S.*)$/.exec(entry) ?? []
    assert.ok(file !== undefined && name !== undefined, `docs/SECURITY.md: "${entry}" is not \`test/...\`: name`)
    return { file, name }
  })
}

describe('docs/SECURITY.md', () => {
  const rows = rowsIn(secondPart)

  test('has every line of the list of attacks, in its order, every profile setting and every fault', () => {
    const numbers = rows.map(([number = '']) => number).filter((number) => /^\d+$/.test(number))
    assert.deepEqual(
      numbers.map(Number),
      Array.from({ length: attacks }, (_, index) => index + 1),
    )
    assert.equal(rowsIn(section('Faults')).length, faults)
    assert.equal(rowsIn(section('Security profiles')).length, profileRows)
  })

  test('has only names of tests that exist, with the names of their groups', () => {
    const names = new Map<string, ReadonlySet<string>>()
    for (const { file, name } of rows.flatMap((row) => entriesOf(row) ?? [])) {
      const url = new URL(`../../${file}`, import.meta.url)
      assert.ok(existsSync(url), `${file} does not exist`)
      const known = names.get(file) ?? namesInFile(file, readFileSync(url, 'utf8'))
      names.set(file, known)
      assert.ok(known.has(name), `${file} has no test named "${name}"`)
    }
  })
})
