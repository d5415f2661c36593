import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileTemplate } from '../../src/rules/index.ts'
import type { RuleMap } from '../../src/values/index.ts'
import { createCsvRenderer } from '../../src/sinks/csv.ts'
import type { CompileTemplate } from '../../src/sinks/sink.ts'

const compile: CompileTemplate = (text) => compileTemplate(text)

function row(template: string, data: RuleMap): string {
  return createCsvRenderer(template, compile)(data).toString()
}

test('RFC 4180: values with separators, quotes and line breaks are quoted, others are not', () => {
  const data = { a: 'plain', b: 'a,b', c: 'say "x"', d: 'two\nlines', e: 5n, f: true }
  assert.equal(row('${a},${b},${c},${d},${e},${f}', data), 'plain,"a,b","say ""x""","two\nlines",5,true')
})

test('missing values and null are empty cells, maps and lists are JSON, and fixed text is unchanged', () => {
  const data = { map: { k: 1n }, list: ['x', 2n], none: null }
  assert.equal(row('v1;${map};${list};${none};${missing}', data), 'v1;"{""k"":1}";"[""x"",2]";;')
})

test('bytes that are not UTF-8 are unchanged and quoted', () => {
  const row = createCsvRenderer('${raw},1', compile)({ raw: Uint8Array.of(0xff, 0x22, 0x0a) })
  assert.deepEqual([...row], [0x22, 0xff, 0x22, 0x22, 0x0a, 0x22, 0x2c, 0x31])
})
