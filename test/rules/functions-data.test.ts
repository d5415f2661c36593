// Part E3 of the contract: arrays, maps, hashes, encodings, compression.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sampleHost } from './sample-host.ts'
import { checkExamples, outputOf, valueOf } from './evaluate.ts'

const data = { payload: '{"l":[1,2,3,4],"e":[],"m":{"a":{"b":1},"x.y":2,"n":null},"text":"{\\"a\\":5}"}' }

describe('E3 arrays', () => {
  test('nth, first and last outside of the array are errors', () => {
    checkExamples([
      ['nth(2, payload.l)', '2', data],
      ['nth(0, payload.l)', /the array has 4 elements/, data],
      ['nth(5, payload.l)', /nth: the array has 4 elements/, data],
      ['nth(-1, payload.l)', /nth/, data],
      ['first(payload.l)', '1', data],
      ['first(payload.e)', /first: the array has 0 elements/, data],
      ['last(payload.l)', '4', data],
      ['last(payload.e)', /last/, data],
      ['last(payload.m)', /list must be an array, not map/, data],
    ])
  })

  test('length sublist contains', () => {
    checkExamples([
      ['length(payload.l)', '4', data],
      ['length(payload.e)', '0', data],
      ["length('abc')", /must be an array, not text/],
      ['sublist(2, payload.l)', '[1,2]', data],
      ['sublist(9, payload.l)', '[1,2,3,4]', data],
      ['sublist(2, 2, payload.l)', '[2,3]', data],
      ['sublist(5, 2, payload.l)', '[]', data],
      ['sublist(0, 2, payload.l)', /start must be from 1/, data],
      ['sublist(-1, payload.l)', /length must be from 0/, data],
      ['contains(3, payload.l)', 'true', data],
      ['contains(3.0, payload.l)', 'false', data],
      ["contains('3', payload.l)", 'false', data],
      ['contains([1], [[1]])', 'true'],
    ])
  })
})

describe('E3 maps', () => {
  test('map_get and map_put take dotted paths', () => {
    checkExamples([
      ["map_get('a.b', payload.m)", '1', data],
      ["map_get('a.c', payload.m)", 'undefined', data],
      ["map_get('a.c', payload.m, 'none')", '"none"', data],
      ["map_get('n', payload.m, 7)", 'null', data],
      ["map_get('a', payload.text)", '5', data],
      ["map_get('a', 5)", 'undefined'],
      ["map_get('a', x1, 3)", '3'],
      ["map_put('a.c', 2, payload.m)", '{"a":{"b":1,"c":2},"x.y":2,"n":null}', data],
      ["map_put('a', 2, 5)", '{"a":2}'],
      ["map_put('a.b', 2, map_new())", '{"a":{"b":2}}'],
      ["map_put('a', x1, map_new())", '{}'],
      ["map_put('b', 1, payload.text)", '{"a":5,"b":1}', data],
      ["map_put('__proto__', 1, map_new())", '{"__proto__":1}'],
      ["map_get('constructor', map_new())", 'undefined'],
    ])
    const long = Array.from({ length: 65 }, () => 'k').join('.')
    assert.match(valueOf(`map_get('${long}', 1)`), /limit maxPathKeys is 64/)
  })

  test('mget and mput take plain keys', () => {
    checkExamples([
      ["mget('x.y', payload.m)", '2', data],
      ["mget('z', payload.m)", 'undefined', data],
      ["mget('z', payload.m, 1)", '1', data],
      ["mget('a', payload.text)", '5', data],
      ["mget('a', 5)", /map must be a map, not integer/],
      ["mput('x.y', 3, map_new())", '{"x.y":3}'],
      ["mput('a', 6, payload.text)", '{"a":6}', data],
      ["mput('a', 1, '[]')", /must be a map/],
    ])
  })

  test('map_keys map_values map_to_entries map_size', () => {
    const map = `mput('b', 2, mput('a', 1, map_new()))`
    checkExamples([
      [`map_keys(${map})`, '["a","b"]'],
      [`map_values(${map})`, '[1,2]'],
      [`map_to_entries(${map})`, '[{"key":"a","value":1},{"key":"b","value":2}]'],
      [`map_size(${map})`, '2'],
      ['map_size(map_new())', '0'],
      ['map_size(payload.text)', '1', data],
      ['map_keys([1])', /must be a map, not array/],
    ])
  })

  test('map_to_redis_hset_args leaves out what Redis cannot store', () => {
    const payload = '{"t":"x","i":1,"f":0.12345678,"b":true,"n":null,"l":[1],"m":{}}'
    assert.equal(valueOf('map_to_redis_hset_args(payload)', { payload }), '["t","x","i","1","f","0.123457","b","true"]')
  })
})

describe('E3 hashes', () => {
  test('lower case hexadecimal digits', () => {
    checkExamples([
      ["md5('some val')", '"1b68352b3e9c2de52ffd322e30bffcc4"'],
      ["sha('some val')", '"f85ba28ff5ea84a0cbfa118319acb0c5e58ee2b9"'],
      ["sha256('some val')", '"67f97635d8a0e064f60ba6e8846a0ac0be664f18f0c1dc6445cd3542d2b71993"'],
      ["hash('md5', 'some val')", '"1b68352b3e9c2de52ffd322e30bffcc4"'],
      ["hash('sha', 'some val') = hash('sha1', 'some val')", 'true'],
      ["strlen(hash('sha3_256', ''))", '64'],
      ["hash('rot13', 'x')", /algorithm rot13 is not known/],
      ['md5(1)', /data must be a text, not integer/],
    ])
  })
})

describe('E3 encodings', () => {
  test('base64', () => {
    checkExamples([
      ["base64_encode('hello')", '"aGVsbG8="'],
      ["base64_decode('aGVsbG8=')", '"hello"'],
      ["base64_decode('')", '""'],
      ["base64_decode('aGVs bG8=')", '"hello"'],
      ["base64_decode('/w==')", '{"$base64":"/w=="}'],
      ["base64_decode('aGVsbG8')", /not base64/],
      ["base64_decode('a*==')", /not base64/],
    ])
  })

  test('base62: one number, and a digit 0 for each zero byte at the beginning', () => {
    checkExamples([
      ["base62_encode('hello')", '"7tQLFHz"'],
      ["base62_encode('')", '""'],
      ['base62_encode(payload)', '"00z"', { payload: Buffer.from([0, 0, 61]) }],
      ['base62_encode(payload)', '"0"', { payload: Buffer.from([0]) }],
      ["base62_decode('7tQLFHz')", '"hello"'],
      [
        "base62_decode(base62_encode('a longer text, which takes several numbers')) ",
        '"a longer text, which takes several numbers"',
      ],
      ["base62_decode('00z')", '"\\u0000\\u0000="'],
      ["base62_decode('a-b')", /not base62/],
      ['base62_encode(payload)', /more than 16384 bytes/, { payload: Buffer.alloc(16_385, 1) }],
    ])
  })

  test('json_encode and json_decode', () => {
    checkExamples([
      ["json_encode([1, 2.0, 'x', null, true])", '"[1,2.0,\\"x\\",null,true]"'],
      ['json_encode(payload)', '"{\\"$base64\\":\\"/w==\\"}"', { payload: Buffer.from([0xff]) }],
      ['json_decode(\'{"a":[1,2.0]}\')', '{"a":[1,2.0]}'],
      ['json_decode(\'"x"\')', '"x"'],
      ["json_decode('{')", /not JSON/],
      ["json_decode('')", /not JSON/],
      ["json_decode('1.0 x')", /not JSON/],
      ["json_decode('[1.0,]')", /not JSON/],
      ['json_decode(\'{"a":1.0\')', /not JSON: it ends too early|not JSON/],
      ['json_decode(1)', /must be a text/],
      [`json_decode('${'['.repeat(600)}')`, /limit maxValueDepth is 256/],
    ])
  })

  test('hexadecimal digits', () => {
    checkExamples([
      ["bin2hexstr('ab')", '"6162"'],
      ["bin2hexstr('ab', '0x')", '"0x6162"'],
      ["bin2hexstr(subbits('a', 1, 4, 'bits'))", '"6"'],
      ["bin2hexstr(subbits('a', 2, 5, 'bits'))", '"18"'],
      ['bin2hexstr(1)', /must be a text/],
      ["sqlserver_bin2hexstr('ab')", '"0x6162"'],
      ["hexstr2bin('6162')", '"ab"'],
      ["bin2hexstr(hexstr2bin('6364f'))", '"06364F"'],
      ["hexstr2bin('0x61', '0x')", '"a"'],
      ["hexstr2bin('61', '0x')", /does not start with the prefix/],
      ["hexstr2bin('xx')", /not hexadecimal/],
      ["hexstr2bin('')", '""'],
    ])
  })

  test('compression', () => {
    checkExamples([
      ["gunzip(gzip('hello world'))", '"hello world"'],
      ["unzip(hexstr2bin('CB48CDC9C95728CF2FCA490100'))", '"hello world"'],
      ["unzip(zip('hello world'))", '"hello world"'],
      ["zip_uncompress(hexstr2bin('789CCB48CDC9C95728CF2FCA4901001A0B045D'))", '"hello world"'],
      ["zip_uncompress(zip_compress('x'))", '"x"'],
      ["gunzip('x')", /decompression failed/],
      ['gzip(1)', /data must be a text/],
    ])
  })

  test('terms of Erlang', () => {
    checkExamples([
      ["bin2hexstr(term_encode('a'))", '"836D0000000161"'],
      ['bin2hexstr(term_encode(1))', '"836101"'],
      ['bin2hexstr(term_encode(-1))', '"8362FFFFFFFF"'],
      ['bin2hexstr(term_encode(1.5))', '"83463FF8000000000000"'],
      ["term_decode(hexstr2bin('836B00020102'))", '[1,2]'],
      ["term_decode(hexstr2bin('8364000561746F6D21'))", '"atom!"'],
      ["term_decode(hexstr2bin('837704747275650'))", /term_decode/],
      ["term_decode(hexstr2bin('83770474727565'))", 'true'],
      ["term_decode('x')", /not an Erlang term/],
      ["term_decode(hexstr2bin('836D000000FF61'))", /ends too early/],
      ["term_decode(hexstr2bin('836CFFFFFFFF'))", /ends too early/],
      ["term_decode(hexstr2bin('83610161'))", /data after the term/],
    ])
    const value = `[1, -1, 300, 12345678901234567890, 1.5, 2.0, 'text', true, null, [], map_put('k', [1], map_new())]`
    assert.equal(valueOf(`term_decode(term_encode(${value}))`), valueOf(value))
  })

  test('schemas are found by name: see schemas/', () => {
    checkExamples([
      ["schema_decode('reading', schema_encode('reading', json_decode('{\"id\":5,\"t\":1}')))", '{"id":5,"t":1.0}'],
      ["schema_encode('person', json_decode('{\"age\":7}'), 'Person')", '"\\u0010\\u0007"'],
      ["schema_check('positive', '{\"t\":-1}')", 'false'],
      ['sparkplug_decode(sparkplug_encode(json_decode(\'{"seq":5}\')))', '{"seq":5,"metrics":[]}'],
      ["schema_check('missing', '')", /there is no schema "missing": add it to the schema registry/],
    ])
  })

  test('an error of the host ends only the evaluation', () => {
    const host = sampleHost({
      hash: () => {
        throw new SyntaxError('broken host')
      },
    })
    assert.match(outputOf('SELECT md5(\'x\') AS v FROM "t/#"', {}, host), /^error: SyntaxError/)
  })
})
