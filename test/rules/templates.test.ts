// Part E4 of the contract: templates.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileTemplate, toPlainValue } from '../../src/rules/index.ts'
import { decodeJson, RuleFloat, type RuleMap } from '../../src/values/index.ts'

const data: RuleMap = {
  a: { b: 1, 'c d': 'x' },
  list: [1, { z: 'last' }],
  f: new RuleFloat(2),
  n: null,
  text: '{"k":5}',
  _id: 7,
}

test('E4 ${a.b} and ${a[1]} insert values, ${.} and ${} everything', () => {
  const cases: [string, string][] = [
    ['${a.b}', '1'],
    ['<${list[1]}|${list[-1].z}>', '<1|last>'],
    ['${a.c d}', 'x'],
    ['${f} ${n}', '2.0 null'],
    ['${a} ${list}', '{"b":1,"c d":"x"} [1,{"z":"last"}]'],
    ['${text.k}', '5'],
    ['${_id}', '7'],
  ]
  for (const [template, expected] of cases) assert.equal(compileTemplate(template).render(data), expected, template)
  assert.equal(compileTemplate('${.}').render({ x: 1, y: new RuleFloat(3), z: undefined }), '{"x":1,"y":3.0}')
  assert.equal(compileTemplate('[${}]').render({ x: 'a' }), '[{"x":"a"}]')
})

test('E4 undefined is `undefined`', () => {
  assert.equal(
    compileTemplate('${missing} ${a.x.y} ${list[9]} ${list[0]}').render(data),
    'undefined undefined undefined undefined',
  )
})

test('E4 other $ and braces stay', () => {
  for (const text of ['$ {a}', '{"a": {}}', '$a.b', '${', '${a', '$${', '}', '${a..b}', '${[x]}', '100 $', '${a{b}']) {
    assert.equal(compileTemplate(text).render(data), text)
  }
  assert.equal(compileTemplate('{"v":${a.b}}').render(data), '{"v":1}')
})

test('E4 members of JavaScript objects cannot be reached', () => {
  assert.equal(
    compileTemplate('${constructor}|${a.__proto__}|${list.length}').render(data),
    'undefined|undefined|undefined',
  )
})

test('E4 bytes that are not UTF-8 stay as they are', () => {
  const rendered = compileTemplate('é${bytes}').render({ bytes: Uint8Array.of(0xff) })
  assert.deepEqual(Buffer.from(rendered as Uint8Array), Buffer.from([0xc3, 0xa9, 0xff]))
})

test('E4 for SQL sinks a placeholder is a bound value, and a missing one is undefined', () => {
  const template = compileTemplate('INSERT INTO t VALUES (${a.b}, ${missing}, ${list})')
  assert.deepEqual(
    template.parts.map((part) => (typeof part === 'string' ? part : part.text)),
    ['INSERT INTO t VALUES (', '${a.b}', ', ', '${missing}', ', ', '${list}', ')'],
  )
  assert.deepEqual(template.resolveValues(data), [1, undefined, [1, { z: 'last' }]])
})

test('a rendered text has a limit', () => {
  const big = 'x'.repeat(1_000_000)
  assert.throws(
    () => compileTemplate('${b}'.repeat(20)).render({ b: big }),
    /limit max(RenderedBytes|CreatedBytes) is 16777216/,
  )
})

test('values for services are plain JavaScript values', () => {
  const data = decodeJson(
    '{"f":0.0,"half":0.5,"i":7,"big":9007199254740993,"list":[1.0,9007199254740993],"map":{"a":2.0},"n":null,"t":"x"}',
  )
  const names = ['f', 'half', 'i', 'big', 'list', 'map', 'n', 't', 'missing']
  const template = compileTemplate(names.map((name) => `\${${name}}`).join(''))
  assert.deepEqual(template.resolveValues(data as RuleMap).map(toPlainValue), [
    0,
    0.5,
    7,
    9007199254740993n,
    '[1.0,9007199254740993]',
    '{"a":2.0}',
    null,
    'x',
    undefined,
  ])
})
