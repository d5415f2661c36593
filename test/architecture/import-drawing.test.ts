import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { architectureRules } from './architecture-rules.ts'
import { drawImports, drawingPath } from './import-drawing.ts'

test('docs/IMPORTS.md shows the imports of the sources: `npm run generate` writes it', () => {
  const drawn = drawImports(fileURLToPath(new URL('../../', import.meta.url)), architectureRules)
  assert.equal(readFileSync(drawingPath, 'utf8'), drawn)
  // A mark to the right of the diagonal is an import of a higher layer.
  for (const line of drawn.split('\n')) assert.doesNotMatch(line, /·.*x/, line)
})
