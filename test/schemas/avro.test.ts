// Avro: the codec against avsc, errors with their positions, and data with false sizes.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import avsc from 'avsc'
import { decodeJson } from '../../src/values/index.ts'
import { decodeBy, encodeBy, endsSoon, faultOf, valueBy } from './schema-host.ts'
import { anyCharacter, fc } from '../properties.ts'

const reading = {
  type: 'record',
  name: 'Reading',
  namespace: 'plant.hall',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['TEMPERATURE', 'HUMIDITY'] } },
    { name: 'values', type: { type: 'array', items: 'double' } },
    { name: 'tags', type: { type: 'map', values: 'string' } },
    { name: 'note', type: ['null', 'string'], default: null },
    { name: 'exact', type: 'int', default: 7 },
    { name: 'ok', type: 'boolean' },
    { name: 'next', type: ['null', 'plant.hall.Reading'], default: null },
  ],
}
const source = JSON.stringify(reading)

/** JSON.stringify writes -0 as 0. */
const withoutSign = (value: number): number => value + 0

describe('Avro as avsc writes and reads it', () => {
  const oracle = avsc.Type.forSchema(reading as avsc.Schema, { wrapUnions: false })

  const text = fc.string({ unit: anyCharacter, maxLength: 20 }).filter((value) => value.isWellFormed())
  /** avsc loses this key; it has a separate test. */
  const keys = text.filter((key) => key !== '__proto__')
  const one = fc.record({
    // avsc is exact up to here.
    id: fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
    kind: fc.constantFrom('TEMPERATURE', 'HUMIDITY'),
    values: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }).map(withoutSign), { maxLength: 5 }),
    tags: fc.dictionary(keys, text, { maxKeys: 4 }),
    note: fc.option(text),
    exact: fc.integer(),
    ok: fc.boolean(),
  })
  const both = fc.tuple(one, fc.option(one)).map(([outer, inner]) => ({
    ...outer,
    next: inner === null ? null : { ...inner, next: null },
  }))

  test('avsc reads encoded data', () => {
    fc.assert(
      fc.property(both, (value) => {
        const encoded = encodeBy({ type: 'avro', source }, value)
        assert.deepEqual(JSON.parse(JSON.stringify(oracle.fromBuffer(encoded))), JSON.parse(JSON.stringify(value)))
        assert.deepEqual(encoded, oracle.toBuffer(value))
      }),
    )
  })

  test('data of avsc is decoded', () => {
    fc.assert(
      fc.property(both, (value) => {
        const decoded = decodeBy({ type: 'avro', source }, oracle.toBuffer(value))
        assert.deepEqual(JSON.parse(decoded), JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('damaged data causes only rule errors', () => {
    fc.assert(
      fc.property(both, fc.nat(), fc.nat({ max: 255 }), (value, place, byte) => {
        const data = oracle.toBuffer(value)
        data[place % data.length] = byte
        const shown = valueBy('avro', source, `schema_decode('s', payload)`, { payload: data })
        assert.ok(!shown.includes('RangeError') && !shown.includes('TypeError'), shown)
      }),
    )
  })
})

describe('Avro in rules', () => {
  const long = '"long"'

  test('integers of 64 bits are exact', () => {
    for (const value of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0', '-1']) {
      assert.equal(valueBy('avro', long, `schema_decode('s', schema_encode('s', ${value}))`), value)
    }
    assert.match(
      valueBy('avro', long, `schema_encode('s', 9223372036854775808)`),
      /must be long, not 9223372036854775808/,
    )
  })

  test('floats and bytes keep their types, and a fixed type has its size', () => {
    assert.equal(valueBy('avro', '"double"', `schema_decode('s', schema_encode('s', 2))`), '2.0')
    assert.equal(
      valueBy('avro', '"bytes"', `bin2hexstr(schema_decode('s', schema_encode('s', hexstr2bin('FF00'))))`),
      '"FF00"',
    )
    const fixed = '{"type":"fixed","name":"Two","size":2}'
    assert.equal(valueBy('avro', fixed, `schema_encode('s', 'ab')`), '"ab"')
    assert.match(valueBy('avro', fixed, `schema_encode('s', 'abc')`), /fixed Two has 2 bytes, not 3/)
  })

  test('a missing field has its default, and without one is an error with its path', () => {
    const schema = `{"type":"record","name":"A","fields":[{"name":"b","type":{"type":"array","items":
      {"type":"record","name":"B","fields":[{"name":"c","type":"string"},{"name":"d","type":"bytes","default":"\\u00ff"}]}}}]}`
    const value = (json: string): string =>
      valueBy('avro', schema, `schema_decode('s', schema_encode('s', json_decode('${json}')))`)
    assert.equal(value('{"b":[{"c":"x"}]}'), '{"b":[{"c":"x","d":{"$base64":"/w=="}}]}')
    assert.match(value('{"b":[{"c":"x"},{"d":"y"}]}'), /schema s: b\[2\]: record B needs the field c/)
    assert.match(value('{"b":[{"c":5}]}'), /b\[1\]\.c: the value must be string, not integer/)
  })

  test('a union takes the first type that fits', () => {
    const union =
      '["null", "string", {"type":"record","name":"P","fields":[{"name":"a","type":"int"}]}, {"type":"map","values":"double"}]'
    const round = (expression: string): string =>
      valueBy('avro', union, `schema_decode('s', schema_encode('s', ${expression}))`)
    assert.equal(round(`json_decode('null')`), 'null')
    assert.equal(round(`json_decode('{"a":1}')`), '{"a":1}')
    assert.equal(round(`json_decode('{"b":1.5}')`), '{"b":1.5}')
    assert.match(round('true'), /no type of the union accepts boolean: it has null, string, record P, map/)
  })

  test('wrong use has an error that names the correction', () => {
    assert.match(
      valueBy('avro', source, `schema_encode('s', payload)`, { payload: '{}' }),
      /open JSON with json_decode/,
    )
    assert.match(valueBy('avro', source, `schema_decode('s', json_decode('{}'))`), /is it decoded already/)
    assert.match(
      valueBy('avro', source, `schema_decode('s', payload, 'T')`, { payload: '' }),
      /Avro has no message types/,
    )
    assert.match(valueBy('avro', source, `schema_decode('other', payload)`), /there is no schema "other": add it/)
    assert.equal(valueBy('avro', source, `schema_check('s', payload)`, { payload: 'x' }), 'false')
    assert.match(valueBy('avro', source, `schema_check('s', 5)`), /must be a text, a map or an array, not integer/)
  })

  test('a member with the name __proto__ is an ordinary member', () => {
    const map = '{"type":"map","values":"int"}'
    const value = valueBy('avro', map, `schema_decode('s', schema_encode('s', json_decode(payload)))`, {
      payload: '{"__proto__":5}',
    })
    assert.equal(value, '{"__proto__":5}')
    assert.equal(({} as Record<string, unknown>)['5'], undefined)
  })
})

const branch = (name: string): string =>
  `{"type":"record","name":"${name}","fields":[{"name":"n","type":["null","A","B"]},{"name":"v","type":"int"}]}`

describe('Avro data with false sizes', () => {
  /** A block of 2^62 items. */
  const endless = Buffer.from('80808080808080808001', 'hex')
  const schemas = {
    'an array of null': '{"type":"array","items":"null"}',
    'an array of empty records': '{"type":"array","items":{"type":"record","name":"E","fields":[]}}',
    'an array of empty fixed': '{"type":"array","items":{"type":"fixed","name":"F","size":0}}',
    'an array of strings': '{"type":"array","items":"string"}',
    'a map': '{"type":"map","values":"null"}',
    'a string': '"string"',
    'a recursive record': '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}',
  }
  for (const [name, schema] of Object.entries(schemas)) {
    test(name, () => {
      endsSoon(
        () => valueBy('avro', schema, `schema_decode('s', payload)`, { payload: endless }),
        /maxSteps|maxCreatedBytes|maxValueDepth|ends too early|a block has/,
      )
      // 2^31 items.
      const many = Buffer.from('8080808010', 'hex')
      endsSoon(
        () => valueBy('avro', schema, `schema_decode('s', payload)`, { payload: many }),
        /maxSteps|maxCreatedBytes|maxValueDepth|ends too early/,
      )
    })
  }

  test('nested unions of records that nearly match', () => {
    const schema = `{"type":"record","name":"Root","fields":[{"name":"n","type":["null",${branch('A').replace('"A","B"', '"A"')},${branch('B')}]}]}`
    let value = '{"n":null,"v":"wrong"}'
    for (let depth = 0; depth < 100; depth++) value = `{"n":${value},"v":1}`
    endsSoon(
      () => valueBy('avro', schema, `schema_encode('s', json_decode(payload))`, { payload: `{"n":${value}}` }),
      /error/,
    )
  })
})

describe('texts that are not an Avro schema', () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['{"type":"record"', /^line 1, column 17: not JSON/],
    ['{"type":"record",\n"name":"A",,}', /^line 2, column 12: /],
    ['"strin"', /^at the top of the schema: there is no type 'strin'/],
    [
      '{"type":"record","name":"A","fields":[{"name":"b","type":"lng"}]}',
      /^at \/fields\/0\/type: there is no type 'lng'/,
    ],
    [
      '{"type":"record","name":"A","fields":[{"name":"b","type":"int"},{"name":"b","type":"int"}]}',
      /\/fields\/1: .*twice/,
    ],
    ['{"type":"enum","name":"A","symbols":["x","x"]}', /at \/symbols: an enum has each symbol once/],
    ['{"type":"fixed","name":"A","size":-1}', /at \/size: a fixed type needs a size/],
    ['["int","int"]', /the union has the type 'int' twice/],
    ['["int",["null"]]', /a union cannot contain a union/],
    ['5', /a type is the name of a type/],
    [`${'{"type":"array","items":'.repeat(120)}"int"${'}'.repeat(120)}`, /limit maxSchemaDepth is 100/],
    [`"${'x'.repeat(300_000)}"`, /limit maxSchemaLength is 262144/],
    [
      JSON.stringify(Array.from({ length: 11_000 }, (_, n) => ({ type: 'fixed', name: `F${n}`, size: 1 }))),
      /maxSchema/,
    ],
  ]
  for (const [text, fault] of faults) {
    test(`${text.slice(0, 60)} is refused with the position`, () => assert.match(faultOf('avro', text), fault))
  }
})

test('large integers of JSON are encoded exactly', () => {
  const value = decodeJson('18014398509481985')
  assert.equal(
    decodeBy({ type: 'avro', source: '"long"' }, encodeBy({ type: 'avro', source: '"long"' }, value)),
    '18014398509481985',
  )
})
