// Part E3 of the contract: time, message, conditions, stored values, jq. See sample-host.ts for time and zone.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { functionSubjects, functionTable } from '../../src/rules/index.ts'
import { checkExamples, compileErrorOf, outputOf, valueOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'

describe('E3 time', () => {
  test('now_timestamp and now_rfc3339', () => {
    checkExamples([
      ['now_timestamp()', '1708703790'],
      ["now_timestamp('second')", '1708703790'],
      ["now_timestamp('millisecond')", '1708703790123'],
      ["now_timestamp('microsecond')", '1708703790123456'],
      ["now_timestamp('nanosecond')", '1708703790123456789'],
      ["now_timestamp('hour')", /time unit must be second/],
      ['now_rfc3339()', '"2024-02-23T16:56:30+01:00"'],
      ["now_rfc3339('microsecond')", '"2024-02-23T16:56:30.123456+01:00"'],
    ])
  })

  test('unix_ts_to_rfc3339 and rfc3339_to_unix_ts', () => {
    checkExamples([
      ['unix_ts_to_rfc3339(0)', '"1970-01-01T01:00:00+01:00"'],
      ["unix_ts_to_rfc3339(1708703790123, 'millisecond')", '"2024-02-23T16:56:30.123+01:00"'],
      ['unix_ts_to_rfc3339(-3601)', '"1969-12-31T23:59:59+01:00"'],
      ['unix_ts_to_rfc3339(99999999999999)', /outside of the years/],
      ["rfc3339_to_unix_ts('2024-02-23T15:56:30Z')", '1708703790'],
      ["rfc3339_to_unix_ts('2024-02-23T15:56:30+08:00')", '1708674990'],
      ["rfc3339_to_unix_ts('2024-02-23 15:56:30.87z', 'millisecond')", '1708703790870'],
      ["rfc3339_to_unix_ts('1969-12-31T23:59:59.5Z')", '-1'],
      ["rfc3339_to_unix_ts('2024-02-30T00:00:00Z')", /no such date/],
      ["rfc3339_to_unix_ts('2024-02-23T25:00:00Z')", /no such date/],
      ["rfc3339_to_unix_ts('2023-02-29T00:00:00Z')", /no such date/],
      ["rfc3339_to_unix_ts('2000-02-29T00:00:00Z')", '951782400'],
      ["rfc3339_to_unix_ts('2024-02-23')", /not a time of RFC 3339/],
    ])
  })

  test('format_date', () => {
    checkExamples([
      ["format_date('second', '+08:00', '%Y-%m-%d %H:%M:%S%:z')", '"2024-02-23 23:56:30+08:00"'],
      ["format_date('second', 'local', '%H %z')", '"16 +0100"'],
      ["format_date('nanosecond', 'Z', '%N|%6N|%3N')", '"123456789|123456|123"'],
      ["format_date('millisecond', '-02:30', '%Y%m%d%H%M%S.%3N%::z', 1708703790123)", '"20240223132630.123-02:30:00"'],
      ["format_date('second', 3600, '%z', 0)", '"+0100"'],
      ["format_date('second', x1, '%H:%M', 60)", '"00:01"'],
      ["format_date('second', '+08', '%H', 0)", '"08"'],
      ["format_date('second', '+08:00:30', '%S %::z', 0)", '"30 +08:00:30"'],
      ["format_date('second', 'Z', '100% %d of %%Y', 0)", '"100% 01 of %1970"'],
      ["format_date('second', '8', '%H')", /offset must be Z, local/],
      ["format_date('second', '+25:00', '%H')", /offset must be/],
      ["format_date('minute', 'Z', '%H')", /time unit/],
      ["format_date('minute', 'Z', '%H', 1)", /time unit/],
    ])
  })

  test('date_to_unix_ts', () => {
    checkExamples([
      ["date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S', '2024-02-23 15:56:30')", '1708703790'],
      ["date_to_unix_ts('second', '+08:00', '%Y-%m-%d %H:%M:%S', '2024-02-23 15:56:30')", '1708674990'],
      ["date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S%:z', '2024-02-23 15:56:30+08:00')", '1708674990'],
      ["date_to_unix_ts('millisecond', '%Y-%m-%d %H:%M:%S.%3N', '2024-02-23 15:56:30.123')", '1708703790123'],
      ["date_to_unix_ts('nanosecond', '%Y%m%d%H%M%S%N', '20240223155630123456789')", '1708703790123456789'],
      ["date_to_unix_ts('second', '%Y-%m-%d %H-%M-%S', '2024-02-23 15:56:30')", '1708703790'],
      ["date_to_unix_ts('second', '%Y-%m-%d', '2024-02-23')", /the date has no %H/],
      ["date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S', '2024-02-23 15:56')", /the date has no %S/],
      ["date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S', '2024-2-23 15:56:30')", /does not fit the format at %m/],
      ["date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S', '2024-13-23 15:56:30')", /no such date/],
    ])
  })

  test('timezone_to_offset_seconds and timezone_to_second; undefined is 0', () => {
    for (const name of ['timezone_to_offset_seconds', 'timezone_to_second']) {
      checkExamples([
        [`${name}('+08:00')`, '28800'],
        [`${name}('-0130')`, '-5400'],
        [`${name}('+08')`, '28800'],
        [`${name}('-08:00:01')`, '-28801'],
        [`${name}('z')`, '0'],
        [`${name}('local')`, '3600'],
        [`${name}(60)`, '60'],
        [`${name}(x1)`, '0'],
        [`${name}('CET')`, /offset must be/],
        [`${name}(1.5)`, /offset must be.*not float/],
      ])
    }
  })

  test('mongo_date', () => {
    checkExamples([
      ['mongo_date()', '"ISODate(2024-02-23T15:56:30.123Z)"'],
      ['mongo_date(0)', '"ISODate(1970-01-01T00:00:00.000Z)"'],
      ["mongo_date(1, 'second')", '"ISODate(1970-01-01T00:00:01.000Z)"'],
    ])
  })
})

describe('E3 message', () => {
  test('functions that read columns', () => {
    checkExamples([
      ['clientid()', '"c_sample"'],
      ['username()', '"u_sample"'],
      ['qos()', '1'],
      ['msgid()', '"0005E27C1D24E44FF440000017520000"'],
      ['clientip()', '"192.168.0.10"'],
      ['peerhost()', '"192.168.0.10"'],
      ['flags()', '{"dup":false,"retain":false}'],
      ["flag('retain')", 'false'],
      ["flag('x')", 'undefined'],
      ['payload()', '"{\\"msg\\":\\"hello\\"}"'],
      ["payload('msg')", '"hello"'],
      ["payload('a.b')", '1', { payload: '{"a":{"b":1}}' }],
      ["payload('a')", /the payload is not JSON/, { payload: 'x' }],
      ['topic()', '"t/a"'],
      ['topic(2)', '"a"'],
      ['topic(3)', /the topic has 2 levels/],
      ['topic(0)', /the topic has 2 levels/],
    ])
    assert.equal(outputOf('SELECT flags() AS f, topic() AS t FROM "$events/client_connected"'), '{"f":{}}')
  })

  test('contains_topic and contains_topic_match', () => {
    const payload = '{"s":[{"topic":"a/#","qos":1},{"topic":"a/b","qos":2},{"qos":0},5]}'
    checkExamples([
      ["contains_topic(payload.s, 'a/b')", 'true', { payload }],
      ["contains_topic(payload.s, 'a/c')", 'false', { payload }],
      ["contains_topic(payload.s, 'a/b', 2)", 'true', { payload }],
      ["contains_topic(payload.s, 'a/b', 1)", 'false', { payload }],
      ["contains_topic_match(payload.s, 'a/c')", 'true', { payload }],
      ["contains_topic_match(payload.s, 'a/b', 1)", 'true', { payload }],
      ["contains_topic_match(payload.s, 'x')", 'false', { payload }],
      ["contains_topic('a', 'a')", /subscriptions must be an array/],
    ])
  })
})

describe('E3 conditions and system', () => {
  test('coalesce, coalesce_ne, null', () => {
    checkExamples([
      ['coalesce(x1, 0)', '0'],
      ['coalesce(payload.n, 0)', 'null', { payload: '{"n":null}' }],
      ["coalesce('', 0)", '""'],
      ["coalesce_ne('', 0)", '0'],
      ["coalesce_ne(x1, '')", 'undefined'],
      ['coalesce([x1, 2, 3])', '2'],
      ['is_null(null())', 'true'],
    ])
  })

  test('uuid_v4, uuid_v4_no_hyphen, getenv', () => {
    checkExamples([
      ['uuid_v4()', '"123e4567-e89b-42d3-a456-426614174000"'],
      ['uuid_v4_no_hyphen()', '"123e4567e89b42d3a456426614174000"'],
      ["getenv('SITE')", '"hall 3"'],
      ["getenv('PATH')", '""'],
    ])
  })

  test('kv_store and proc_dict keep values between evaluations', () => {
    const host = sampleHost()
    const run = (expression: string): string => valueOf(expression, {}, host)
    assert.equal(run("kv_store_get('k')"), 'undefined')
    assert.equal(run("kv_store_get('k', 5)"), '5')
    assert.equal(run("kv_store_put('k', [1])"), 'true')
    assert.equal(run("kv_store_get('k')"), '[1]')
    assert.equal(run("kv_store_put('k', null)"), 'true')
    assert.equal(run("kv_store_get('k', 5)"), 'null')
    assert.equal(run("kv_store_del('k')"), 'true')
    assert.equal(run("kv_store_get('k')"), 'undefined')
    assert.equal(run('proc_dict_put(1, 2)'), 'undefined')
    assert.equal(run('proc_dict_put(1, 3)'), '2')
    assert.equal(run("proc_dict_get('1')"), '3')
    assert.equal(run('proc_dict_del(1)'), '3')
    assert.equal(run('proc_dict_get(1)'), 'undefined')
    assert.match(run("kv_store_put('k', x1)"), /undefined cannot be stored/)
  })

  test('jq gives an array; errors and a wrong time limit are rule errors', () => {
    checkExamples([
      ["jq('.a', '{\"a\":1}')", '[1]'],
      ["jq('.[]', [1, 2.0])", '[1,2.0]'],
      ["jq('.', 'no JSON')", /JSON/],
      ["jq('.a', 1)", /jq: number \(1\) has no member/],
      ["jq('empty', '1', 50)", '[]'],
      ["jq('.', 1, 60001)", /time limit must be from 0 to 60000/],
      ["jq('.', 1, -1)", /time limit/],
    ])
  })
})

describe('E3 calls', () => {
  test('a wrong name, a wrong number of arguments and a wrong kind are rule errors', () => {
    checkExamples([
      ['nothing(1)', /there is no function 'nothing'/],
      ['upper()', /upper does not take 0 arguments/],
      ["upper('a', 'b')", /upper does not take 2 arguments/],
      ['upper(1)', /must be a text/],
      ['CASE WHEN false THEN nothing(1) ELSE 2 END', '2'],
    ])
    assert.match(compileErrorOf('SELECT upper(1).x FROM "t/#"').hint, /map_get/)
  })

  test('every function has examples in these tests', () => {
    const files = ['numbers', 'text', 'data', 'world'].map(
      (name) => new URL(`functions-${name}.test.ts`, import.meta.url),
    )
    const examples = files.map((file) => readFileSync(file, 'utf8')).join('\n')
    const generated = /is_\w+|timezone_\w+/
    const missing = [...functionTable.keys()].filter((name) => !generated.test(name) && !examples.includes(`${name}(`))
    assert.deepEqual(missing, [])
  })

  test('the table describes every function: subject, signatures, result, one sentence', () => {
    assert.ok(functionTable.size >= 150, `${functionTable.size} functions`)
    for (const definition of functionTable.values()) {
      assert.ok(functionSubjects.includes(definition.subject))
      assert.match(definition.description, /^.+\.$/, definition.name)
      const counts = definition.signatures.map(({ parameters }) => parameters.length)
      assert.equal(
        new Set(counts).size,
        counts.length,
        `${definition.name}: one signature for each number of arguments`,
      )
      for (const { parameters, text } of definition.signatures) {
        for (const { name, kind } of parameters) {
          assert.match(name, /^[a-z_0-9]+$/, text)
          assert.ok(['any', 'text', 'bytes', 'integer', 'number', 'array', 'map'].includes(kind), text)
        }
      }
    }
  })
})
