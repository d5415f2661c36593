// Compares the titles of the tests of this folder with the list of normative statements.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bindsServer } from './statements/statement.ts'
import { statements } from './statements.ts'

/** Maximum number of statements that bind a server and have no test. With more, the list would not be one of exceptions. */
const maxUntested = 14

const marksInTitles = titlesOfThisFolder().flatMap(({ title, file }) =>
  [...title.matchAll(/\[(MQTT5?-[^\]]*)\]/g)].map((found) => ({ mark: found[1] ?? '', title, file })),
)
const tested = new Set(marksInTitles.map(({ mark }) => mark))

test('every statement that binds a server has a test, or a reason why it has none', () => {
  const forgotten = statements.filter(
    (statement) => bindsServer(statement) && statement.untested === undefined && !tested.has(statement.mark),
  )
  assert.deepEqual(
    forgotten.map(({ mark, text }) => `${mark}: ${text}`),
    [],
  )
})

test('a statement with a reason for having no test has no test', () => {
  const both = statements.filter(({ mark, untested }) => untested !== undefined && tested.has(mark))
  assert.deepEqual(
    both.map(({ mark }) => mark),
    [],
  )
})

test('only statements that bind a server have a reason for having no test', () => {
  const needless = statements.filter((statement) => !bindsServer(statement) && statement.untested !== undefined)
  assert.deepEqual(
    needless.map(({ mark }) => mark),
    [],
  )
})

test('every tag in a title names a statement', () => {
  const known = new Set(statements.map(({ mark }) => mark))
  const unknown = marksInTitles.filter(({ mark }) => !known.has(mark))
  assert.deepEqual(
    unknown.map(({ mark, file }) => `${file}: ${mark}`),
    [],
  )
})

test('every test of this folder names a statement', () => {
  const nameless = titlesOfThisFolder().filter(({ title }) => !title.startsWith('[MQTT'))
  assert.deepEqual(
    nameless.map(({ title, file }) => `${file}: ${title}`),
    [],
  )
})

test('no statement is listed twice, and the list of statements without a test stays short', () => {
  const marks = statements.map(({ mark }) => mark)
  assert.equal(new Set(marks).size, marks.length)
  const untested = statements.filter(({ untested: why }) => why !== undefined)
  assert.ok(untested.length <= maxUntested, `${untested.length} statements have no test`)
})

/** The titles of all tests in the other test files of this folder, as in the source. */
function titlesOfThisFolder(): { title: string; file: string }[] {
  const folder = import.meta.dirname
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.ts') && file !== 'statements.test.ts')
  return files.flatMap((file) => {
    const source = readFileSync(`${folder}/${file}`, 'utf8')
    return [...source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gs)].map((found) => ({
      title: found[2] ?? '',
      file,
    }))
  })
}
