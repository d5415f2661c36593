import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readSource } from './source-file.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** Text in backticks: `a/path.ts`, or `aFunction()` of the last file named before it. */
interface Mention {
  readonly text: string
  readonly line: number
}

test('every file and function that WALKS.md names exists', () => {
  const missing = findMissing(readFileSync(`${checkout}docs/WALKS.md`, 'utf8'))
  assert.deepEqual(missing, [])
})

test('WALKS.md names files and functions at all', () => {
  const mentions = mentionsIn(readFileSync(`${checkout}docs/WALKS.md`, 'utf8'))
  assert.ok(mentions.filter(({ text }) => text.endsWith('.ts')).length > 10)
  assert.ok(mentions.filter(({ text }) => text.endsWith('()')).length > 10)
})

test('a file or function that does not exist is reported', () => {
  const here = '`test/architecture/walks.test.ts`'
  assert.deepEqual(findMissing(`${here} with \`findMissing()\``), [])
  assert.deepEqual(findMissing('\n`src/nowhere.ts`'), ['line 2: src/nowhere.ts'])
  assert.deepEqual(findMissing(`${here} with \`findNothing()\``), [
    'line 1: findNothing() in test/architecture/walks.test.ts',
  ])
  assert.deepEqual(findMissing('`findMissing()`'), ['line 1: findMissing() comes before any file'])
})

function findMissing(text: string): string[] {
  const missing: string[] = []
  let file: string | undefined
  for (const mention of mentionsIn(text)) {
    if (/^[\w./-]+\.(ts|js)$/.test(mention.text)) {
      file = mention.text
      if (!existsSync(checkout + file)) missing.push(`line ${mention.line}: ${file}`)
    } else if (mention.text.endsWith('()')) {
      if (file === undefined) missing.push(`line ${mention.line}: ${mention.text} comes before any file`)
      else if (!declares(file, mention.text.slice(0, -2)))
        missing.push(`line ${mention.line}: ${mention.text} in ${file}`)
    }
  }
  return missing
}

function mentionsIn(text: string): Mention[] {
  return text
    .split('\n')
    .flatMap((line, index) => [...line.matchAll(/`([^`]+)`/g)].map((match) => ({ text: match[1], line: index + 1 })))
}

function declares(file: string, name: string): boolean {
  if (!existsSync(checkout + file)) return true // Already reported for the file.
  return readSource(file, readFileSync(checkout + file, 'utf8')).functions.some((one) => one.name === name)
}
