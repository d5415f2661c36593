import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { startBrokerWithApi } from '../management/api.ts'

/** Metrics whose names and help texts are fixed; promtool reports some of them. */
const fixedBySpecification =
  /^svc_(connections|sessions|topics|subscribers|messages|memory_usage|cpu_usage)(_(count|max|received|sent|dropped))? /

test('promtool reports no problem with metrics whose names are not fixed', async (t) => {
  const broker = await startBrokerWithApi(t)
  const { status, text } = await broker.request('/api/v4/prometheus')
  assert.equal(status, 200)
  const { stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  assert.equal(error, undefined)
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
  assert.ok(lines.length > 0, 'promtool reports some fixed names, so it has read the metrics')
  assert.deepEqual(
    lines.filter((line) => !fixedBySpecification.test(line)),
    [],
  )
})
