// Protobuf: the codec against protobufjs, errors with their positions, and data with false sizes.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import protobuf from 'protobufjs'
import { decodeBy, encodeBy, endsSoon, faultOf, valueBy } from './schema-host.ts'
import { anyCharacter, fc } from '../properties.ts'

const fields = `
  double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7; sint64 s64 = 8;
  fixed32 f32 = 9; fixed64 f64 = 10; sfixed32 sf32 = 11; sfixed64 sf64 = 12; bool b = 13; string s = 14; bytes y = 15;`
const source = `
syntax = "proto3";
package plant.v1; // a comment
/* another
   one */
option java_package = "x";
message All {
  option deprecated = false;
  reserved 90, 91 to 95, 100 to max;
  reserved "old";
  ${fields}
  Level level = 16 [deprecated = true];
  repeated int32 packed = 17;
  repeated sint64 loose = 18 [packed = false];
  repeated string names = 19;
  map<string, int64> counts = 20;
  map<int32, Inner> inners = 21;
  Inner inner = 22;
  oneof choice { string text = 23; Inner other = 24; int32 number = 25; }
  optional int32 present = 26;
  repeated .plant.v1.All.Inner list = 27;
  message Inner { int32 n = 1; All all = 2; }
}
enum Level { LOW = 0; MIDDLE = 5; HIGH = 0x7f; }
service Ignored { rpc Call(All) returns (All) { option (x) = { a: 1 }; } }
`
const schema = { type: 'protobuf', source } as const

const bigint = (least: bigint, most: bigint): fc.Arbitrary<string> => fc.bigInt(least, most).map(String)

/** JSON.stringify writes -0 as 0. */
const withoutSign = (value: number): number => value + 0

/** The value of the rule language, with integers of 64 bits as texts and bytes as base64 again. */
function comparable(json: string): unknown {
  const names = new Set(['i64', 'u64', 's64', 'f64', 'sf64'])
  const exact = json.replaceAll(/"(\w+)":(-?\d+)(?=[,}])/g, (whole, key: string, digits: string) =>
    names.has(key) ? `"${key}":"${digits}"` : whole,
  )
  const lists = exact.replaceAll(
    /"loose":\[([^\]]*)\]/g,
    (_whole, list: string) => `"loose":[${list.replaceAll(/-?\d+/g, '"$&"')}]`,
  )
  const parsed = JSON.parse(lists) as Record<string, unknown>
  const bytes = parsed['y'] as string | { $base64: string }
  return { ...parsed, y: typeof bytes === 'string' ? Buffer.from(bytes).toString('base64') : bytes.$base64 }
}

const innerOf = (found: unknown): unknown => (found as { n: number }).n

describe('Protobuf as protobufjs writes and reads it', () => {
  const { root } = protobuf.parse(source, { keepCase: true })
  const oracle = root.lookupType('plant.v1.All')
  const text = fc.string({ unit: anyCharacter, maxLength: 20 }).filter((value) => value.isWellFormed())
  /** protobufjs loses this key; it has a separate test. */
  const keys = text.filter((key) => key !== '__proto__')
  const inner = fc.record({ n: fc.integer() })
  const value = fc.record({
    d: fc.double({ noNaN: true, noDefaultInfinity: true }).map(withoutSign),
    f: fc.float({ noNaN: true, noDefaultInfinity: true }).map(withoutSign),
    i32: fc.integer(),
    i64: bigint(-(1n << 63n), (1n << 63n) - 1n),
    u32: fc.nat({ max: 0xff_ff_ff_ff }),
    u64: bigint(0n, (1n << 64n) - 1n),
    s32: fc.integer(),
    s64: bigint(-(1n << 63n), (1n << 63n) - 1n),
    f32: fc.nat({ max: 0xff_ff_ff_ff }),
    f64: bigint(0n, (1n << 64n) - 1n),
    sf32: fc.integer(),
    sf64: bigint(-(1n << 63n), (1n << 63n) - 1n),
    b: fc.boolean(),
    s: text,
    y: fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    level: fc.constantFrom('LOW', 'MIDDLE', 'HIGH'),
    packed: fc.array(fc.integer(), { maxLength: 5 }),
    loose: fc.array(bigint(-(1n << 63n), (1n << 63n) - 1n), { maxLength: 5 }),
    names: fc.array(text, { maxLength: 3 }),
    counts: fc.dictionary(keys, bigint(-(1n << 63n), (1n << 63n) - 1n), { maxKeys: 3 }),
    inner,
    list: fc.array(inner, { maxLength: 3 }),
  })
  const longs = { longs: String, enums: String, bytes: String, defaults: true, arrays: true, objects: true } as const

  test('data of protobufjs is decoded', () => {
    fc.assert(
      fc.property(value, ({ counts: _counts, ...one }) => {
        const message = oracle.fromObject(one)
        const expected = oracle.toObject(message, longs)
        const decoded = comparable(decodeBy(schema, oracle.encode(message).finish(), 'All')) as Record<string, unknown>
        assert.deepEqual(innerOf(decoded['inner']), innerOf(expected['inner']))
        assert.deepEqual((decoded['list'] as unknown[]).map(innerOf), (expected['list'] as unknown[]).map(innerOf))
        for (const key of Object.keys(one)) {
          if (key !== 'inner' && key !== 'list') assert.deepEqual(decoded[key], expected[key], key)
        }
      }),
    )
  })

  test('encoded data is read by protobufjs, and decoded again', () => {
    fc.assert(
      fc.property(value, ({ y, ...one }) => {
        const json = JSON.stringify(one, (key, member: unknown) =>
          typeof member === 'string' && /^-?\d+$/.test(member) && !['s', 'names'].includes(key)
            ? `#${member}#`
            : member,
        ).replaceAll(/"#(-?\d+)#"/g, '$1')
        const context = { payload: json, y: Buffer.from(y, 'base64') }
        const map = `map_put('y', base64_decode('${y}'), json_decode(payload))`
        const shown = valueBy('protobuf', source, `base64_encode(schema_encode('s', ${map}, 'All'))`, context)
        if (shown.startsWith('error: ')) throw new Error(`${shown} ${json}`)
        const data = Buffer.from(JSON.parse(shown) as string, 'base64')
        const back = oracle.toObject(oracle.decode(data), { ...longs, defaults: false })
        const expected = oracle.toObject(oracle.fromObject({ ...one, y }), { ...longs, defaults: false })
        for (const key of Object.keys(expected)) {
          // Defaults are not sent.
          if (back[key] !== undefined) assert.deepEqual(back[key], expected[key], key)
        }
        assert.deepEqual(
          decodeBy(schema, data, 'plant.v1.All'),
          decodeBy(schema, Buffer.from(oracle.encode(oracle.decode(data)).finish()), 'All'),
        )
      }),
    )
  })

  test('damaged data causes only rule errors', () => {
    fc.assert(
      fc.property(value, fc.nat(), fc.nat({ max: 255 }), (one, place, byte) => {
        const data = Buffer.from(oracle.encode(oracle.fromObject(one)).finish())
        if (data.length > 0) data[place % data.length] = byte
        const shown = valueBy('protobuf', source, `schema_decode('s', payload, 'All')`, { payload: data })
        assert.ok(!shown.includes('RangeError') && !shown.includes('TypeError'), shown)
      }),
    )
  })
})

const round = (json: string): string =>
  valueBy('protobuf', source, `schema_decode('s', schema_encode('s', json_decode(payload), 'All'), 'All')`, {
    payload: json,
  })

describe('Protobuf in rules', () => {
  test('maps, oneof, enums and exact integers are encoded and decoded', () => {
    const shown = JSON.parse(
      round(
        '{"u64":18446744073709551615,"counts":{"a":1},"inners":{"-3":{"n":4}},"number":5,"level":"HIGH","present":0}',
      ).replace('18446744073709551615', '"18446744073709551615"'),
    ) as Record<string, unknown>
    assert.equal(shown['u64'], '18446744073709551615')
    assert.deepEqual(shown['counts'], { a: 1 })
    assert.deepEqual(shown['inners'], { '-3': { n: 4 } })
    assert.deepEqual([shown['number'], shown['text'], shown['other']], [5, undefined, undefined])
    assert.deepEqual([shown['level'], shown['present']], ['HIGH', 0])
  })

  test('a field of proto3 that was not sent has its default, unless it is optional or a message', () => {
    const shown = JSON.parse(round('{}')) as Record<string, unknown>
    assert.deepEqual(
      [shown['i32'], shown['s'], shown['b'], shown['level'], shown['names'], shown['counts']],
      [0, '', false, 'LOW', [], {}],
    )
    assert.deepEqual([shown['present'], shown['inner'], 'text' in shown], [undefined, undefined, false])
  })

  test('errors name the path, the message types, and a similar field', () => {
    assert.match(round('{"inner":{"n":"x"}}'), /schema s: inner\.n: the value must be of the type int32, not text/)
    assert.match(round('{"list":[{"n":1},{"n":3000000000}]}'), /list\[2\]\.n: 3000000000 is outside of int32/)
    assert.match(round('{"levl":"LOW"}'), /has no field "levl": did you mean level\?/)
    assert.match(round('{"level":"NONE"}'), /the enum Level has no value "NONE"/)
    assert.match(round('{"text":"a","number":1}'), /only one of text, number can be set: they are oneof choice/)
    assert.match(
      valueBy('protobuf', source, `schema_decode('s', '')`),
      /name the message type as the last argument: All, All\.Inner/,
    )
    assert.match(valueBy('protobuf', source, `schema_decode('s', '', 'Al')`), /there is no message type "Al"/)
    assert.equal(valueBy('protobuf', source, `schema_check('s', hexstr2bin('FF'), 'All')`), 'false')
    assert.equal(valueBy('protobuf', source, `schema_check('s', map_put('s', 'x', map_new()), 'All')`), 'true')
  })

  test('proto2: required fields must be there, others are left out', () => {
    const proto2 = 'message A { required string a = 1; optional int32 b = 2 [default = 5]; repeated int32 c = 3; }'
    assert.equal(
      valueBy('protobuf', proto2, `schema_decode('s', schema_encode('s', map_put('a', 'x', map_new()), 'A'), 'A')`),
      '{"a":"x","c":[]}',
    )
    assert.match(valueBy('protobuf', proto2, `schema_encode('s', map_new(), 'A')`), /A needs the field a/)
    assert.match(valueBy('protobuf', proto2, `schema_decode('s', '', 'A')`), /the field a of A is missing/)
  })

  test('not a number and infinity have names', () => {
    for (const [hex, name] of [
      ['09000000000000F87F', 'nan'],
      ['09000000000000F07F', 'infinity'],
      ['09000000000000F0FF', '-infinity'],
    ]) {
      const text = 'message D { optional double d = 1; }'
      assert.equal(valueBy('protobuf', text, `schema_decode('s', hexstr2bin('${hex}'), 'D')`), `{"d":"${name}"}`)
      assert.equal(
        valueBy('protobuf', text, `bin2hexstr(schema_encode('s', map_put('d', '${name}', map_new()), 'D'))`),
        `"${hex}"`,
      )
    }
  })

  test('the two parts of a message are merged, and the last field of a oneof applies', () => {
    const parts = Buffer.concat([
      encodeBy(schema, { inner: { n: 1 }, text: 'a' }, 'All'),
      encodeBy(schema, { inner: {}, number: 2 }, 'All'),
    ])
    const shown = JSON.parse(decodeBy(schema, parts, 'All')) as Record<string, unknown>
    assert.deepEqual([shown['inner'], shown['text'], shown['number']], [{ n: 1 }, undefined, 2])
  })

  test('field names of prototypes are ordinary names', () => {
    const text =
      'syntax = "proto3"; message P { int32 __proto__ = 1; int32 constructor = 2; map<string, int32> toString = 3; }'
    const value = '{"__proto__":1,"constructor":2,"toString":{"__proto__":3}}'
    assert.equal(
      valueBy('protobuf', text, `schema_decode('s', schema_encode('s', json_decode(payload), 'P'), 'P')`, {
        payload: value,
      }),
      value,
    )
  })
})

const decode = (text: string, payload: Buffer, type: string): string =>
  valueBy('protobuf', text, `schema_decode('s', payload, '${type}')`, { payload })

describe('Protobuf data with false sizes', () => {
  test('a length beyond the end', () => {
    endsSoon(() => decode(source, Buffer.from('72ffffffffffffffffff01', 'hex'), 'All'), /ends too early: a length is/)
    endsSoon(() => decode(source, Buffer.from('72ffffff7f', 'hex'), 'All'), /ends too early: a length is/)
    endsSoon(() => decode(source, Buffer.from('8a01ffffffff0f01', 'hex'), 'All'), /ends too early/)
  })

  test('nested messages', () => {
    const text = 'syntax = "proto3"; message M { M m = 1; }'
    let payload = Buffer.alloc(0)
    for (let depth = 0; depth < 5_000; depth++) {
      const length = encodeBy(
        { type: 'protobuf', source: 'message L { optional uint32 l = 1; }' },
        { l: payload.length },
        'L',
      ).subarray(1)
      payload = Buffer.concat([Buffer.of(10), length, payload])
    }
    endsSoon(() => decode(text, payload, 'M'), /maxValueDepth/)
  })

  test('nested groups, which are skipped', () => {
    endsSoon(() => decode('message M {}', Buffer.alloc(100_000, 0x0b), 'M'), /maxValueDepth/)
  })

  test('many empty messages with many fields', () => {
    const many = Array.from({ length: 4_000 }, (_, n) => `optional int32 f${n} = ${n + 1};`).join(' ')
    const text = `message M { repeated B b = 1; } message B { ${many} }`
    endsSoon(() => decode(text, Buffer.from('0a00'.repeat(200_000), 'hex'), 'M'), /maxSteps/)
    const closed = Array.from({ length: 4_000 }, (_, n) => `int32 f${n} = ${n + 1};`).join(' ')
    endsSoon(
      () => decode(`message M { oneof o { ${closed} } }`, Buffer.from('0801'.repeat(200_000), 'hex'), 'M'),
      /maxSteps/,
    )
    endsSoon(
      () =>
        decode(
          `syntax = "proto3"; ${text.replaceAll('optional ', '')}`,
          Buffer.from('0a00'.repeat(200_000), 'hex'),
          'M',
        ),
      /maxSteps|maxCreated/,
    )
  })

  test('many numbers in few bytes', () => {
    const payload = Buffer.concat([Buffer.from('8a0180808004', 'hex'), Buffer.alloc(8_388_608)])
    endsSoon(() => decode(source, payload, 'All'), /maxSteps|maxCreatedBytes/)
  })
})

describe('texts that are not a Protobuf schema', () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    [
      'message A {\n  int32 a 1;\n}',
      /^line 2, column 3: a field of proto2 begins with optional, required or repeated, not "int32"/,
    ],
    ['syntax = "proto3"; message A { int32 a 1; }', /^line 1, column 40: expected "=", not "1"/],
    ['syntax = "proto4";', /expected "proto2" or "proto3", not "proto4"/],
    ['syntax = "proto3"; message A { Missing a = 1; }', /^line 1, column 32: there is no type 'Missing'/],
    ['syntax = "proto3"; message A { int32 a = 0; }', /a field has a number from 1/],
    ['syntax = "proto3"; message A { int32 a = 19500; }', /except 19000 to 19999/],
    ['syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', /has the field number 1 twice/],
    ['syntax = "proto3"; message A { int32 a = 1; int32 a = 2; }', /has the field 'a' twice/],
    ['syntax = "proto3"; message A { required int32 a = 1; }', /proto3 has no required fields/],
    ['syntax = "proto3"; message A { map<bytes, int32> a = 1; }', /cannot have keys of the type 'bytes'/],
    ['syntax = "proto3"; import "google/protobuf/any.proto";', /without imports/],
    ['message A { optional group G = 1 {} }', /groups are not supported/],
    ['syntax = "proto3"; enum E { A = 1; } message M {}', /must be 0 in proto3/],
    ['syntax = "proto3"; message A {', /not the end of the text/],
    ['syntax = "proto3"; /* never ends', /unexpected character "\/"|expected/],
    ['syntax = "proto3"; message A { string s = 1 [x = "', /unexpected character/],
    ['enum E { A = 0; }', /defines no message/],
    ['', /defines no message/],
    ['message A {} message A {}', /the type 'A' is defined twice/],
    ['message A { '.repeat(150), /limit maxSchemaDepth/],
    [
      `syntax = "proto3"; message A { ${Array.from({ length: 11_000 }, (_, n) => `int32 f${n}=${n + 1};`).join('')} }`,
      /maxSchema/,
    ],
  ]
  for (const [text, fault] of faults) {
    test(`${text.slice(0, 60)} is refused with the position`, () => assert.match(faultOf('protobuf', text), fault))
  }

  test('hostile texts are refused quickly', () => {
    for (const text of [
      '/*'.repeat(100_000),
      `/*${'*'.repeat(200_000)}`,
      `"${'\\'.repeat(200_000)}`,
      '['.repeat(200_000),
    ]) {
      endsSoon(() => faultOf('protobuf', `message A { optional int32 a = 1 ${text}`), /line/)
    }
  })
})
