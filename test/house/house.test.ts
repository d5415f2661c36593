import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { houseRules } from './house-rules.ts'
import { inspectHouse, type Breach, type HouseRules } from './inspect-house.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

test('the house keeps its floor plan', () => {
  const breaches = inspectHouse(checkout, houseRules)
  assert.deepEqual(breaches.map(tell), [])
})

/** A small house of four rooms: two on the ground (one of them pure), one above, one on top with inner floors. */
const smallHouse: HouseRules = {
  rooms: {
    cellar: { floor: 1, pure: true },
    garage: { floor: 1, pure: false },
    hall: { floor: 2, pure: true },
    attic: { floor: 3, pure: false },
  },
  innerFloors: { attic: [['boards/'], ['roof']] },
  libraryOwners: { ladder: 'src/attic/roof.ts', '@shop/lamp': 'src/garage/index.ts' },
  longestFile: 20,
  longestFunction: 5,
  forbiddenFileNames: ['utils'],
  exceptions: [],
}

const soundHouse = {
  'src/cellar/index.ts': `import type { Stats } from 'node:fs'\nexport const wine = Buffer.alloc(1)\nexport type S = Stats\n`,
  'src/garage/index.ts': `import { lamp } from '@shop/lamp/bulb'\nexport const car = [lamp, Date.now(), process.pid]\n`,
  'src/hall/index.ts': `import { wine } from '../cellar/index.ts'\nexport const guest = { process: wine, Date: 1 }.process\n`,
  'src/attic/index.ts': `export * from './roof.ts'\n`,
  'src/attic/roof.ts': `import 'ladder'\nimport './boards/oak.ts'\nimport { guest } from '../hall/index.ts'\nexport { guest }\n`,
  'src/attic/boards/oak.ts': `export const oak = 1\n`,
}

describe('the inspection of a house', () => {
  test('finds nothing in a sound one', () => {
    assert.deepEqual(inspect({}), [])
  })

  const faults: [promise: string, files: Record<string, string>, kind: Breach['kind'], message: RegExp][] = [
    ['an import up', { 'src/cellar/a.ts': `import '../hall/index.ts'` }, 'floor', /imports go down/],
    ['an import sideways', { 'src/garage/a.ts': `import '../cellar/index.ts'` }, 'floor', /imports go down/],
    ['an import of a type up', { 'src/cellar/a.ts': `import type { A } from '../hall/index.ts'` }, 'floor', /down/],
    [
      'a type named in place from above',
      { 'src/cellar/a.ts': `export type A = import('../hall/index.ts').A` },
      'floor',
      /down/,
    ],
    ['a passing on from above', { 'src/cellar/a.ts': `export * from '../hall/index.ts'` }, 'floor', /imports go down/],
    [
      'a way in past the door',
      { 'src/hall/a.ts': `import '../cellar/rack.ts'`, 'src/cellar/rack.ts': '' },
      'back-door',
      /entered through its index/,
    ],
    ['a pure room that imports another', { 'src/hall/a.ts': `import '../garage/index.ts'` }, 'impure', /which is not/],
    ['an import of nothing', { 'src/hall/a.ts': `import './gone.ts'` }, 'missing-file', /gone\.ts does not exist/],
    ['a room that is not in the plan', { 'src/shed/a.ts': '' }, 'unknown-room', /no room shed/],
    ['a file outside every room', { 'src/stray.ts': '' }, 'unknown-room', /no room/],
    [
      'an import up inside a room',
      { 'src/attic/boards/a.ts': `import '../roof.ts'` },
      'inner-floor',
      /above it within attic/,
    ],
    [
      'a file on no inner floor',
      { 'src/attic/boards/a.ts': `import '../wall.ts'`, 'src/attic/wall.ts': '' },
      'unknown-room',
      /no inner floor/,
    ],
    [
      'a circle',
      { 'src/hall/a.ts': `import './b.ts'`, 'src/hall/b.ts': `import type { A } from './a.ts'` },
      'circle',
      /a\.ts -> .*b\.ts -> .*a\.ts/,
    ],
    ['a long file', { 'bench/a.ts': '//\n'.repeat(21) }, 'long-file', /21 lines, at most 20/],
    ['a long test file', { 'test/hall/a.test.ts': '//\n'.repeat(21) }, 'long-file', /21 lines, at most 20/],
    [
      'a long function',
      { 'src/hall/a.ts': `export const walk = () => {\n${'//\n'.repeat(5)}}` },
      'long-function',
      /walk has 7 lines/,
    ],
    [
      'a long method',
      { 'src/hall/a.ts': `class A {\n walk() {\n${'//\n'.repeat(5)}}}` },
      'long-function',
      /walk has 7 lines/,
    ],
    ['a file for leftovers', { 'src/hall/utils.ts': '' }, 'file-name', /named utils/],
    ['a test file for leftovers', { 'test/utils.test.ts': '' }, 'file-name', /named utils/],
    [
      'a library in a second file',
      { 'src/garage/a.ts': `import type { Lamp } from '@shop/lamp'` },
      'library',
      /src\/garage\/index\.ts only/,
    ],
    [
      'a library that nobody owns',
      { 'src/garage/a.ts': `await import('paint')` },
      'library',
      /no file of ours owns the library paint/,
    ],
    [
      'an import of a computed address',
      { 'src/garage/a.ts': `export const load = (a) => import(a)` },
      'library',
      /computed/,
    ],
    [
      'an assertion that writes its message each time',
      { 'src/hall/a.ts': 'assert(1 < 2, `not ${1}`)' },
      'assertion',
      /failedAssertion/,
    ],
    ['a file that is not TypeScript', { 'src/hall/a.ts': 'const = 1' }, 'syntax', /./],
  ]
  for (const [promise, files, kind, message] of faults) {
    test(`finds ${promise}`, () => {
      const breaches = inspect(files)
      assert.ok(
        breaches.some((breach) => breach.kind === kind && message.test(breach.message)),
        breaches.map(tell).join('\n'),
      )
    })
  }

  const impurities = [
    `import { readFileSync } from 'node:fs'`,
    `import fs, { type Stats } from 'fs'`,
    'export const at = Date.now()',
    'export const at = new Date()',
    'export const dice = Math.random()',
    `export const dice = Math['random']()`,
    'setTimeout(() => {}, 1)',
    'setImmediate(() => {})',
    'queueMicrotask(() => {})',
    'export const home = process.env',
    'export const house = { process }',
    'export const house = globalThis.process',
    'export type Later = Promise<void>',
    'export async function wait() {}',
    'export const wait = async () => { await 1 }',
    `console.log('')`,
    'export const now = performance.now()',
  ]
  for (const text of impurities) {
    test(`finds the world in a pure room: ${text}`, () => {
      const kinds = inspect({ 'src/hall/a.ts': text }).map((breach) => breach.kind)
      assert.ok(kinds.includes('impure'), kinds.join())
      assert.deepEqual(inspect({ 'src/garage/a.ts': text }), [], 'the same in a room of the world is nothing')
    })
  }

  test('forgives what the list of exceptions names, and only that', () => {
    const files = { 'src/cellar/a.ts': `import '../hall/index.ts'`, 'src/cellar/b.ts': `import '../hall/index.ts'` }
    const exceptions = [
      { kind: 'floor' as const, file: 'src/cellar/a.ts', to: 'src/hall/index.ts', reason: 'old stairs' },
    ]
    assert.deepEqual(
      inspect(files, { ...smallHouse, exceptions }).map((breach) => breach.file),
      ['src/cellar/b.ts'],
    )
  })

  test('finds an exception that excuses nothing', () => {
    const exceptions = [{ kind: 'floor' as const, file: 'src/cellar/a.ts', reason: 'old stairs' }]
    assert.deepEqual(
      inspect({}, { ...smallHouse, exceptions }).map((breach) => breach.kind),
      ['stale-exception'],
    )
  })

  test('leaves an assertion with a fixed message alone', () => {
    assert.deepEqual(inspect({ 'src/hall/a.ts': `assert(1 < 2, 'never')\nassert(1 < 2)` }), [])
  })

  test('says where the fault is', () => {
    const [breach] = inspect({ 'src/cellar/a.ts': `\nimport '../hall/index.ts'` })
    assert.match(tell(breach), /^src\/cellar\/a\.ts:2: cellar stands on floor 1, hall on 2/)
  })
})

function inspect(faulty: Record<string, string>, rules = smallHouse): Breach[] {
  const root = mkdtempSync(join(tmpdir(), 'small-house-'))
  try {
    for (const [path, text] of Object.entries({ ...soundHouse, ...faulty })) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    return inspectHouse(root, rules)
  } finally {
    rmSync(root, { recursive: true })
  }
}

function tell(breach: Breach): string {
  return `${breach.file}:${breach.line}: ${breach.message}`
}
