import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { jsonFaultOf } from '../../src/management/json-fault.ts'
import { fc } from '../properties.ts'

suite('the error for text that is not JSON names the field with the error', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['', '', 1],
    ['nonsense', '', 1],
    ['{"topic":"a","qos":one}', 'qos', 1],
    ['{"topic":"a","payload":"x",,"qos":1}', 'payload', 1],
    ['{"topic":"a" "qos":1}', 'topic', 1],
    ['{"topic"}', 'topic', 1],
    ['{\n  "topic": "a",\n  "payload": "unfinished\n}', 'payload', 3],
    ['{"data":{"items":[{"qos":1},{"qos":01}]}}', 'data.items.1.qos', 1],
    ['[1,2,', '2', 1],
    ['[[],{},[3,x]]', '2.1', 1],
    ['{"a":{"b":"\\q"}}', 'a.b', 1],
    ['{"a":"\\u12"}', 'a', 1],
    ['{"a":1}}', '', 1],
    ['{"a":1}\n\n{"b":2}', '', 3],
    ["{'a':1}", '', 1],
    ['{"a":NaN}', 'a', 1],
    ['{"a":tru}', 'a', 1],
  ]
  for (const [text, path, line] of cases) {
    test(JSON.stringify(text), () => assert.deepEqual(jsonFaultOf(text), { path, line }))
  }
})

test('complete JSON has no error, and truncated JSON has an error in the line where it was truncated', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(), (text, cut) => {
      const spread = JSON.stringify(JSON.parse(text), undefined, 1)
      const lines = spread.split('\n').length
      assert.deepEqual(jsonFaultOf(spread), { path: '', line: lines })
      const at = cut % spread.length
      const broken = `${spread.slice(0, at)}\u0001`
      assert.ok(jsonFaultOf(broken).line <= broken.split('\n').length)
    }),
  )
})

test('deeply nested or long text takes linear time and does not overflow the stack', () => {
  assert.equal(jsonFaultOf('['.repeat(1_000_000)).path.length, 200)
  assert.deepEqual(jsonFaultOf(`{"a":"${'x'.repeat(1_000_000)}`), { path: 'a', line: 1 })
})
