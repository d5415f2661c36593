import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { de } from '../../dashboard/src/messages/de.ts'
import { en } from '../../dashboard/src/messages/en.ts'

const sources = fileURLToPath(new URL('../../dashboard/src/', import.meta.url))
const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([whole]) => whole).toSorted()

test('English and German have the same keys with the same placeholders', () => {
  assert.deepEqual(Object.keys(de).toSorted(), Object.keys(en).toSorted())
  for (const [key, text] of Object.entries(en)) {
    assert.notEqual(text.trim(), '', key)
    assert.deepEqual(placeholders(de[key as keyof typeof de]), placeholders(text), key)
  }
})

test('every message is used', () => {
  const code = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('messages'))
    .map((path) => readFileSync(join(sources, path), 'utf8'))
    .join('\n')
  assert.deepEqual(
    Object.keys(en).filter((key) => !code.includes(`'${key}'`)),
    [],
  )
})
