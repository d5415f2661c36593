// The layout of Markdown files: one line width, and a short changelog.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findWideLines, markdownFiles, readPage } from './markdown.ts'

/** Pages that are generated from the sources have their own layout. */
const generatedPages = new Set(['docs/CONFIGURATION.md', 'docs/errors.md', 'docs/IMPORTS.md'])
const maxWidth = 150
const maxChangelogLines = 40

test('a line of prose in a Markdown file has at most 150 characters', () => {
  const files = markdownFiles().filter((file) => !generatedPages.has(file))
  assert.deepEqual(
    files.flatMap((file) => findWideLines(file, readPage(file), maxWidth)),
    [],
  )
})

test('the changelog has at most 40 lines', () => {
  assert.ok(readPage('CHANGELOG.md').trimEnd().split('\n').length <= maxChangelogLines)
})

test('a line that is too long is found in prose, not in tables and code', () => {
  const wide = 'word '.repeat(5)
  assert.deepEqual(
    findWideLines('A.md', `${wide}\n| ${wide} |\n\`\`\`\n${wide}\n\`\`\`\n- short`, 20).map(({ line }) => line),
    [1],
  )
})
