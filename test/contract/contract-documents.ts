// The documents that `npm run generate` writes from the contract.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { endpoints } from '../../src/api/endpoints.ts'
import { createOpenApi, writeErrorsPage } from '../../src/contract/index.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** The texts of the documents by path relative to the checkout. */
export function contractDocuments(): Record<string, string> {
  const { version } = JSON.parse(readFileSync(`${checkout}package.json`, 'utf8')) as { version: string }
  return {
    'docs/openapi.json': writeCompactly(createOpenApi(endpoints, version)),
    'docs/errors.md': writeErrorsPage(endpoints),
  }
}

/** JSON with one operation or component per line: half the size of indented JSON, and a difference still names what changed. */
function writeCompactly(document: object): string {
  const linesOf = (value: unknown, depth: number): string => {
    if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
    const entries = Object.entries(value).map(([key, inside]) => `${JSON.stringify(key)}:${linesOf(inside, depth - 1)}`)
    return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n}`
  }
  return `${linesOf(document, 3)}\n`
}
