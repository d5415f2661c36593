import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { copyText, formatPayload, layOutJson } from '../../dashboard/src/state/payload-text.ts'
import { fc } from '../properties.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** White space of the layout is between tokens only. */
const withoutSpace = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

describe('JSON in the page', () => {
  test('has a line for each value', () => {
    const text = '{"a":[1,{"b":"x, {y}: \\"z"}],"c":{},"d":[]}'
    const lines = ['{', '  "a": [', '    1,', '    {', '      "b": "x, {y}: \\"z"', '    }', '  ],', '  "c": {},']
    assert.equal(layOutJson(text), [...lines, '  "d": []', '}'].join('\n'))
  })

  test('keeps the digits of numbers, the escapes of texts and keys that occur twice', () => {
    for (const value of ['1724442618569203714', '127.0', '1e400', '-0.0', '1E+2', '"\\u0041\\/"', '{"a":1,"a":2}'])
      assert.equal(withoutSpace(layOutJson(`[${value}]`)), `[${value}]`)
  })

  test('consists of the tokens of the payload, in their order', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\n', '\t\r\n '), (json, space) => {
        const padded = json.replaceAll(/("(?:[^"\\]|\\.)*")|([{}[\],:])/g, (token) => `${space}${token}${space}`)
        assert.equal(withoutSpace(layOutJson(padded)), withoutSpace(json))
      }),
    )
  })
})

describe('a payload that is copied', () => {
  test('is the payload that was published', () => {
    const text = '﻿{ "id": 1724442618569203714,\t"x": 127.0 }\u202e\n'
    assert.equal(copyText(encode(text), 'json'), text)
    assert.equal(copyText(encode(text), 'text'), text)
    assert.equal(copyText(Uint8Array.of(0, 255, 16), 'hex'), '00 ff 10')
  })

  test('has no limit of its length', () => {
    const long = 'ä'.repeat(100_000)
    assert.equal(copyText(encode(long), 'text').length, 100_000)
    assert.equal(formatPayload(encode(long), 'text').length, 100_000)
    assert.equal(formatPayload(new Uint8Array(100_000), 'hex').length, 299_999)
  })
})
