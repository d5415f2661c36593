import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { architectureRules } from './architecture-rules.ts'
import { inspectArchitecture, listLongFiles, type ArchitectureRules, type Violation } from './inspect-architecture.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

test('the sources follow the architecture rules', (t) => {
  for (const file of listLongFiles(checkout, architectureRules.fileLines)) t.diagnostic(`long file: ${file}`)
  const violations = inspectArchitecture(checkout, architectureRules)
  assert.deepEqual(violations.map(describeViolation), [])
})

/** Four modules: two in layer 1 (one of them pure), one in layer 2, one in layer 3 with layers of its own. */
const smallRules: ArchitectureRules = {
  modules: {
    cellar: { layer: 1, pure: true },
    garage: { layer: 1, pure: false },
    hall: { layer: 2, pure: true },
    attic: { layer: 3, pure: false },
  },
  innerLayers: { attic: [['boards/'], ['roof']] },
  parameters: { max: 2, allowed: { 'src/garage/index.ts': ['park'] } },
  wholeState: { type: 'House', files: ['src/attic/roof.ts'], callbacks: ['leave'] },
  importers: { hall: ['src/attic/roof.ts'] },
  furtherEntryPoints: ['src/garage/keys.ts'],
  definitions: { files: /^src\/garage\/(keys|\w+-keys)\.ts$/, modules: ['protocol'] },
  libraryOwners: { ladder: 'src/attic/roof.ts', '@shop/lamp': 'src/garage/index.ts' },
  folders: { maxFiles: 3, kinds: {}, circular: [] },
  fileLines: { warnAbove: 10, max: 20 },
  maxFunctionLines: 5,
  forbiddenFileNames: ['utils'],
  exceptions: [],
}

const validSources = {
  'src/cellar/index.ts': `import type { Stats } from 'node:fs'\nexport const wine = Buffer.alloc(1)\nexport type S = Stats\n`,
  'src/garage/index.ts': `import { lamp } from '@shop/lamp/bulb'\nexport const car = [lamp, Date.now(), process.pid]\nexport function park(a, b, c) {}\n`,
  'src/garage/keys.ts': `export type Key = string\n`,
  'src/hall/index.ts': `import { wine } from '../cellar/index.ts'\nexport const guest = { process: wine, Date: 1 }.process\nexport type { Car } from '../garage/index.ts'\nexport type { Key } from '../garage/keys.ts'\n`,
  'src/attic/index.ts': `export * from './roof.ts'\n`,
  'src/attic/roof.ts': `import 'ladder'\nimport './boards/oak.ts'\nimport { guest } from '../hall/index.ts'\nexport { guest }\nexport const open = (house: House, leave) => () => leave(house)\n`,
  'src/attic/boards/oak.ts': `export const oak = 1\n`,
}

describe('inspectArchitecture', () => {
  test('finds nothing in valid sources', () => {
    assert.deepEqual(inspect({}), [])
  })

  const cases: [violation: string, files: Record<string, string>, kind: Violation['kind'], message: RegExp][] = [
    ['an import up', { 'src/cellar/a.ts': `import '../hall/index.ts'` }, 'layer', /lower layers only/],
    ['an import sideways', { 'src/garage/a.ts': `import '../cellar/index.ts'` }, 'layer', /lower layers only/],
    [
      'an import of a type up',
      { 'src/cellar/a.ts': `import type { A } from '../hall/index.ts'` },
      'layer',
      /lower layers only/,
    ],
    [
      'a type named in place from a higher layer',
      { 'src/cellar/a.ts': `export type A = import('../hall/index.ts').A` },
      'layer',
      /lower layers only/,
    ],
    [
      'a re-export from a higher layer',
      { 'src/cellar/a.ts': `export * from '../hall/index.ts'` },
      'layer',
      /lower layers only/,
    ],
    [
      'an import past the entry point',
      { 'src/hall/a.ts': `import '../cellar/rack.ts'`, 'src/cellar/rack.ts': '' },
      'entry-point',
      /import src\/cellar\/index\.ts/,
    ],
    [
      'a definition that imports more than definitions',
      { 'src/garage/car-keys.ts': `import { park } from './index.ts'`, 'src/garage/keys.ts': `import './car-keys.ts'` },
      'definition',
      /car-keys\.ts is a definition/,
    ],
    [
      'a pure module that imports another',
      { 'src/hall/a.ts': `import '../garage/index.ts'` },
      'impure',
      /which is not/,
    ],
    [
      'an importer that a module does not have',
      { 'src/attic/boards/a.ts': `import type { A } from '../../hall/index.ts'` },
      'importer',
      /hall is imported by src\/attic\/roof\.ts only/,
    ],
    ['an import of nothing', { 'src/hall/a.ts': `import './gone.ts'` }, 'missing-file', /gone\.ts does not exist/],
    ['a module that the rules do not have', { 'src/shed/a.ts': '' }, 'unknown-module', /no module shed/],
    ['a file outside of all modules', { 'src/stray.ts': '' }, 'unknown-module', /no module/],
    [
      'an import up within a module',
      { 'src/attic/boards/a.ts': `import '../roof.ts'` },
      'inner-layer',
      /higher layer of attic/,
    ],
    [
      'a file in no layer of its module',
      { 'src/attic/boards/a.ts': `import '../wall.ts'`, 'src/attic/wall.ts': '' },
      'unknown-module',
      /in no layer of attic/,
    ],
    [
      'a cycle',
      { 'src/hall/a.ts': `import './b.ts'`, 'src/hall/b.ts': `import type { A } from './a.ts'` },
      'cycle',
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
    [
      'a function with too many parameters',
      { 'src/garage/a.ts': 'export class A { walk = (a, b, [c]) => {} }' },
      'parameters',
      /walk has 3 positional parameters, at most 2/,
    ],
    [
      'an entry of the list of parameters that is not needed',
      { 'src/garage/index.ts': `import { lamp } from '@shop/lamp/bulb'\nexport function park(a) { lamp }` },
      'parameters',
      /index\.ts park of the list is not needed/,
    ],
    [
      'a function that takes the whole state in a file that is not listed',
      { 'src/garage/a.ts': 'export function enter(house: House) { leave(house) }' },
      'whole-state',
      /enter takes House: take the parts/,
    ],
    [
      'a function that takes the whole state and uses parts of it',
      { 'src/attic/roof.ts': `import 'ladder'\nexport function paint(house: House) { brush(house.wall) }` },
      'whole-state',
      /paint does not pass on all of House/,
    ],
    [
      'a function that passes the whole state to one that takes parts',
      { 'src/attic/roof.ts': `import 'ladder'\nexport function paint({ wall }: House) { leave(wall) }` },
      'whole-state',
      /paint does not pass on all of House/,
    ],
    [
      'a listed file that takes the whole state nowhere',
      { 'src/attic/roof.ts': `import 'ladder'` },
      'whole-state',
      /src\/attic\/roof\.ts of the list is not needed/,
    ],
    [
      'folders that import each other',
      {
        'src/hall/east/a.ts': `import '../west/a.ts'`,
        'src/hall/west/a.ts': '',
        'src/hall/west/b.ts': `import '../east/a.ts'`,
      },
      'folder',
      /folders import each other: src\/hall\/east, src\/hall\/west/,
    ],
    [
      'a folder with too many files',
      { 'src/hall/a.ts': '', 'src/hall/b.ts': '', 'src/hall/c.ts': '' },
      'folder',
      /4 files of different kinds in a folder, at most 3/,
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
      'a library without an owner',
      { 'src/garage/a.ts': `await import('paint')` },
      'library',
      /no file owns the library paint/,
    ],
    [
      'an import of a computed address',
      { 'src/garage/a.ts': `export const load = (a) => import(a)` },
      'library',
      /computed/,
    ],
    [
      'an assertion that builds its message at every call',
      { 'src/hall/a.ts': 'assert(1 < 2, `not ${1}`)' },
      'assertion',
      /failedAssertion/,
    ],
    ['a file that is not TypeScript', { 'src/hall/a.ts': 'const = 1' }, 'syntax', /./],
  ]
  for (const [violation, files, kind, message] of cases) {
    test(`finds ${violation}`, () => {
      const violations = inspect(files)
      assert.ok(
        violations.some((violation) => violation.kind === kind && message.test(violation.message)),
        violations.map(describeViolation).join('\n'),
      )
    })
  }

  const impurities = [
    `import { readFileSync } from 'node:fs'`,
    `import fs, { type Stats } from 'fs'`,
    'export const at = Date.now()',
    'export const at = new Date()',
    'export const number = Math.random()',
    `export const number = Math['random']()`,
    'setTimeout(() => {}, 1)',
    'setImmediate(() => {})',
    'queueMicrotask(() => {})',
    'export const home = process.env',
    'export const object = { process }',
    'export const value = globalThis.process',
    'export type Later = Promise<void>',
    'export async function wait() {}',
    'export const wait = async () => { await 1 }',
    `console.log('')`,
    'export const now = performance.now()',
  ]
  for (const text of impurities) {
    test(`finds an impurity in a pure module: ${text}`, () => {
      const kinds = inspect({ 'src/hall/a.ts': text }).map((violation) => violation.kind)
      assert.ok(kinds.includes('impure'), kinds.join())
      assert.deepEqual(inspect({ 'src/garage/a.ts': text }), [], 'the same is allowed in a module that is not pure')
    })
  }

  test('allows what the list of exceptions names, and only that', () => {
    const files = { 'src/cellar/a.ts': `import '../hall/index.ts'`, 'src/cellar/b.ts': `import '../hall/index.ts'` }
    const exceptions = [{ kind: 'layer' as const, file: 'src/cellar/a.ts', to: 'src/hall/index.ts', reason: 'a test' }]
    assert.deepEqual(
      inspect(files, { ...smallRules, exceptions }).map((violation) => violation.file),
      ['src/cellar/b.ts'],
    )
  })

  test('finds an unused exception', () => {
    const exceptions = [{ kind: 'layer' as const, file: 'src/cellar/a.ts', reason: 'a test' }]
    assert.deepEqual(
      inspect({}, { ...smallRules, exceptions }).map((violation) => violation.kind),
      ['stale-exception'],
    )
  })

  test('allows many files of one kind in a folder', () => {
    const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [`src/hall/${name}.ts`, '']))
    const folders = { maxFiles: 3, kinds: { 'src/hall': 'guest' }, circular: [] }
    assert.deepEqual(inspect(files, { ...smallRules, folders }), [])
  })

  test('finds a kind of a folder that does not exist', () => {
    const folders = { maxFiles: 3, kinds: { 'src/shed': 'tool' }, circular: [] }
    assert.deepEqual(
      inspect({}, { ...smallRules, folders }).map(({ file, message }) => [file, message]),
      [['src/shed', 'the folder has no files: remove it from `folders.kinds`']],
    )
  })

  test('allows circular folders of the list, until they are in order', () => {
    const folders = { maxFiles: 3, kinds: {}, circular: ['garage'] }
    const files = {
      'src/garage/east/a.ts': `import '../west/a.ts'`,
      'src/garage/west/a.ts': '',
      'src/garage/west/b.ts': `import '../east/a.ts'`,
    }
    assert.deepEqual(inspect(files, { ...smallRules, folders }), [])
    assert.deepEqual(
      inspect({}, { ...smallRules, folders }).map(({ message }) => message),
      ['garage has no circular folders: remove it from the list'],
    )
  })

  test('lists files that are long, the longest first', () => {
    const files = { 'src/hall/a.ts': '//\n'.repeat(11), 'src/hall/b.ts': '//\n'.repeat(12), 'src/hall/c.ts': '//\n' }
    assert.deepEqual(
      withSources(files, (root) => listLongFiles(root, smallRules.fileLines)),
      ['12 src/hall/b.ts', '11 src/hall/a.ts'],
    )
  })

  test('allows an assertion with a constant message', () => {
    assert.deepEqual(inspect({ 'src/hall/a.ts': `assert(1 < 2, 'never')\nassert(1 < 2)` }), [])
  })

  test('reports the place of a violation', () => {
    const [violation] = inspect({ 'src/cellar/a.ts': `\nimport '../hall/index.ts'` })
    assert.match(describeViolation(violation), /^src\/cellar\/a\.ts:2: cellar is in layer 1, hall in 2/)
  })
})

function inspect(invalid: Record<string, string>, rules = smallRules): Violation[] {
  return withSources({ ...validSources, ...invalid }, (root) => inspectArchitecture(root, rules))
}

/** Calls `use` with a folder that has these files. */
function withSources<T>(files: Record<string, string>, use: (root: string) => T): T {
  const root = mkdtempSync(join(tmpdir(), 'architecture-'))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    return use(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}

function describeViolation(violation: Violation): string {
  return `${violation.file}:${violation.line}: ${violation.message}`
}
