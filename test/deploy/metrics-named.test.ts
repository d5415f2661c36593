import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { metrics } from '../../src/contract/index.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const partsOfHistogram = /_(bucket|sum|count)$/

/** Whether the broker serves the metric; a histogram is served as several metrics. */
function isServed(name: string): boolean {
  if (name in metrics) return metrics[name as keyof typeof metrics].type !== 'histogram'
  const whole = name.replace(partsOfHistogram, '')
  return whole in metrics && metrics[whole as keyof typeof metrics].type === 'histogram'
}

for (const file of ['grafana/godwit.json', 'prometheus/alerts.yml']) {
  test(`every metric that deploy/${file} names is one that the broker serves`, () => {
    const text = readFileSync(folder + file, 'utf8')
    const named = new Set(text.match(/\bsvc_\w+/g))
    assert.ok(named.size > 5, 'the file names metrics')
    assert.deepEqual(
      [...named].filter((name) => !isServed(name)),
      [],
    )
  })
}

test('the name of a counter ends in _total, except for three fixed names', () => {
  const counters = Object.entries(metrics).filter(([, { type }]) => type === 'counter')
  const others = counters.map(([name]) => name).filter((name) => !name.endsWith('_total'))
  assert.deepEqual(others, ['svc_messages_received', 'svc_messages_sent', 'svc_messages_dropped'])
  const gauges = Object.entries(metrics).filter(([name, { type }]) => type !== 'counter' && name.endsWith('_total'))
  assert.deepEqual(gauges, [])
})

test('the dashboard is JSON with a query in each panel', () => {
  const { panels } = JSON.parse(readFileSync(`${folder}grafana/godwit.json`, 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  for (const { title, targets } of panels) assert.ok(targets.length > 0 && targets[0].expr !== '', title)
})
