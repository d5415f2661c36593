// Properties of the language for random values.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule, RuleCompileError, toJsonText } from '../../src/rules/index.ts'
import type { RuleMap } from '../../src/values/index.ts'
import { messageWith, valueOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'
import { fc } from '../properties.ts'

const options = { seed: 20_261_123, numRuns: 1_000 }

/** Random JSON values. */
const jsonValue = fc.jsonValue({ maxDepth: 4 })
const integer = fc.bigInt({ min: -(1n << 80n), max: 1n << 80n })

function evaluate(expression: string, columns: RuleMap): string {
  const result = compileRule(`SELECT ${expression} AS v FROM "t/#"`).evaluate(messageWith(columns), sampleHost())
  if (result.outcome !== 'passed') return result.outcome
  return toJsonText(result.outputs[0]['v'])
}

describe('properties', () => {
  test('JSON is unchanged by the rule', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = JSON.stringify({ v: value })
        const output = evaluate('payload.v', { payload: text })
        assert.deepEqual(JSON.parse(output), JSON.parse(JSON.stringify(value)))
        assert.equal(evaluate('json_decode(json_encode(payload.v)) = payload.v', { payload: text }), 'true')
        assert.equal(evaluate('term_decode(term_encode(payload.v)) = payload.v', { payload: text }), 'true')
      }),
      options,
    )
  })

  test('arithmetic of integers is exact', () => {
    fc.assert(
      fc.property(integer, integer, (x, y) => {
        const payload = `{"x":${x},"y":${y}}`
        assert.equal(evaluate('payload.x + payload.y', { payload }), String(x + y))
        assert.equal(evaluate('payload.x - payload.y', { payload }), String(x - y))
        assert.equal(evaluate('payload.x * payload.y', { payload }), String(x * y))
        assert.equal(evaluate('bitxor(payload.x, payload.y)', { payload }), String(x ^ y))
        if (y !== 0n) {
          assert.equal(evaluate('payload.x div payload.y', { payload }), String(x / y))
          assert.equal(evaluate('payload.x mod payload.y', { payload }), String(x % y))
        }
        assert.equal(evaluate('payload.x < payload.y', { payload }), String(x < y))
        assert.equal(evaluate("payload.x = str(payload.x) + ''", { payload }), 'true')
      }),
      options,
    )
  })

  test('comparisons of values are a total order', () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (x, y) => {
        // Rules convert a text before they compare it with a number or a word. The values are in lists, because lists are compared without conversion.
        const payload = JSON.stringify({ x: [x], y: [y] })
        const [less, equal, greater] = ['<', '=', '>'].map((operator) =>
          evaluate(`payload.x ${operator} payload.y`, { payload }),
        )
        assert.equal([less, equal, greater].filter((value) => value === 'true').length, 1, payload)
        assert.equal(evaluate('payload.y > payload.x', { payload }), less)
        assert.equal(evaluate('payload.x <= payload.y', { payload }), String(greater !== 'true'))
      }),
      options,
    )
  })

  test('any payload is unchanged by the rule, and by encoding and decoding', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const payload = Buffer.from(bytes)
        for (const expression of [
          'payload',
          'hexstr2bin(bin2hexstr(payload))',
          'base64_decode(base64_encode(payload))',
          'base62_decode(base62_encode(payload))',
          'gunzip(gzip(payload))',
          "subbits(payload, 1, 400, 'bits')",
        ]) {
          const result = compileRule(`SELECT ${expression} AS v FROM "t/#"`).evaluate(
            messageWith({ payload }),
            sampleHost(),
          )
          assert.ok(result.outcome === 'passed')
          const value = (result.outputs[0]['v'] ?? '') as string | Uint8Array
          assert.deepEqual(Buffer.from(value as string), payload, expression)
        }
      }),
      { ...options, numRuns: 300 },
    )
  })

  test('subbits agrees with a text of zeros and ones', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 6 }), fc.nat(48), fc.nat(48), (bytes, start, length) => {
        const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
        const part = bits.slice(start, start + length)
        const expected = start >= bits.length ? 'undefined' : String(part === '' ? 0 : Number.parseInt(part, 2))
        assert.equal(valueOf(`subbits(payload, ${start + 1}, ${length})`, { payload: Buffer.from(bytes) }), expected)
      }),
      { ...options, numRuns: 300 },
    )
  })

  test('dates: formatting and parsing are inverse, and agree with JavaScript', () => {
    const time = fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 })
    fc.assert(
      fc.property(time, (milliseconds) => {
        const iso = new Date(milliseconds).toISOString()
        const format = "'%Y-%m-%dT%H:%M:%S.%3NZ'"
        const payload = `{"t":${milliseconds}}`
        assert.equal(
          evaluate(`format_date('millisecond', 'Z', ${format}, payload.t)`, { payload }),
          JSON.stringify(iso),
        )
        assert.equal(
          evaluate(`date_to_unix_ts('millisecond', ${format}, clientid)`, { clientid: iso }),
          String(milliseconds),
        )
        assert.equal(evaluate("rfc3339_to_unix_ts(clientid, 'millisecond')", { clientid: iso }), String(milliseconds))
      }),
      { ...options, numRuns: 500 },
    )
  })

  test('any text is a rule or a compile error', () => {
    const token = fc.constantFrom(
      'SELECT',
      'FROM',
      'WHERE',
      'FOREACH',
      'DO',
      'INCASE',
      'CASE',
      'WHEN',
      'THEN',
      'ELSE',
      'END',
      'AS',
      'AND',
      'OR',
      'NOT',
      'IN',
      '"t"',
      "'x'",
      'a',
      'payload',
      '.',
      ',',
      '(',
      ')',
      '[',
      ']',
      '..',
      '1',
      '2.5',
      '-',
      '+',
      '*',
      '/',
      'div',
      '=',
      '=~',
      '<>',
      ';',
      '--\n',
    )
    const sql = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.array(token, { maxLength: 30 }).map((tokens) => `SELECT ${tokens.join(' ')}`),
    )
    fc.assert(
      fc.property(sql, (text) => {
        try {
          compileRule(text)
        } catch (error) {
          assert.ok(error instanceof RuleCompileError, String(error))
          assert.ok(error.line >= 1 && error.column >= 1)
        }
      }),
      { ...options, numRuns: 5_000 },
    )
  })
})
