// Keeps the tests of this folder and the list of normative statements together.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bindsServer } from './statements/statement.ts'
import { statements } from './statements.ts'

/** More than so many statements that bind a server and have no test would not be a list of exceptions any more. */
const maxUntested = 14

const marksInTitles = titlesOfThisFolder().flatMap(({ title, file }) =>
  [...title.matchAll(/\[(MQTT5?-[^\]]*)\]/g)].map((found) => ({ mark: found[1] ?? '', title, file })),
)
const tested = new Set(marksInTitles.map(({ mark }) => mark))

test('every statement that binds a server names a test, or says why it has none', () => {
  const forgotten = statements.filter(
    (statement) => bindsServer(statement) && statement.untested === undefined && !tested.has(statement.mark),
  )
  assert.deepEqual(
    forgotten.map(({ mark, says }) => `${mark}: ${says}`),
    [],
  )
})

test('a statement that says why it has no test has none', () => {
  const both = statements.filter(({ mark, untested }) => untested !== undefined && tested.has(mark))
  assert.deepEqual(
    both.map(({ mark }) => mark),
    [],
  )
})

test('only statements that bind a server need to say why they have no test', () => {
  const needless = statements.filter((statement) => !bindsServer(statement) && statement.untested !== undefined)
  assert.deepEqual(
    needless.map(({ mark }) => mark),
    [],
  )
})

test('every mark in a title is one of a statement', () => {
  const known = new Set(statements.map(({ mark }) => mark))
  const unknown = marksInTitles.filter(({ mark }) => !known.has(mark))
  assert.deepEqual(
    unknown.map(({ mark, file }) => `${file}: ${mark}`),
    [],
  )
})

test('every test of this folder is named by a statement', () => {
  const nameless = titlesOfThisFolder().filter(({ title }) => !title.startsWith('[MQTT'))
  assert.deepEqual(
    nameless.map(({ title, file }) => `${file}: ${title}`),
    [],
  )
})

test('no statement is listed twice, and the list of those without a test stays short', () => {
  const marks = statements.map(({ mark }) => mark)
  assert.equal(new Set(marks).size, marks.length)
  const untested = statements.filter(({ untested: why }) => why !== undefined)
  assert.ok(untested.length <= maxUntested, `${untested.length} statements have no test`)
})

/** The titles of all tests in the other test files here, as they stand in the source. */
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
