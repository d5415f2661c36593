// The objects of the example resources as files. After an intended change: GODWIT_WRITE_GOLDEN=1 node --test test/manifests/golden.test.ts

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderResources, validateText, writeYaml } from '../../src/manifests/index.ts'
import { formatFault } from '../../src/deploy/index.ts'
import { exampleResources, removeCertificates } from './examples.ts'

const folder = new URL('golden/', import.meta.url)

function removeHash(text: string): string {
  return text.replace(/(restart-hash: )[0-9a-f]{64}/, '$1HASH')
}

for (const [name, text] of exampleResources)
  test(`the objects of ${name}`, () => {
    const { resources, faults, warnings } = validateText(text)
    assert.deepEqual(faults, [])
    const comments = warnings.map((warning) => `# ${formatFault('warning', warning)}\n`)
    // The hash depends on which settings need a restart: see render.test.ts.
    const written = removeHash(removeCertificates(`${comments.join('')}${writeYaml(renderResources(resources, {}))}`))
    const file = new URL(`${name}.txt`, folder)
    if (process.env['GODWIT_WRITE_GOLDEN'] === '1') writeFileSync(file, written)
    assert.equal(written, readFileSync(file, 'utf8'))
  })
