// Part E1 of the contract: the language.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkExamples, compileErrorOf, outputOf, valueOf } from './evaluate.ts'

const nested = { payload: { a: [{ b: 1 }, { b: 2 }, { b: 3 }], m: { x: 1, '1': 'one', 'my key': 2 }, n: null, end: 5 } }

describe('E1 statements', () => {
  test('SELECT fields FROM topics WHERE condition', () => {
    assert.equal(outputOf('SELECT qos, topic FROM "t/#" WHERE qos = 1'), '{"qos":1,"topic":"t/a"}')
    assert.equal(outputOf('SELECT qos FROM "t/#" WHERE qos = 2'), 'no match')
  })

  test('FOREACH fields DO fields INCASE condition FROM topics WHERE condition', () => {
    const sql = 'FOREACH payload.a DO item.b AS b, clientid INCASE item.b > 1 FROM "t/#" WHERE qos = 1'
    assert.equal(outputOf(sql, nested), '[{"b":2,"clientid":"c_sample"},{"b":3,"clientid":"c_sample"}]')
    assert.equal(outputOf(sql, { ...nested, qos: 0 }), 'no match')
  })

  test('FOREACH: the last expression is the array, earlier ones bind', () => {
    const sql = 'FOREACH qos + 1 AS n, payload.a AS e DO e.b * n AS v FROM "t/#"'
    assert.equal(outputOf(sql, nested), '[{"v":2},{"v":4},{"v":6}]')
  })

  test('FOREACH: something that is not an array has no items', () => {
    for (const array of ['payload.m', 'payload.missing', 'qos', "'[1]'"]) {
      assert.equal(outputOf(`FOREACH ${array} FROM "t/#"`, nested), '[]', array)
    }
  })

  test('FOREACH without DO gives all columns, aliases and the item', () => {
    const output = JSON.parse(outputOf('FOREACH 7 AS seven, [8] FROM "t/#"')) as Record<string, unknown>[]
    assert.equal(output.length, 1)
    assert.equal(output[0]['item'], 8)
    assert.equal(output[0]['seven'], 7)
    assert.equal(output[0]['topic'], 't/a')
  })

  test('the array of FOREACH has its alias in WHERE, the item has it afterwards', () => {
    assert.equal(outputOf('FOREACH [1, 2] AS e DO e AS v FROM "t/#" WHERE length(e) = 2'), '[{"v":1},{"v":2}]')
  })

  test('an alias in DO ends with its item', () => {
    const sql = 'FOREACH [1, 2] AS e DO CASE WHEN e = 1 THEN 7 END AS x, x AS y FROM "t/#"'
    assert.equal(outputOf(sql), '[{"x":7,"y":7},{}]')
  })

  test('* is allowed at any position, and later fields replace columns', () => {
    const before = JSON.parse(outputOf('SELECT 9 AS qos, * FROM "t/#"')) as Record<string, unknown>
    const after = JSON.parse(outputOf('SELECT *, 9 AS qos FROM "t/#"')) as Record<string, unknown>
    for (const output of [before, after]) {
      assert.equal(output['qos'], 9)
      assert.equal(output['clientid'], 'c_sample')
      assert.deepEqual(output['metadata'], { rule_id: 'sql_test' })
    }
  })

  test('AS is optional', () => {
    assert.equal(
      outputOf('SELECT qos q, [1..2] r, topic "the topic" FROM "t/#"'),
      '{"q":1,"r":[1,2],"the topic":"t/a"}',
    )
  })

  test('CASE without ELSE is undefined', () => {
    checkExamples([
      ["CASE WHEN qos = 1 THEN 'one' END", '"one"'],
      ["CASE WHEN qos = 2 THEN 'two' END", 'undefined'],
      ["CASE WHEN qos = 2 THEN 'two' WHEN qos = 1 THEN 'one' ELSE 'other' END", '"one"'],
      ["CASE qos WHEN 1 THEN 'one' ELSE 'other' END", '"one"'],
      ["CASE qos WHEN 1.0 THEN 'float' ELSE 'other' END", '"other"'],
      ['CASE WHEN qos THEN 1 ELSE 2 END', '2'],
    ])
  })

  test('fields are evaluated before WHERE: their errors count', () => {
    assert.match(outputOf('SELECT 1 / 0 AS x FROM "t/#" WHERE false'), /^error: division by zero/)
  })

  test('later fields and WHERE see aliases first', () => {
    assert.equal(outputOf('SELECT 5 AS qos, qos + 1 AS n FROM "t/#" WHERE qos = 5'), '{"qos":5,"n":6}')
    assert.equal(outputOf('SELECT payload.missing AS qos, qos AS n FROM "t/#"', nested), '{"n":1}')
    assert.equal(outputOf('SELECT 1 AS a.b, 2 AS a.c, a AS d FROM "t/#"'), '{"a":{"b":1,"c":2},"d":{"b":1,"c":2}}')
  })

  test('several sources', () => {
    const sql = 'SELECT event FROM "a/#", "t/+", "$events/client_connected"'
    assert.equal(outputOf(sql, { topic: 't/1' }), '{"event":"message.publish"}')
    assert.equal(outputOf(sql, { topic: 'x' }), 'no match')
    assert.equal(outputOf(sql, { event: 'client.connected' }), '{"event":"client.connected"}')
  })

  test('$bridges/mqtt:NAME', () => {
    assert.equal(outputOf('SELECT server FROM "$bridges/mqtt:north"'), '{"server":"broker.example:1883"}')
    assert.match(compileErrorOf('SELECT * FROM "$bridges/mqtt"').message, /is not a bridge/)
  })
})

describe('E1 precedence', () => {
  test('OR, AND, NOT, comparison and IN, + -, * / div mod, unary', () => {
    checkExamples([
      ['1 + 2 * 3', '7'],
      ['(1 + 2) * 3', '9'],
      ['7 - 2 - 1', '4'],
      ['2 * 7 div 3', '4'],
      ['2 * 7 mod 3', '2'],
      ['-2 * 3', '-6'],
      ['-2 + 3', '1'],
      ['2 - -1', '3'],
      ['1 + 1 = 2', 'true'],
      ['true OR false AND false', 'true'],
      ['NOT false AND false', 'false'],
      ['NOT 1 = 2', 'true'],
      ['1 IN (1, 2) AND 2 NOT IN (3)', 'true'],
      ['1 < 2 OR 1 / 0 > 1', 'true'],
      ['1 > 2 AND 1 / 0 > 1', 'false'],
    ])
  })

  test('comparisons do not chain', () => {
    assert.match(compileErrorOf('SELECT 1 = 1 = 1 FROM "t/#"').summary, /comparisons do not chain/)
    assert.match(compileErrorOf('SELECT 1 < 2 IN (1) FROM "t/#"').summary, /comparisons do not chain/)
  })

  test('[NOT] IN is strict, without conversion, and not empty', () => {
    checkExamples([
      ['1 IN (1.0)', 'false'],
      ["1 IN ('1')", 'false'],
      ['[1] IN ([1])', 'true'],
      ['payload.missing IN (payload.other)', 'true', nested],
      ['1 NOT IN (1)', 'false'],
    ])
    assert.match(compileErrorOf('SELECT 1 IN () FROM "t/#"').message, /cannot be empty/)
  })

  test('div and mod truncate; the sign is that of the dividend', () => {
    checkExamples([
      ['7 div 2', '3'],
      ['-7 div 2', '-3'],
      ['-7 mod 3', '-1'],
      ['7 mod -3', '1'],
      ['div(-7, 2)', '-3'],
      ['mod(-7, 3)', '-1'],
      ['7 mod 0', /division by zero/],
      ['7 div 0', /division by zero/],
      ['5.5 div 2', /div requires integers/],
    ])
  })
})

describe('E1 lexis', () => {
  test('keywords in any case, comments, line ends', () => {
    const sql = 'sElEcT qos -- the QoS\r\n  aS q -- "unclosed\nfrom "t/#" wHeRe qos in (1) -- end'
    assert.equal(outputOf(sql), '{"q":1}')
  })

  test("texts: '' is one quote, nothing else is an escape", () => {
    checkExamples([
      ["'it''s'", '"it\'s"'],
      ["''", '""'],
      ["'a\\n'", '"a\\\\n"'],
      ['\'say "x"\'', '"say \\"x\\""'],
    ])
  })

  test('"…" outside FROM is a name; FROM takes both quotes or a bare word', () => {
    assert.equal(outputOf('SELECT "qos" AS "a b" FROM \'t/#\''), '{"a b":1}')
    assert.equal(outputOf('SELECT qos FROM abc', { topic: 'abc' }), '{"qos":1}')
    assert.match(compileErrorOf('SELECT qos FROM a/b').hint, /double quotes/)
  })

  test('names [A-Za-z][\\w$@~]*', () => {
    assert.equal(outputOf('SELECT 1 AS a$b@c~d_9, a$b@c~d_9 + 1 AS x FROM "t/#"'), '{"a$b@c~d_9":1,"x":2}')
    assert.match(compileErrorOf('SELECT _a FROM "t/#"').summary, /unexpected character/)
  })

  test('~= is =~', () => {
    checkExamples([
      ["topic =~ 't/+'", 'true'],
      ["topic ~= 't/#'", 'true'],
      ["topic =~ 'x/#'", 'false'],
      ["'$SYS/a' =~ '#'", 'false'],
      ["payload.missing =~ '#'", 'false', nested],
      ["1 =~ '#'", /requires a topic/],
      ['1 != 2', 'true'],
      ['1 <> 1', 'false'],
    ])
  })
})

describe('E1 values', () => {
  test('integers are exact', () => {
    checkExamples([
      ['9007199254740993 + 1', '9007199254740994'],
      ['payload.i * 10', '123456789012345678900', { payload: '{"i":12345678901234567890}' }],
      ['9007199254740991 + 1', '9007199254740992'],
      ['- 9007199254740993', '-9007199254740993'],
      ['9007199254740993 = 9007199254740992', 'false'],
    ])
  })

  test('floats: 1.0, results of /, JSON 2.0; as text with at most 10 decimals', () => {
    checkExamples([
      ['1.0', '1.0'],
      ['4 / 2', '2.0'],
      ['is_float(payload.f)', 'true', { payload: '{"f":2.0}' }],
      ['is_int(payload.f)', 'true', { payload: '{"f":2}' }],
      ["payload.f + ''", '"2.0"', { payload: '{"f":2.0}' }],
      ['str(1 / 3)', '"0.3333333333"'],
      ['str(0.5)', '"0.5"'],
      ['str(1e3)', '"1000.0"'],
      ['str(1e-12)', '"0.0"'],
      ['str(1e22)', '"10000000000000000000000.0"'],
      ['1.0 = 1', 'true'],
      ['payload.z / 2', '0.0', { payload: '{"z":-0}' }],
      ['0.1 + 0.2', '0.30000000000000004'],
      ['1.5 + 1.5', '3.0'],
    ])
    assert.match(compileErrorOf('SELECT 1e400 FROM "t/#"').summary, /too large/)
  })

  test('JSON keeps types: null, booleans, arrays, objects, large and negative zero numbers', () => {
    const text = '{"a":[1,2.5,-0,1e2,null,true],"b":{"c":"\\u00e9"},"d":12345678901234567890}'
    assert.equal(
      outputOf('SELECT payload.a AS a, payload.b AS b, payload.d AS d FROM "t/#"', { payload: text }),
      '{"a":[1,2.5,0,100.0,null,true],"b":{"c":"é"},"d":12345678901234567890}',
    )
  })

  test('texts are bytes: a payload that is not UTF-8 passes unchanged', () => {
    const payload = Buffer.from([0xff, 0x00, 0x61])
    assert.equal(valueOf('payload', { payload }), '{"$base64":"/wBh"}')
    assert.equal(valueOf('bytesize(payload)', { payload }), '3')
    assert.equal(valueOf("bin2hexstr(payload + 'é')", { payload }), '"FF0061C3A9"')
    assert.match(valueOf('upper(payload)', { payload }), /not valid UTF-8/)
    assert.equal(valueOf('upper(payload)', { payload: Buffer.from('aé') }), '"AÉ"')
    assert.equal(valueOf("payload = 'é'", { payload: Buffer.from('é') }), 'true')
  })
})

describe('E1 paths', () => {
  test('keys, quoted keys, numbers as keys, positions from both ends', () => {
    checkExamples([
      ['payload.m.x', '1', nested],
      ["payload.m.'my key'", '2', nested],
      ['payload.m."my key"', '2', nested],
      ['payload.m.1', '"one"', nested],
      ['payload.end', '5', nested],
      ['payload._id', '7', { payload: { _id: 7 } }],
      ['payload.a[1].b', '1', nested],
      ['payload.a[-1].b', '3', nested],
      ['payload.a[qos].b', '1', nested],
      ['payload.a[payload.m.x + 1].b', '2', nested],
      ['payload.a[0]', 'undefined', nested],
      ['payload.a[-0]', 'undefined', nested],
      ['payload.a[4]', 'undefined', nested],
      ['payload.a[-4]', 'undefined', nested],
      ['payload.a.b', 'undefined', nested],
      ['payload.m[1]', 'undefined', nested],
      ['payload.n.x', 'undefined', nested],
      ['payload[2]', '5', { payload: '[4,5]' }],
    ])
  })

  test('members of JavaScript objects are not columns or keys', () => {
    checkExamples([
      ['payload.constructor', 'undefined', nested],
      ['payload.__proto__', 'undefined', nested],
      ['payload.a.length', 'undefined', nested],
      ['constructor', 'undefined'],
      ['payload.__proto__.x', '1', { payload: '{"__proto__":{"x":1}}' }],
    ])
    assert.equal(outputOf('SELECT 1 AS "__proto__".x, x FROM "t/#"'), '{"__proto__":{"x":1}}')
  })

  test('ranges', () => {
    checkExamples([
      ['payload.a[2..3]', '[{"b":2},{"b":3}]', nested],
      ['payload.a[-2..-1]', '[{"b":2},{"b":3}]', nested],
      ['payload.a[2..9]', '[{"b":2},{"b":3}]', nested],
      ['payload.a[3..2]', '[]', nested],
      ['payload.m[1..2]', /requires an array, not map/, nested],
      ['[1..4]', '[1,2,3,4]'],
      ['[-1..1]', '[-1,0,1]'],
      ['[2..1]', '[]'],
      ['[3..1]', /is descending/],
      ["[1, qos, 'c', [2]]", '[1,1,"c",[2]]'],
      ['[]', '[]'],
    ])
    assert.match(compileErrorOf('SELECT payload.a[1..2].b FROM "t/#"').summary, /a range is the end of a path/)
    assert.match(compileErrorOf('SELECT payload.a[0..2] FROM "t/#"').summary, /no position 0/)
    assert.match(compileErrorOf('SELECT 1 AS a[1..2] FROM "t/#"').summary, /a range cannot be a target/)
  })

  test('a path into a text opens it as JSON', () => {
    checkExamples([
      ['payload.s.x', '1', { payload: { s: '{"x":1}' } }],
      ['payload.s[2]', '6', { payload: { s: '[5,6]' } }],
      ['payload.s.x', 'undefined', { payload: { s: 'no JSON' } }],
      ['clientid.x', '2', { clientid: '{"x":2}' }],
    ])
  })

  test('payload.x where the payload is not JSON or empty is an error; a missing key is undefined', () => {
    checkExamples([
      ['payload.x', /the payload is not JSON/, { payload: 'hello' }],
      ['payload.x', /the payload is empty/, { payload: '' }],
      ['payload.x', /the payload is not JSON: not valid UTF-8/, { payload: Buffer.from([0xff]) }],
      ['payload.x', 'undefined', { payload: '{}' }],
      ['payload.x', 'undefined', { payload: '5' }],
    ])
  })

  test('aliases with positions: [-0] appends, [0] prepends, beyond the end no change, a non-array becomes one', () => {
    const cases: [string, string][] = [
      ['[1, 2] AS c, 3 AS c[-0]', '[1,2,3]'],
      ['[1, 2] AS c, 3 AS c[0]', '[3,1,2]'],
      ['[1, 2] AS c, 3 AS c[1]', '[3,2]'],
      ['[1, 2] AS c, 3 AS c[-1]', '[1,3]'],
      ['[1, 2] AS c, 3 AS c[3]', '[1,2]'],
      ['[1, 2] AS c, 3 AS c[-3]', '[1,2]'],
      ['5 AS c, 3 AS c[2]', '[3]'],
      ['1 AS c[-0], 2 AS c[-0], c[2] + 1 AS c[-0]', '[1,2,3]'],
      ['[1] AS c, 2 AS c[1].x', '[{"x":2}]'],
    ]
    for (const [fields, expected] of cases) {
      assert.equal(outputOf(`SELECT ${fields} FROM "t/#"`), `{"c":${expected}}`, fields)
    }
  })

  test('without alias the path stays, and a text names itself', () => {
    assert.equal(outputOf('SELECT payload.m.x, payload.end FROM "t/#"', nested), '{"payload":{"m":{"x":1},"end":5}}')
    assert.equal(outputOf('SELECT \'x\', 1, 1.50, qos + 1 FROM "t/#"'), '{"1":1,"x":"x","1.5":1.5,"qos + 1":2}')
    assert.equal(outputOf('SELECT payload.a[2..3] FROM "t/#"', nested), '{"payload":{"a":[{"b":2},{"b":3}]}}')
  })

  test('a put into a column does not change the column of other rules', () => {
    assert.equal(
      outputOf('SELECT 9 AS payload.m.x, payload.end AS e FROM "t/#"', nested),
      '{"payload":{"m":{"x":9}},"e":5}',
    )
  })
})

describe('E1 operators', () => {
  test('+ adds numbers, else joins if one side is a text', () => {
    checkExamples([
      ["'a' + 1", '"a1"'],
      ["1.0 + 'a'", '"1.0a"'],
      ["'a' + payload.missing", '"aundefined"', nested],
      ["'a' + null", '"anull"'],
      ["'a' + true", '"atrue"'],
      ["'a' + [1, 2.0]", '"a[1,2.0]"'],
      ['1 + true', /\+ requires numbers/],
      ['1 + payload.missing', /\+ requires numbers/, nested],
      ["'a' - 1", /- requires numbers, not text and integer/],
      ["-'1'", /a sign requires a number/],
      ['1 / 0', /division by zero/],
      ['1 / 0.0', /division by zero/],
      ['1e308 * 10', /not a finite number/],
    ])
  })

  test('comparison: both undefined are equal, one undefined is false for all', () => {
    const examples = ['=', '<>', '<', '<=', '>', '>='].map((operator) => [`x1 ${operator} 1`, 'false'] as const)
    checkExamples(examples)
    checkExamples([
      ['x1 = y1', 'true'],
      ['x1 <> y1', 'false'],
      ['x1 <= y1', 'true'],
      ['x1 < y1', 'false'],
    ])
  })

  test('comparison of a number with a text is numeric; boolean and null with a text are texts', () => {
    checkExamples([
      ["1 = '1.0'", 'true'],
      ["'10' > 9", 'true'],
      ["1 = 'x'", /compared with a text that is not a number/],
      ["1 < ''", /not a number/],
      ["true = 'true'", 'true'],
      ["'null' = payload.n", 'true', nested],
      ["'b' > 'a'", 'true'],
      ["'10' > '9'", 'false'],
      ['payload.n = null', 'true', nested],
      ['payload.missing = null', 'false', nested],
      ['[1, 2] = [1, 2.0]', 'true'],
      ['payload.m = payload.m', 'true', nested],
      ['[1] < [2]', 'true'],
      ['[1, 2] > [1]', 'true'],
      ["'\u{1f600}' > '\uffee'", 'true'],
    ])
  })

  test('NOT of a non-boolean is false, and conditions take only true', () => {
    checkExamples([
      ['NOT 1', 'false'],
      ['NOT x1', 'false'],
      ["NOT 'false'", 'false'],
      ['NOT true', 'false'],
      ['NOT false', 'true'],
      ['1 AND true', 'false'],
      ['1 OR true', 'true'],
    ])
    assert.equal(outputOf('SELECT qos FROM "t/#" WHERE qos'), 'no match')
  })
})
