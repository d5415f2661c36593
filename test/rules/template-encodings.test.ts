// Each inserted value stays one value of the text around it, whatever it contains.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileTemplate } from '../../src/rules/index.ts'
import { RuleError, type RuleMap, type RuleValue } from '../../src/values/index.ts'
import type { TemplateEncoding } from '../../src/rules/index.ts'
import { fc } from '../properties.ts'

/** Values that tried to leave their place in other products. */
const attacks = [
  '../../../admin?delete=all#',
  '..',
  '.',
  '',
  '%2e%2e',
  '%2e%2e%2f',
  '..\\..\\x',
  'a/b',
  'a\r\nx-admin: yes',
  'a\0b',
  '"',
  '\\',
  '","admin":true,"x":"',
  '1,"admin":true',
  'null}',
  '{"admin":true}',
  '\n{"index":{"_index":"other"}}',
  '$&',
  '$1',
  '${topic}',
  '+',
  '#',
  '*',
  '>',
  'a.b',
  '$SYS',
  '\u2028',
  'é🌡',
]
const texts = fc.oneof(fc.constantFrom(...attacks), fc.string({ unit: 'grapheme' }), fc.string())
const values: fc.Arbitrary<RuleValue> = fc.oneof(
  texts,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.bigInt(),
  fc.array(texts, { maxLength: 3 }) as fc.Arbitrary<RuleValue>,
  fc.dictionary(texts, texts, { maxKeys: 3 }) as fc.Arbitrary<RuleValue>,
)

/** Undefined: the template refuses the data, which makes the result a dead letter. */
function rendered(template: string, encoding: TemplateEncoding, data: RuleMap): string | undefined {
  try {
    return String(compileTemplate(template, encoding).render(data))
  } catch (error) {
    assert.ok(error instanceof RuleError, String(error))
    return undefined
  }
}

/** The form of a JSON value: names and kinds, with `?` for the values of placeholders outside of strings. */
function shapeOf(value: unknown, key = ''): unknown {
  if (key.startsWith('any')) return '?'
  if (Array.isArray(value)) return value.map((item) => shapeOf(item))
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, name)]))
}

const jsonTemplates = [
  '{"client":"${clientid}","any":${v},"n":{"t":"at ${topic}: ${v}","anys":[${v},${clientid}]}}',
  '[{"a":"${v}"},{"any":${v}}]',
  '{ "a" : "\\"${v}\\"" , "any" : ${v} }',
]

for (const encoding of ['json', 'json-if-shaped'] as const)
  test(`a value in a template of JSON (${encoding}) adds no member and leaves the document valid`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...jsonTemplates), texts, values, (template, clientid, v) => {
        const usual = JSON.parse(rendered(template, encoding, { clientid: 'c', topic: 't', v: 1 }) ?? '') as unknown
        const document = rendered(template, encoding, { clientid, topic: clientid, v })
        assert.ok(document !== undefined)
        assert.deepEqual(shapeOf(JSON.parse(document)), shapeOf(usual), document)
      }),
    )
  })

test('a text in a string of JSON is that text; outside of a string it is a string', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const document = rendered('{"a":"<${text}>","b":${text}}', 'json', { text }) ?? ''
      assert.deepEqual(JSON.parse(document), { a: `<${text}>`, b: text })
    }),
  )
})

test('lines of JSON stay lines of JSON', () => {
  fc.assert(
    fc.property(values, (v) => {
      const lines = (rendered('{"index":{"_id":"${v}"}}\n{"v":${v}}\n', 'json-if-shaped', { v }) ?? '').split('\n')
      assert.equal(lines.length, 3)
      assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? '') as object), ['index'])
      assert.deepEqual(Object.keys(JSON.parse(lines[1] ?? '') as object), ['v'])
    }),
  )
})

test('a payload that is JSON is inserted as JSON, any other payload as a string; missing values are null', () => {
  const template = '{"p":${payload},"m":${missing},"t":"${missing}"}'
  const of = (payload: string): unknown => JSON.parse(rendered(template, 'json', { payload }) ?? '') as unknown
  assert.deepEqual(of('{"a":\n[1]}'), { p: { a: [1] }, m: null, t: 'undefined' })
  assert.deepEqual(of('{"a":1},"admin":true'), { p: '{"a":1},"admin":true', m: null, t: 'undefined' })
  assert.deepEqual(of('21,5'), { p: '21,5', m: null, t: 'undefined' })
})

test('templates that are not JSON insert texts, and where only JSON is possible they are refused', () => {
  for (const template of ['${a}', ' ${a} ', 'value=${a}', '${a} {"x":1}', '{"n":-${a}}', '{"n":${a}${a}}'])
    assert.equal(rendered(template, 'json-if-shaped', { a: '"' }), template.replaceAll('${a}', '"'))
  for (const template of ['{"n":-${a}}', '{"n":${a}${a}}', 'x ${a}', '{"n":1${a}}'])
    assert.equal(rendered(template, 'json', { a: 1 }), undefined, template)
  assert.equal(rendered('${payload}', 'json', { payload: '{"a":1}' }), '{"a":1}')
})

const pathTemplates = [
  '/t/${v}/x?q=${v}&r=1',
  't/${v}',
  '/a-${v}.json',
  '/${v}${v}/x',
  '/t?q=${v}',
  '/%2e${v}/x',
  '${v}',
]

test('a value in a path is one segment or one value of the query', () => {
  fc.assert(
    fc.property(fc.constantFrom(...pathTemplates), values, (template, v) => {
      const path = rendered(template, 'path', { v })
      if (path === undefined) return
      const [usual, url] = [rendered(template, 'path', { v: 'v' }) ?? '', path].map(
        (text) => new URL(`http://service/base/${text.replace(/^\//, '')}`),
      )
      assert.ok(usual !== undefined && url !== undefined)
      assert.equal(url.pathname.split('/').length, usual.pathname.split('/').length, path)
      assert.ok(url.pathname.startsWith('/base/'))
      assert.deepEqual([...url.searchParams.keys()], [...usual.searchParams.keys()])
      assert.equal(url.hash, '')
      assert.ok(!url.pathname.slice(1).split('/').includes(''), path)
      assert.ok(!/[\0-\x20\\]/.test(path))
    }),
  )
})

test('a path has the encoded value; values that cannot be one segment are refused', () => {
  const of = (v: RuleValue): string | undefined => rendered('/t/${v}/x', 'path', { v })
  assert.equal(of('../../../admin?delete=all#'), '/t/..%2F..%2F..%2Fadmin%3Fdelete%3Dall%23/x')
  assert.equal(of('%2e%2e'), '/t/%252e%252e/x')
  assert.equal(of('a b\r\n\\'), '/t/a%20b%0D%0A%5C/x')
  assert.equal(of(Uint8Array.of(0xff, 0x2f)), '/t/%FF%2F/x')
  for (const refused of ['', '.', '..', 'a\0']) assert.equal(of(refused), undefined, refused)
  assert.equal(rendered('/${v}${v}', 'path', { v: '.' }), undefined)
  assert.equal(rendered('/%2E${v}', 'path', { v: '.' }), undefined)
  assert.equal(rendered('/t?q=${v}', 'path', { v: '..' }), '/t?q=..')
})

test('a value of a form is one value', () => {
  fc.assert(
    fc.property(values, texts, (v, w) => {
      const form = rendered('a=${v}&b=${w}', 'query', { v, w })
      if (form === undefined) return
      assert.deepEqual([...new URLSearchParams(form).keys()], ['a', 'b'])
    }),
  )
})

test('a value in a topic is one level, a word of a subject is one word, a part of a key is one part', () => {
  fc.assert(
    fc.property(values, (v) => {
      const topic = rendered('out/${v}/x', 'topic', { v })
      if (topic !== undefined) assert.ok(/^out\/[^/+#\0$][^/+#\0]*\/x$/u.test(topic), topic)
      const subject = rendered('out.${v}.x', 'word', { v })
      if (subject !== undefined) assert.equal(subject.split('.').length, 3)
      const key = rendered('out/${v}/x', 'key', { v })
      if (key !== undefined) assert.equal(key.split('/').length, 3)
      const index = rendered('out-${v}', 'index', { v })
      if (index !== undefined) assert.ok(!/[*?,/\\<>|"\s#:]/.test(index), index)
    }),
  )
})

test('the topic of the message keeps its levels, and so does a name that the rule has composed', () => {
  const data = { topic: 'a/b.c', name: 'x/y.z', clientid: 'x/y.z' }
  assert.equal(rendered('out/${topic}', 'topic', data), 'out/a/b.c')
  assert.equal(rendered('${name}', 'topic', data), 'x/y.z')
  assert.equal(rendered('${clientid}', 'topic', data), undefined)
  assert.equal(rendered('out/${name}', 'topic', data), undefined)
  assert.equal(rendered('${name}', 'word', data), 'x/y.z')
  assert.equal(rendered('${clientid}', 'word', data), 'x/y%2Ez')
  assert.equal(rendered('${topic}/1', 'key', data), 'a/b.c/1')
  assert.equal(rendered('${clientid}/1', 'key', data), 'x%2Fy.z/1')
})
