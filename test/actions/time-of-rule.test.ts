// Results that are rendered again, after a change of the templates or an upgrade, keep the time at which the rule ran.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { influxdbSinkType } from '../../src/sinks/influxdb/influxdb-sink.ts'
import { prometheusSinkType } from '../../src/sinks/prometheus/prometheus-sink.ts'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import { encodeStored, renderEntry } from '../../src/actions/results/stored-results.ts'
import type { Render } from '../../src/sinks/index.ts'

const atMs = 1_700_000_000_123

const influxdb = influxdbSinkType.createRenderer(
  { parameters: { write_syntax: 'm n=${n}', precision: 'ms' } } as never,
  compileSinkTemplate,
  () => '',
)
const prometheus = prometheusSinkType.createRenderer(
  { parameters: { metric: 'm', labels: new Map(), value: '${n}', timestamp: '${at}' } } as never,
  compileSinkTemplate,
  () => '',
)
const renderers: readonly (readonly [string, Render])[] = [
  ['InfluxDB', influxdb],
  ['Prometheus', prometheus],
]

for (const [name, render] of renderers) {
  test(`${name}: an entry that is rendered again has the time of its rule`, () => {
    const result = encodeStored({
      original: { qos: 0, retain: false },
      clientId: 'c',
      topic: 't',
      output: { n: 1 },
      atMs,
    })
    const entry = { payload: Buffer.from('of other templates'), attributes: [], result, form: 'other' }
    const rendered = renderEntry(entry, { form: 'present', render })
    assert.ok('payload' in rendered)
    assert.match(rendered.payload.toString(), new RegExp(String(atMs)))
  })

  test(`${name}: an entry of an earlier version, whose result has no time, is sent as it was rendered`, () => {
    const entry = { payload: Buffer.from('rendered'), attributes: [], result: Buffer.from('[0,false,"c","t",{"n":1}]') }
    assert.equal(renderEntry(entry, { form: 'present', render }), entry)
  })
}
