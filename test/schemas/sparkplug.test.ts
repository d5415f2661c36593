// Sparkplug B: a payload that sparkplug-payload 1.0.3 of Eclipse Tahu has encoded, in rules.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueOf } from '../rules/evaluate.ts'

/** With metrics of all kinds: integers, floats, bytes with metadata, null, a data set, a template, properties. */
const birth = Buffer.from(
  '08eaf2f5a8a02b121b0a07636f756e74657218eaf2f5a8a02b200858818080808080801012270a0b74656d7065726174757265200a4a0d0a04756e69' +
    '741205080c420143690000000000803540120a0a01662009650000803e120a0a026f6e200b28017001121a0a037261772011420b1207696d6167652f' +
    '78180382010300ff80120a0a04676f6e652003380112120a086e65676174697665200350fbffffff0f122e0a057461626c6520108a01220802120' +
    '16e1201731807180c22090a0210010a0332016122090a0210020a0332016212250a056d6f746f7220139201190a013112090a0372706d2003506' +
    '41a070a01701007200728011803',
  'hex',
)

const decoded = {
  timestamp: 1_486_144_502_122,
  metrics: [
    { name: 'counter', timestamp: 1_486_144_502_122, datatype: 8, long_value: 2 ** 53 },
    {
      name: 'temperature',
      datatype: 10,
      properties: { keys: ['unit'], values: [{ type: 12, string_value: 'C' }] },
      double_value: 21.5,
    },
    { name: 'f', datatype: 9, float_value: 0.25 },
    { name: 'on', datatype: 11, is_historical: true, boolean_value: true },
    { name: 'raw', datatype: 17, metadata: { content_type: 'image/x', size: 3 }, bytes_value: { $base64: 'AP+A' } },
    { name: 'gone', datatype: 3, is_null: true },
    { name: 'negative', datatype: 3, int_value: 4_294_967_291 },
    {
      name: 'table',
      datatype: 16,
      dataset_value: {
        num_of_columns: 2,
        columns: ['n', 's'],
        types: [7, 12],
        rows: [
          { elements: [{ long_value: 1 }, { string_value: 'a' }] },
          { elements: [{ long_value: 2 }, { string_value: 'b' }] },
        ],
      },
    },
    {
      name: 'motor',
      datatype: 19,
      template_value: {
        version: '1',
        metrics: [{ name: 'rpm', datatype: 3, int_value: 100 }],
        parameters: [{ name: 'p', type: 7, long_value: 7 }],
        is_definition: true,
      },
    },
  ],
  seq: 3,
}

test('a birth message is decoded with all its metrics', () => {
  const shown = valueOf('sparkplug_decode(payload)', { payload: birth })
  assert.deepEqual(JSON.parse(shown), decoded)
  assert.match(shown, /"long_value":9007199254740993[,}]/)
})

test('a decoded payload is encoded to the same bytes', () => {
  const shown = valueOf('bin2hexstr(sparkplug_encode(sparkplug_decode(payload)))', { payload: birth })
  const again = Buffer.from(JSON.parse(shown) as string, 'hex')
  assert.equal(
    valueOf('sparkplug_decode(payload)', { payload: again }),
    valueOf('sparkplug_decode(payload)', { payload: birth }),
  )
  assert.equal(again.length, birth.length)
})

test('parts of a payload can be encoded and decoded as message types', () => {
  const metric = `map_put('int_value', 5, map_put('name', 'a', map_new()))`
  assert.equal(
    valueOf(`sparkplug_decode(sparkplug_encode(${metric}, 'Payload.Metric'), 'Payload.Metric')`),
    '{"name":"a","int_value":5}',
  )
  assert.match(
    valueOf(`sparkplug_decode('', 'Metric')`),
    /schema Sparkplug B: there is no message type "Metric": there are Payload, Payload\.Metric/,
  )
})

test('extensions are skipped', () => {
  assert.equal(valueOf(`sparkplug_decode(hexstr2bin('1807C2BB030161'))`), '{"seq":7,"metrics":[]}')
})

test('a payload that is not Sparkplug B is a rule error', () => {
  assert.match(valueOf(`sparkplug_decode('{"a":1}')`), /error: schema Sparkplug B: /)
  assert.match(
    valueOf(`sparkplug_encode(json_decode('{"metric":[]}'))`),
    /has no field "metric": did you mean metrics\?/,
  )
  assert.match(valueOf(`sparkplug_encode('{}')`), /open JSON with json_decode first/)
})
