// `npm run openapi`: writes the documents that are generated from the contract.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { endpoints, openApiOf, writeErrorsPage } from '../../src/contract/index.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** The texts of the documents by path relative to the checkout. */
export function contractDocuments(): Record<string, string> {
  const { version } = JSON.parse(readFileSync(`${checkout}package.json`, 'utf8')) as { version: string }
  return {
    'docs/openapi.json': `${JSON.stringify(openApiOf(endpoints, version), undefined, 2)}\n`,
    'docs/errors.md': writeErrorsPage(endpoints),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of Object.entries(contractDocuments())) writeFileSync(checkout + path, text)
}
