// JSON Schema: checks against ajv, errors with their positions, and schemas and values that could take long.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { valueOf } from '../rules/evaluate.ts'
import { decodeBy, endsSoon, faultOf, hostWith, valueBy } from './schema-host.ts'
import { fc } from '../properties.ts'

function problemOf(schema: unknown, json: string): string {
  const source = typeof schema === 'string' ? schema : JSON.stringify(schema)
  return valueBy('json', source, `schema_decode('s', payload)`, { payload: json })
}

function passes(schema: unknown, json: string): boolean {
  return checkerOf(typeof schema === 'string' ? schema : JSON.stringify(schema))(json)
}

/** Checks many values without compiling the schema again. */
function checkerOf(source: string): (json: string) => boolean {
  const host = hostWith('json', source)
  return (json) => {
    const checked = valueOf(`schema_check('s', payload)`, { payload: json }, host)
    assert.ok(checked === 'true' || checked === 'false', checked)
    return checked === 'true'
  }
}

/** Each schema is used for a few values: to optimize its code would take longer than to run it. */
const options = { strict: false, validateSchema: false, code: { optimize: false } }

/** ajv 8.20 generates code with an undefined variable for some schemas. */
function resultOf(validate: () => boolean): boolean | undefined {
  try {
    return validate()
  } catch (error) {
    assert.ok(error instanceof ReferenceError, String(error))
    return undefined
  }
}

/** Beside prefixItems, and for `false`, ajv 8.20 lets an empty array pass that should contain something. */
function withoutBoth(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { prefixItems, ...rest } = schema
  return prefixItems === undefined || schema['contains'] === undefined ? schema : rest
}

/** Keywords with their values, which belong together. */
type Keywords = Readonly<Record<string, fc.Arbitrary<unknown>>>

function someOf(...groups: readonly Keywords[]): fc.Arbitrary<Record<string, unknown>> {
  const keywords = groups.map((group) => fc.record<Record<string, unknown>>(group, { requiredKeys: [] }))
  return fc
    .array(fc.oneof(...keywords), { minLength: 1, maxLength: 3 })
    .map((chosen) => Object.assign({}, ...chosen) as Record<string, unknown>)
}

describe('JSON Schema as ajv decides', () => {
  const small = fc.integer({ min: -2, max: 4 })
  const scalar = fc.oneof(small, fc.constantFrom(0.5, 1.5, 0.1, 0.3, 'a', 'bb', 'a1', '', 'ä😀', true, false, null))
  const name = fc.constantFrom('a', 'b', 'c1', 'd')
  const value = fc.letrec<{ any: unknown; list: unknown[]; map: Record<string, unknown> }>((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, scalar, tie('list'), tie('map')),
    list: fc.array(tie('any'), { maxLength: 4 }),
    map: fc.dictionary(name, tie('any'), { maxKeys: 3 }),
  })).any

  const count = fc.integer({ min: 0, max: 3 })
  const types = fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'string', 'integer')
  const pattern = fc.constantFrom('^a', '[0-9]$', 'b+', '^.$', '\\d')
  // A schema with many keywords allows almost no value, so each schema has keywords of one to three groups.
  const schema = fc.letrec<{ any: unknown; list: unknown[]; map: Record<string, unknown> }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      someOf(
        { type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })) },
        {
          enum: fc.uniqueArray(value, {
            minLength: 1,
            maxLength: 4,
            comparator: 'SameValue',
            selector: (item) => JSON.stringify(item),
          }),
        },
        { const: value },
        { minimum: small, exclusiveMaximum: small, multipleOf: fc.constantFrom(1, 2, 0.5) },
        { minLength: count, maxLength: count, pattern },
        { minItems: count, maxItems: count, uniqueItems: fc.boolean() },
        { minProperties: count, maxProperties: count, required: fc.uniqueArray(name, { maxLength: 2 }) },
      ),
      someOf(
        { allOf: tie('list') },
        { anyOf: tie('list') },
        { oneOf: tie('list') },
        { not: tie('any') },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        { if: tie('any'), then: tie('any'), else: tie('any') },
        {
          properties: tie('map'),
          patternProperties: fc.dictionary(pattern, tie('any'), { maxKeys: 2 }),
          additionalProperties: tie('any'),
        },
        { propertyNames: tie('any') },
        { prefixItems: tie('list'), items: tie('any') },
        { contains: tie('any').filter((one) => one !== false), minContains: count, maxContains: count },
        {
          dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
          dependentSchemas: tie('map'),
        },
      ).map(withoutBoth),
    ),
    list: fc.array(tie('any'), { minLength: 1, maxLength: 3 }),
    map: fc.dictionary(name, tie('any'), { maxKeys: 3 }),
  })).any

  test('for random schemas and values of 2020-12', () => {
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 1, maxLength: 8 }), (one, values) => {
        const source = JSON.stringify(one)
        const validate = new Ajv2020(options).compile(JSON.parse(source))
        const check = checkerOf(source)
        for (const each of values) {
          const json = JSON.stringify(each)
          const expected = resultOf(() => validate(JSON.parse(json)))
          if (expected !== undefined) assert.equal(check(json), expected, `${source} ${json}`)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('for items and dependencies of draft 7', () => {
    const old = fc.record(
      {
        items: fc.oneof(schema, fc.array(schema, { minLength: 1, maxLength: 2 })),
        additionalItems: schema,
        dependencies: fc.dictionary(name, fc.oneof(schema, fc.uniqueArray(name, { minLength: 1, maxLength: 2 })), {
          maxKeys: 2,
        }),
      },
      { requiredKeys: [] },
    )
    const unknown = /prefixItems|minContains|maxContains|dependentRequired|dependentSchemas/
    fc.assert(
      fc.property(old, value, (one, each) => {
        const source = JSON.stringify(one)
        fc.pre(!unknown.test(source))
        const json = JSON.stringify(each)
        const validate = new Ajv(options).compile(JSON.parse(source))
        assert.equal(
          passes({ $schema: 'http://json-schema.org/draft-07/schema#', ...one }, json),
          validate(JSON.parse(json)),
        )
      }),
      { numRuns: 400 },
    )
  })
})

const beside = (draft: string): string =>
  `{"$schema":"${draft}","$ref":"#/definitions/a","minimum":10,"definitions":{"a":{"maximum":20}}}`

describe('JSON Schema in rules', () => {
  const device = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://example.com/device',
    type: 'object',
    properties: {
      id: { type: 'integer', maximum: 18446744073709551615n.toString().length > 0 ? 1e30 : 0 },
      readings: { type: 'array', items: { $ref: '#/$defs/reading' } },
      parent: { $ref: '#' },
    },
    required: ['id'],
    additionalProperties: false,
    $defs: { reading: { $anchor: 'reading', type: 'object', properties: { t: { type: 'number', maximum: 100 } } } },
  }

  test('errors name the path in the value and the expected value', () => {
    assert.equal(
      problemOf(device, '{"id":1,"readings":[{"t":5},{"t":101}]}'),
      'error: schema s: readings[2].t must be at most 100, not 101',
    )
    assert.equal(problemOf(device, '{"readings":[]}'), 'error: schema s: the value needs "id"')
    assert.equal(
      problemOf(device, '{"id":1,"parent":{"id":"x"}}'),
      'error: schema s: parent.id must be integer, not text',
    )
    assert.equal(problemOf(device, '{"id":1,"other":2}'), 'error: schema s: the value has the unknown member "other"')
    assert.match(problemOf(device, '{"id":1'), /schema s: not JSON/)
  })

  test('a valid value is returned with exact integers, or as JSON', () => {
    assert.equal(problemOf(device, '{"id":9007199254740993}'), '{"id":9007199254740993}')
    const source = JSON.stringify(device)
    assert.equal(valueBy('json', source, `schema_encode('s', json_decode('{"id":7}'))`), JSON.stringify('{"id":7}'))
    assert.match(valueBy('json', source, `schema_encode('s', map_new())`), /the value needs "id"/)
    assert.equal(valueBy('json', source, `schema_check('s', map_put('id', 1, map_new()))`), 'true')
    assert.equal(valueBy('json', source, `schema_check('s', map_put('id', 'x', map_new()))`), 'false')
  })

  test('integers beyond 53 bits are compared exactly', () => {
    assert.equal(passes('{"maximum":9007199254740993}', '9007199254740993'), true)
    assert.equal(passes('{"maximum":9007199254740993}', '9007199254740994'), false)
    assert.equal(passes('{"const":9007199254740993}', '9007199254740992'), false)
    assert.equal(passes('{"enum":[9007199254740993]}', '9007199254740992'), false)
    assert.equal(passes('{"multipleOf":3}', '9007199254740993'), true)
    assert.equal(passes('{"uniqueItems":true}', '[9007199254740993,9007199254740992]'), true)
    assert.equal(passes('{"uniqueItems":true}', '[1,1.0]'), false)
  })

  test('0.3 is a multiple of 0.1, and 1.0 an integer from draft 6 on', () => {
    assert.equal(passes('{"multipleOf":0.1}', '0.3'), true)
    assert.equal(passes('{"multipleOf":0.01}', '19.999'), false)
    assert.equal(passes('{"multipleOf":1e-308}', '1e308'), true)
    assert.equal(passes('{"type":"integer"}', '1.0'), true)
    assert.equal(passes('{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer"}', '1.0'), false)
  })

  test('draft 4 has boolean exclusive limits, and ignores keywords beside $ref', () => {
    const limit = '{"$schema":"http://json-schema.org/draft-04/schema#","maximum":5,"exclusiveMaximum":true}'
    assert.deepEqual([passes(limit, '4'), passes(limit, '5')], [true, false])
    assert.equal(passes(beside('http://json-schema.org/draft-07/schema#'), '5'), true)
    assert.equal(passes(beside('https://json-schema.org/draft/2020-12/schema'), '5'), false)
  })

  test('references by anchors, names and escaped paths', () => {
    assert.equal(passes({ ...device, properties: { id: { $ref: '#reading' } } }, '{"id":{"t":101}}'), false)
    assert.equal(
      passes(
        {
          $ref: 'https://example.com/d#/$defs/x',
          $defs: { d: { $id: 'https://example.com/d', $defs: { x: { type: 'null' } } } },
        },
        '1',
      ),
      false,
    )
    assert.equal(passes({ $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': { type: 'null' } } }, '1'), false)
  })

  test('member names of prototypes are ordinary names', () => {
    assert.equal(passes('{"required":["constructor"]}', '{}'), false)
    assert.equal(passes('{"required":["__proto__"]}', '{"__proto__":1}'), true)
    assert.equal(passes('{"properties":{"__proto__":{"type":"string"}}}', '{"__proto__":1}'), false)
    assert.equal(passes('{"properties":{"toString":false}}', '{}'), true)
    assert.match(decodeBy({ type: 'json', source: '{}' }, Buffer.from('{"__proto__":{"x":1}}')), /__proto__/)
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
  })
})

describe('values and schemas that could take long', () => {
  test('a regular expression that backtracks in other engines', () => {
    endsSoon(() => problemOf('{"pattern":"^(a+)+$"}', JSON.stringify(`${'a'.repeat(50_000)}!`)), /must match|maxSteps/)
  })
  test('unique items of many arrays', () => {
    endsSoon(
      () => problemOf('{"uniqueItems":true}', JSON.stringify(Array.from({ length: 20_000 }, (_, n) => [n]))),
      /maxSteps/,
    )
  })
  test('circular references', () => {
    endsSoon(() => problemOf('{"$ref":"#"}', '1'), /maxValueDepth/)
    endsSoon(() => problemOf('{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}', '1'), /maxValueDepth|maxSteps/)
  })
  test('nested alternatives for a deep value', () => {
    const tree =
      '{"$defs":{"t":{"anyOf":[{"properties":{"n":{"$ref":"#/$defs/t"}},"required":["x"]},{"properties":{"n":{"$ref":"#/$defs/t"}},"required":["y"]}]}},"$ref":"#/$defs/t"}'
    endsSoon(() => problemOf(tree, `${'{"n":'.repeat(60)}{}${'}'.repeat(60)}`), /maxSteps|anyOf/)
  })
  test('a chain of references', () => {
    const defs = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`d${n}`, { $ref: `#/$defs/d${n + 1}` }]))
    endsSoon(() => problemOf({ $defs: { ...defs, d3000: { type: 'null' } }, $ref: '#/$defs/d0' }, '1'), /maxValueDepth/)
  })
})

describe('texts that are not a JSON Schema', () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['{"type":', /^line 1, column 9: not JSON/],
    ['{\n  "type": nul\n}', /^line 2, column 11: not JSON: unexpected character/],
    ['{"type":"strin"}', /^at \/type: a type is one of null, boolean/],
    ['{"properties":{"a":{"minimum":"5"}}}', /^at \/properties\/a\/minimum: expected a number/],
    ['{"properties":{"a/b":5}}', /^at \/properties\/a~1b: a schema is an object, true or false/],
    ['{"items":[{"required":"a"}]}', /^at \/items\/0\/required: expected an array of names/],
    ['{"pattern":"("}', /^at \/pattern: the regular expression cannot be used/],
    ['{"pattern":"(?=a)b"}', /^at \/pattern: the regular expression cannot be used/],
    ['{"patternProperties":{"(a)\\\\1":{}}}', /^at \/patternProperties\/\(a\)\\1: the regular expression/],
    [
      '{"$ref":"https://example.com/schema.json"}',
      /^at \/\$ref: there is no schema 'https:.*schemas elsewhere are not loaded/,
    ],
    ['{"$ref":"#/definitions/none"}', /there is no schema '#\/definitions\/none' in this one/],
    ['{"$ref":"#/toString"}', /there is no schema/],
    ['{"$schema":"http://json-schema.org/draft-03/schema#"}', /not supported: use one of draft-04/],
    ['{"unevaluatedProperties":false}', /not supported: use additionalProperties/],
    ['{"multipleOf":0}', /expected a number above 0/],
    ['{"maxLength":-1}', /expected an integer of at least 0/],
    ['{"enum":[]}', /expected an array of values/],
    ['{"allOf":[]}', /expected an array of schemas/],
    ['5', /a schema is an object, true or false/],
    [`${'{"not":'.repeat(150)}{}${'}'.repeat(150)}`, /limit maxSchemaDepth/],
    [JSON.stringify({ anyOf: Array.from({ length: 11_000 }, () => ({})) }), /limit maxSchemaNodes/],
  ]
  for (const [text, fault] of faults) {
    test(`${text.slice(0, 60)} is refused with the position`, () => assert.match(faultOf('json', text), fault))
  }
})
