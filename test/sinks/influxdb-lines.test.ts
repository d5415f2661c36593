// The line protocol of InfluxDB: no value can change the structure of its line.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileTemplate } from '../../src/rules/index.ts'
import { LineTemplateError, parseLineTemplates, renderLine } from '../../src/sinks/influxdb/line-template.ts'
import type { RuleData } from '../../src/sinks/sink.ts'

function lineOf(text: string, data: RuleData): string {
  const [template] = parseLineTemplates(text, compileTemplate)
  return renderLine(template, data, '1000')
}

describe('a line with placeholders', () => {
  test('has values in the syntax of their types, texts in quotes, and the time of the template', () => {
    const data = { t: 21.5, n: 7n, ok: true, s: 'on', at: 1_700_000_000_000n, c: 'kiln' }
    assert.equal(
      lineOf('readings,client=${c} t=${t},n=${n},i=${n}i,ok=${ok},s=${s},q="is ${s}",one=1i,yes=true ${at}', data),
      'readings,client=kiln t=21.5,n=7,i=7i,ok=true,s="on",q="is on",one=1i,yes=true 1700000000000',
    )
  })

  test('gets the current time if the template has none', () => {
    assert.equal(lineOf('r v=${v}', { v: 1n }), 'r v=1 1000')
    assert.equal(lineOf('r v=${v} ${at}', { v: 1n }), 'r v=1 1000')
  })

  test('leaves out tags and fields whose values are missing', () => {
    assert.equal(lineOf('r,a=${a},b=${b} v=${v},w=${w},x=${x}i', { b: 'B', v: 1n, a: '' }), 'r,b=B v=1 1000')
  })

  test('escapes separators, quotes, backslashes and line breaks in every value', () => {
    const evil = 'a,b=c d"e\\f'
    assert.equal(
      lineOf('${x},k=${x} ${x}=${x}', { x: evil }),
      'a\\,b=c\\ d"e\\f,k=a\\,b\\=c\\ d"e\\f a\\,b\\=c\\ d"e\\f="a,b=c d\\"e\\\\f" 1000',
    )
    assert.equal(lineOf('r v="${x}"', { x: 'two\nlines' }), 'r v="two\nlines" 1000')
  })

  test('a text is never written as a number', () => {
    assert.equal(lineOf('r v=${v}', { v: '5' }), 'r v="5" 1000')
    assert.equal(lineOf('r v=${v}', { v: { a: 1n } }), 'r v="{\\"a\\":1}" 1000')
  })

  test('fixed text can have escaped separators, and placeholders within it', () => {
    assert.equal(lineOf('my\\ readings,a\\,b=x${c}y v=1 5', { c: '-' }), 'my\\ readings,a\\,b=x-y v=1 5')
  })

  for (const [what, text, data, message] of [
    ['a time that is not a whole number', 'r v=1 ${at}', { at: '1 r2 v=2' }, /the time/],
    ['an integer that is none', 'r v=${v}i', { v: '1,w=2' }, /not a whole number/],
    ['a tag with a line break', 'r,a=${a} v=1', { a: 'x\ny' }, /line break/],
    ['a tag that ends in a backslash', 'r,a=${a} v=1', { a: 'x\\' }, /backslash/],
    ['a name that is empty', '${n} v=1', { n: '' }, /empty/],
    ['fields without any value', 'r v=${v}', {}, /no field/],
    ['bytes that are not text', 'r v=${v}', { v: Uint8Array.of(0xff) }, /not valid UTF-8/],
  ] as const) {
    test(`${what} is an error of the rule's action`, () => {
      assert.throws(
        () => lineOf(text, data),
        (error) => error instanceof TypeError && message.test(error.message),
      )
    })
  }
})

describe('a template that is not a line', () => {
  for (const [text, message] of [
    ['', /write a line/],
    ['readings', /no fields/],
    [',a=b v=1', /no name/],
    ['r,a v=1', /tag "a" is not key=value/],
    ['r v', /field "v" is not key=value/],
    ['r v=abc', /put texts in double quotes/],
    ['r v="abc', /not closed/],
    ['r v=1 abc', /the time "abc"/],
    ['r v=1 5 6', /text follows the time/],
    ['r v=1\nr v=', /line 2: the field/],
  ] as const) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(
        () => parseLineTemplates(text, compileTemplate),
        (error) => error instanceof LineTemplateError && message.test(error.message),
      )
    })
  }

  test('each line is a point, except comments and empty lines', () => {
    assert.equal(parseLineTemplates('# points\nr v=1\n\ns v=2\r\n', compileTemplate).length, 2)
  })
})
