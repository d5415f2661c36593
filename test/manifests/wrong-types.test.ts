// Wrong values at every place of a resource: faults, and no exception. What is valid is rendered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJson, type ManifestNode } from '../../src/deploy/index.ts'
import { parseManifests, renderResources, validateDocument } from '../../src/manifests/index.ts'
import { fc } from '../properties.ts'
import { isLong } from '../test-length.ts'
import { exampleResources } from './examples.ts'

const [documents, hostileValues] = [
  exampleResources.flatMap(([, text]) => {
    const parsed = parseManifests(text)
    return 'documents' in parsed ? parsed.documents : []
  }),
  [
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    65_536,
    '',
    ' ',
    'x',
    '__proto__',
    '../..',
    '${X}',
    '$(X)',
    '"\n}',
    '\uE000A\uE001',
    'x'.repeat(70_000),
    [],
    [null],
    [[]],
    ['x', 'x'],
    {},
    { x: {} },
    { name: 'x' },
    JSON.parse('{"__proto__": {"constructor": 1}}') as unknown,
  ],
]

/** Returns the paths of all nodes. */
function listPaths(node: ManifestNode, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  const below: (readonly [string | number, ManifestNode])[] = []
  if (node.kind === 'map') below.push(...node.entries)
  if (node.kind === 'list') below.push(...node.items.entries())
  return [path, ...below.flatMap(([key, part]) => listPaths(part, [...path, key]))]
}

function replaceAt(node: ManifestNode, path: readonly (string | number)[], value: ManifestNode): ManifestNode {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (node.kind === 'map')
    return {
      ...node,
      entries: new Map(
        [...node.entries].map(([name, part]) => [name, name === key ? replaceAt(part, rest, value) : part]),
      ),
    }
  if (node.kind === 'list')
    return { ...node, items: node.items.map((part, index) => (index === key ? replaceAt(part, rest, value) : part)) }
  return node
}

const places = documents.flatMap((document) => listPaths(document).map((path) => ({ document, path })))

test('a wrong value at any place is a fault, or is rendered', () => {
  assert.ok(places.length > 200)
  const replacement = fc.record({ place: fc.constantFrom(...places), value: fc.constantFrom(...hostileValues) })
  let [refused, accepted] = [0, 0]
  fc.assert(
    fc.property(replacement, fc.boolean(), ({ place, value }, isChange) => {
      const { document, path } = place
      const node = fromJson(value)
      assert.ok(node !== undefined)
      const { resource, faults } = validateDocument(replaceAt(document, path, node), isChange ? document : undefined)
      assert.equal(resource === undefined, faults.length > 0)
      for (const fault of faults) assert.ok(fault.message !== '' && fault.hint !== '' && fault.hint.length < 1_000)
      if (resource === undefined) refused++
      else {
        accepted++
        JSON.stringify(renderResources([resource], { withSecrets: true }))
      }
    }),
    { numRuns: isLong ? 20_000 : 400 },
  )
  assert.ok(refused > 100 && accepted > 20)
})
