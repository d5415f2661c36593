import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout, findDeadLinks, findMissingPaths, markdownFiles, readPage } from './markdown.ts'

const read = (path: string): string | undefined => {
  const at = join(checkout, path)
  if (!existsSync(at)) return undefined
  return statSync(at).isFile() && path.endsWith('.md') ? readFileSync(at, 'utf8') : ''
}

const existsInCheckout = (path: string): boolean => existsSync(join(checkout, path))
const isNotGone = (path: string): boolean => !path.includes('gone')

test('every link of a Markdown file leads to a file and a heading that exist', () => {
  const files = markdownFiles()
  assert.ok(files.length > 40, `only ${files.length} files`)
  assert.deepEqual(
    files.flatMap((file) => findDeadLinks(file, readPage(file), read)),
    [],
  )
})

test('every path that a Markdown file names in backticks exists', () => {
  assert.deepEqual(
    markdownFiles().flatMap((file) => findMissingPaths(file, readPage(file), existsInCheckout)),
    [],
  )
})

test('a dead link is reported with its line', () => {
  const pages: Record<string, string> = { 'docs/A.md': '# Top\n## A `b` c: d\n## Twice\n## Twice\n', 'README.md': '' }
  const dead = (text: string): string[] =>
    findDeadLinks('docs/B.md', text, (path) => pages[path]).map((finding) => `${finding.line} ${finding.text}`)
  assert.deepEqual(
    dead('[a](A.md) [b](A.md#a-b-c-d) [c](A.md#twice-1) [d](../README.md) [e](https://example.com/x)'),
    [],
  )
  assert.deepEqual(dead('# Here\n[a](#here) [b](#there)\n[c](A.md#twice-2) [d](C.md)'), [
    '2 #there',
    '3 A.md#twice-2',
    '3 C.md',
  ])
  assert.deepEqual(dead('```\n[a](C.md)\n```\n`[b](C.md)`'), [], 'code is not a link')
})

test('a path that does not exist is reported with its line', () => {
  const missing = findMissingPaths('A.md', '`src/core/index.ts`\n`src/gone.ts` `npm test` `src/*/x.ts`', isNotGone)
  assert.deepEqual(missing, [{ file: 'A.md', line: 2, text: 'src/gone.ts' }])
})
