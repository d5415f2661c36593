// Texts of resources are hostile: they end in a fault, within limits, and never in an exception.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifestLimits } from '../../src/deploy/index.ts'
import { parseManifests, validateText, writeYaml } from '../../src/manifests/index.ts'
import { listFaults } from './resources.ts'
import { fc } from '../properties.ts'

function readFault(text: string): string {
  const parsed = parseManifests(text)
  assert.ok('faults' in parsed)
  const [fault] = parsed.faults
  return fault === undefined ? '' : `${fault.line}: ${fault.message}`
}

const depthMessage = `the values are nested more than ${manifestLimits.maxDepth} levels deep`
const aliasMessage = `the aliases stand for more than ${manifestLimits.maxAliasedNodes} values`
const countMessage = `there are more than ${manifestLimits.maxNodes} values`

test('aliases that multiply are refused', () => {
  const names = Array.from({ length: 9 }, (_, index) => `a${index}`)
  const laughs = names.map((name, index) => {
    const value = index === 0 ? 'x' : `*${names[index - 1]}`
    return `${name}: &${name} [${Array.from({ length: 9 }, () => value).join(', ')}]`
  })
  assert.equal(readFault(laughs.join('\n')), `1: ${aliasMessage}`)
  const merges = Array.from(
    { length: 30 },
    (_, index) => `a${index + 1}: &a${index + 1} {<<: [*a${index}, *a${index}]}`,
  )
  assert.equal(readFault(`a0: &a0 {x: 1, y: 2}\n${merges.join('\n')}`), `1: ${aliasMessage}`)
  assert.equal(readFault('a: &a [*a]'), `1: ${depthMessage}`)
  assert.equal(readFault('a: *b'), '1: the alias has no anchor')
})

test('deep nesting, long texts and many values are refused', () => {
  for (const unit of ['[', '{a: ', '- ', '? ', 'a: &x ['])
    assert.match(readFault(unit.repeat(20_000)), new RegExp(depthMessage))
  const steps = Array.from({ length: 500 }, (_, index) => `${' '.repeat(index)}a:`)
  assert.match(readFault(steps.join('\n')), new RegExp(depthMessage))
  assert.match(readFault('x'.repeat(manifestLimits.maxTextCharacters + 1)), /^0: the text has 1572865 characters/)
  assert.match(readFault('- 1\n'.repeat(manifestLimits.maxNodes + 1)), new RegExp(countMessage))
  assert.match(readFault('---\na: 1\n'.repeat(1_001)), /there are more than 1000 documents/)
})

test('a syntax error has its line', () => {
  assert.equal(readFault('a: 1\nb: "c" d\n').split(':')[0], '2')
  assert.equal(readFault('a: 1\n\nb: "\\x"\n'), '3: invalid escape sequence \\x"')
  assert.equal(readFault('a: 1\na: 2\n'), '2: the key "a" is there twice')
  assert.equal(readFault('a: !!binary aGVsbG8=\n'), '1: the tag "tag:yaml.org,2002:binary" is not known')
  assert.equal(readFault('# nothing\n---\n---\n'), '0: there is no document')
  assert.equal(readFault('? [a]\n: 1\n'), '1: a key is a list or an object')
})

test('scalars are what kubectl reads', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['yes', true],
    ['on', true],
    ['Off', false],
    ['n', false],
    ['~', null],
    ['', null],
    ['"yes"', 'yes'],
    ['0777', 511],
    ['0o17', 15],
    ['0x1F', 31],
    ['-12', -12],
    ['1_000', 1_000],
    ['1e3', 1_000],
    ['.5', 0.5],
    ['1e999', '1e999'],
    ['1.2.3', '1.2.3'],
    ['2026-11-29', '2026-11-29'],
    ['12:30:00', '12:30:00'],
    ['!!str 1', '1'],
    ['1Gi', '1Gi'],
  ]
  for (const [text, value] of cases) {
    const parsed = parseManifests(`a: ${text}\nb: 1`)
    const [document] = 'documents' in parsed ? parsed.documents : []
    const node = document?.kind === 'map' ? document.entries.get('a') : undefined
    assert.equal(node?.kind === 'scalar' ? node.value : undefined, value, text)
  }
})

test('merge keys add entries and replace none', () => {
  const parsed = parseManifests('base: &base {a: 1, b: 2}\nown: {b: 3, <<: *base}\n')
  const [document] = 'documents' in parsed ? parsed.documents : []
  const own = document?.kind === 'map' ? document.entries.get('own') : undefined
  const entries =
    own?.kind === 'map'
      ? [...own.entries].map(([key, node]) => [key, node.kind === 'scalar' ? node.value : node.kind])
      : []
  assert.deepEqual(entries, [
    ['b', 3],
    ['a', 1],
  ])
})

test('keys that change prototypes are keys like others', () => {
  const text =
    '__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\napiVersion: apps.godwit.io/v1beta2\nkind: GodwitCluster\nmetadata: {name: a, annotations: {__proto__: x}}\nspec: {image: a, affinity: {__proto__: {polluted: 1}}}\n'
  const { faults } = validateText(text)
  assert.deepEqual(listFaults(faults), ['metadata.annotations.__proto__: the key is not valid'])
  assert.equal(({} as Readonly<Record<string, unknown>>)['polluted'], undefined)
})

test('every text ends in a result', () => {
  const fragments = [
    'a',
    ':',
    ' ',
    '\n',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '&a',
    '*a',
    '"',
    "'",
    '|',
    '>',
    '!!x',
    '%',
    '#',
    '---',
    '?',
    '<<',
    '\t',
    '\0',
    '\uFEFF',
    '\uD800',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 40 }), (parts) => {
      validateText(parts.join(''))
    }),
    { numRuns: 500 },
  )
})

test('written YAML is read as the same values', () => {
  const objects = [
    {
      a: 'yes',
      b: '1',
      c: '0777',
      d: 'x: y',
      e: 'lines\nof text\n',
      f: '',
      g: null,
      h: [1, true, '~'],
      i: '2026-11-29',
      j: '1e3',
      k: '<<',
      l: '12:30',
    },
  ]
  const parsed = parseManifests(writeYaml(objects))
  const [document] = 'documents' in parsed ? parsed.documents : []
  const read =
    document?.kind === 'map'
      ? [...document.entries].map(([key, node]) => [key, node.kind === 'scalar' ? node.value : 'list'])
      : []
  assert.deepEqual(
    read,
    Object.entries(objects[0] ?? {}).map(([key, value]) => [key, Array.isArray(value) ? 'list' : value]),
  )
})
