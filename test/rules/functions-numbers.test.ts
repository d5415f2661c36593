// Part E3 of the contract: arithmetic, kinds, conversion, bits.

import { describe, test } from 'node:test'
import { checkExamples } from './evaluate.ts'

const outOfDomain = /not a finite number/

describe('E3 arithmetic', () => {
  test('abs takes integers only', () => {
    checkExamples([
      ['abs(-12)', '12'],
      ['abs(0)', '0'],
      ['abs(-9007199254740993)', '9007199254740993'],
      ['abs(-1.5)', /abs: x must be an integer, not float/],
      ["abs('1')", /must be an integer, not text/],
    ])
  })

  test('`ceil`, `floor` and `round` give integers; halves are rounded away from zero', () => {
    checkExamples([
      ['ceil(1.34)', '2'],
      ['ceil(-1.34)', '-1'],
      ['ceil(-0.5)', '0'],
      ['floor(1.34)', '1'],
      ['floor(-1.34)', '-2'],
      ['floor(7)', '7'],
      ['floor(1e30)', '1000000000000000019884624838656'],
      ['round(1.5)', '2'],
      ['round(-1.5)', '-2'],
      ['round(2.5)', '3'],
      ['round(0.49999999999999994)', '0'],
      ['round(9007199254740993)', '9007199254740993'],
    ])
  })

  test('functions of floats, and their domains', () => {
    checkExamples([
      ['sqrt(2)', '1.4142135623730951'],
      ['sqrt(4)', '2.0'],
      ['sqrt(-1)', outOfDomain],
      ['exp(0)', '1.0'],
      ['exp(1000)', outOfDomain],
      ['power(2, 10)', '1024.0'],
      ['power(2, 0.5)', '1.4142135623730951'],
      ['power(10, 400)', outOfDomain],
      ['power(-8, 0.5)', outOfDomain],
      ['log(1)', '0.0'],
      ['log(0)', outOfDomain],
      ['log2(1024)', '10.0'],
      ['log10(1000)', '3.0'],
      ['fmod(-32, 5)', '-2.0'],
      ['fmod(5.5, 2)', '1.5'],
      ['fmod(1, 0)', outOfDomain],
      ['sin(0.5)', '0.479425538604203'],
      ['cos(0)', '1.0'],
      ['round(tan(1.4) * 1000)', '5798'],
      ['asin(0)', '0.0'],
      ['asin(2)', outOfDomain],
      ['acos(1)', '0.0'],
      ['acos(-2)', outOfDomain],
      ['atan(0)', '0.0'],
      ['sinh(0)', '0.0'],
      ['cosh(0)', '1.0'],
      ['tanh(0)', '0.0'],
      ['asinh(0.5)', '0.48121182505960347'],
      ['acosh(1)', '0.0'],
      ['acosh(0)', outOfDomain],
      ['atanh(0)', '0.0'],
      ['atanh(1)', outOfDomain],
      ['random()', '0.25'],
      ['div(-7, 2)', '-3'],
      ['mod(-7, 2)', '-1'],
      ['div(7.5, 2)', /div: x must be an integer/],
    ])
  })

  test('eq compares without conversion', () => {
    checkExamples([
      ['eq(1, 1.0)', 'true'],
      ["eq(1, '1')", 'false'],
      ['eq([1, [2]], [1, [2.0]])', 'true'],
      ['eq(x1, y1)', 'true'],
      ['eq(x1, null)', 'false'],
    ])
  })

  test('integers have a limit', () => {
    checkExamples([
      ['bitsl(1, 4096)', '1' + String(1n << 4096n).slice(1)],
      ['bitsl(1, 4097)', /limit maxIntegerBits is 4096/],
      ['bitsl(1, 4096) * 2', /limit maxIntegerBits is 4096/],
      ['int(float2str(1e300, 1)) + 1 > 0', 'true'],
      ['bitsl(1, 4096) / 2', /too large for a float/],
    ])
  })
})

describe('E3 kinds', () => {
  const payload = { payload: '{"n":null,"o":{},"a":[],"t":"","s":"x","f":2.0,"i":2,"b":true,"e":"{}"}' }
  const cases: [name: string, trueFor: string[]][] = [
    ['is_str', ['t', 's', 'e']],
    ['is_bool', ['b']],
    ['is_int', ['i']],
    ['is_float', ['f']],
    ['is_num', ['f', 'i']],
    ['is_map', ['o']],
    ['is_array', ['a']],
    ['is_null', ['missing']],
    ['is_null_var', ['missing', 'n']],
    ['is_not_null', ['n', 'o', 'a', 't', 's', 'f', 'i', 'b', 'e']],
    ['is_not_null_var', ['o', 'a', 't', 's', 'f', 'i', 'b', 'e']],
    ['is_empty', ['o', 'a', 't', 'e']],
  ]
  for (const [name, trueFor] of cases) {
    test(`${name} is true for ${trueFor.join(', ')} only`, () => {
      for (const key of ['n', 'o', 'a', 't', 's', 'f', 'i', 'b', 'e', 'missing']) {
        checkExamples([[`${name}(payload.${key})`, String(trueFor.includes(key)), payload]])
      }
    })
  }
})

describe('E3 conversion', () => {
  test('str, str_utf8, str_utf16_le', () => {
    checkExamples([
      ['str(1234)', '"1234"'],
      ['str(2.0)', '"2.0"'],
      ['str(true)', '"true"'],
      ['str(null)', '"null"'],
      ['str(x1)', '"undefined"'],
      ["str([1, 'a'])", '"[1,\\"a\\"]"'],
      ['str(map_new())', '"{}"'],
      ["str_utf8('é')", '"é"'],
      ['str_utf8(payload)', /not valid UTF-8/, { payload: Buffer.from([0xff]) }],
      ["bin2hexstr(str_utf16_le('aé'))", '"6100E900"'],
      ['bin2hexstr(str_utf16_le(1))', '"3100"'],
      ["str(subbits('a', 1, 3, 'bits'))", /sequence of bits has no text form/],
    ])
  })

  test('bool', () => {
    checkExamples([
      ['bool(1)', 'true'],
      ['bool(0.0)', 'false'],
      ["bool('true')", 'true'],
      ["bool('false')", 'false'],
      ['bool(false)', 'false'],
      ['bool(3)', /bool/],
      ["bool('yes')", /bool/],
      ['bool(null)', /bool/],
    ])
  })

  test('int rounds down', () => {
    checkExamples([
      ['int(1.9)', '1'],
      ['int(-1.1)', '-2'],
      ["int('1234')", '1234'],
      ["int('1.9')", '1'],
      ["int('-1.1')", '-2'],
      ["int('+5')", '5'],
      ["int('12345678901234567890')", '12345678901234567890'],
      ['int(true)', '1'],
      ['int(false)', '0'],
      ["int('a')", /not a number/],
      ["int('')", /not a number/],
      ["int(' 1')", /not a number/],
      ['int(null)', /null is not a number/],
    ])
  })

  test('float and float2str', () => {
    checkExamples([
      ['float(1)', '1.0'],
      ["float('3.14')", '3.14'],
      ["float('3')", '3.0'],
      ['float(3.14159, 2)', '3.14'],
      ['float(2.0, 3)', '2.0'],
      ['float(1, 0)', /decimals must be from 1 to 100/],
      ['float(true)', /boolean is not a number/],
      ['float2str(20.2, 1)', '"20.2"'],
      ['float2str(20.2, 10)', '"20.2"'],
      ['float2str(20.2, 15)', '"20.199999999999999"'],
      ['float2str(20.2, 16)', '"20.1999999999999993"'],
      ['float2str(2.0, 5)', '"2.0"'],
      ['float2str(2, 5)', '"2.0"'],
      ['float2str(1.0, 101)', /decimals must be from 0 to 100/],
    ])
  })

  test('map', () => {
    checkExamples([
      ['map(\'{"a":1}\')', '{"a":1}'],
      ["map(map_put('a', 1, map_new()))", '{"a":1}'],
      ["map('[1]')", /must be a map/],
      ["map('a')", /must be a map/],
      ['map(1)', /must be a map, not integer/],
    ])
  })
})

describe('E3 bits', () => {
  test('bitand bitor bitxor bitnot bitsl bitsr', () => {
    checkExamples([
      ['bitand(12, 10)', '8'],
      ['bitor(12, 10)', '14'],
      ['bitxor(12, 10)', '6'],
      ['bitnot(5)', '-6'],
      ['bitand(-1, 255)', '255'],
      ['bitsl(1, 40)', '1099511627776'],
      ['bitsl(8, -2)', '2'],
      ['bitsr(8, 2)', '2'],
      ['bitsr(-8, 1)', '-4'],
      ['bitsr(1, 100000)', '0'],
      ['bitsr(8, -1)', '16'],
      ['bitand(1.0, 1)', /must be an integer, not float/],
    ])
  })

  test('bitsize and bytesize', () => {
    checkExamples([
      ["bitsize('a')", '8'],
      ["bitsize('é')", '16'],
      ["bitsize(subbits('a', 1, 3, 'bits'))", '3'],
      ['bitsize(1)', /must be a text, not integer/],
      ["bytesize('é')", '2'],
      ["bytesize('')", '0'],
    ])
  })

  test('subbits: start 1, integer, unsigned, big by default; undefined beyond the end', () => {
    const bytes = { payload: Buffer.from([0xff, 0x01, 0x80]) }
    checkExamples([
      ['subbits(payload, 3)', '7', bytes],
      ['subbits(payload, 9, 8)', '1', bytes],
      ['subbits(payload, 2, 8)', '254', bytes],
      ['subbits(payload, 1, 12)', '4080', bytes],
      ['subbits(payload, 17, 99)', '128', bytes],
      ['subbits(payload, 25, 1)', 'undefined', bytes],
      ['subbits(payload, 0, 1)', 'undefined', bytes],
      ['subbits(payload, 1, 0)', '0', bytes],
      ['subbits(payload, 1, -1)', /length must be from 0/, bytes],
      ["subbits(payload, 1, 8, 'integer')", '255', bytes],
      ["subbits(payload, 1, 8, 'integer', 'signed')", '-1', bytes],
      ["subbits(payload, 9, 16, 'integer', 'signed', 'big')", '384', bytes],
      ["subbits(payload, 9, 16, 'integer', 'unsigned', 'little')", '32769', bytes],
      ["subbits(payload, 9, 16, 'integer', 'signed', 'little')", '-32767', bytes],
      ["subbits(payload, 1, 12, 'integer', 'unsigned', 'little')", '255', bytes],
      ["subbits(payload, 9, 12, 'integer', 'unsigned', 'little')", '2049', bytes],
      ["bin2hexstr(subbits(payload, 9, 16, 'bits'))", '"0180"', bytes],
      ["bin2hexstr(subbits(payload, 9, 12, 'bits'))", '"018"', bytes],
      ["subbits(payload, 1, 8, 'text')", /type must be one of: integer, float, bits/, bytes],
      ["subbits(payload, 1, 8, 'integer', 'signed', 'middle')", /endianness/, bytes],
      ["subbits(subbits(payload, 5, 12, 'bits'), 1, 12)", '3841', bytes],
    ])
  })

  test('subbits reads floats of 16, 32 and 64 bits', () => {
    const double = Buffer.alloc(8)
    double.writeDoubleBE(-5.25)
    const single = Buffer.alloc(4)
    single.writeFloatLE(1.5)
    checkExamples([
      ["subbits(payload, 1, 64, 'float')", '-5.25', { payload: double }],
      ["subbits(payload, 1, 32, 'float', 'signed', 'little')", '1.5', { payload: single }],
      ["subbits(payload, 1, 16, 'float')", '-2.0', { payload: Buffer.from([0xc0, 0x00]) }],
      ["subbits(payload, 1, 16, 'float')", /not a finite number/, { payload: Buffer.from([0x7c, 0x00]) }],
      ["subbits(payload, 1, 24, 'float')", /16, 32 or 64 bits, not 24/, { payload: double }],
    ])
  })
})
