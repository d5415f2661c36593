// `npm run generate`: writes everything in the checkout that is generated from the sources. Tests compare each of these files.

import { writeFileSync } from 'node:fs'
import { writeExampleFile, writeReferencePage } from '../src/config/index.ts'
import { architectureRules } from './architecture/architecture-rules.ts'
import { drawImports, drawingPath } from './architecture/import-drawing.ts'
import { contractDocuments } from './contract/contract-documents.ts'
import { checkout } from './jobs.ts'
import { withGeneratedParts, readPage, rulesPagePath } from './rules/reference-page.ts'

const files: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(contractDocuments()).map(([path, text]) => [checkout + path, text])),
  [`${checkout}etc/godwit.conf`]: writeExampleFile(),
  [`${checkout}docs/CONFIGURATION.md`]: writeReferencePage(),
  [rulesPagePath]: withGeneratedParts(readPage()),
  [drawingPath]: drawImports(checkout, architectureRules),
}
for (const [path, text] of Object.entries(files)) writeFileSync(path, text)
