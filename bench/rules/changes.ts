// Measures how long a change over the API takes with many rules, and how long a healthy client waits meanwhile: POST, PUT and DELETE of rules,
// connectors and actions.
//
//   node bench/rules/changes.ts [--rules 1000] [--changes 50]

import { parseArgs } from 'node:util'
import { brokerApi } from '../load/broker-api.ts'
import { godwit, startBroker } from '../load/brokers.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: { rules: { type: 'string', default: '1000' }, changes: { type: 'string', default: '50' } },
})
const rules = Number(options.rules)
const changes = Number(options.changes)

const api = await brokerApi()
const broker = await startBroker(godwit(api.settings))
try {
  const rows = [await measure('POST /rules, the first ones', changes, (index) => postRule(`early${index}`))]
  for (let index = changes; index < rules; index++) await postRule(`filler${index}`)
  rows.push(await measure(`POST /rules, with ${rules} rules`, changes, (index) => postRule(`late${index}`)))
  rows.push(await measure('PUT /rules/:id', changes, putRule))
  rows.push(await measure('POST /connectors', changes, postConnector))
  rows.push(await measure('POST /actions', changes, postAction))
  rows.push(await measure('DELETE /actions/:id', changes, (index) => api.send('DELETE', `actions/http:a${index}`)))
  rows.push(await measure('DELETE /rules/:id', changes, (index) => api.send('DELETE', `rules/late${index}`)))
  printTable(['', 'mean ms', 'longest ms', 'longest loop delay of the shard, ms'], rows)
} finally {
  await broker.stop()
}

async function measure(name: string, count: number, change: (index: number) => Promise<unknown>): Promise<string[]> {
  const times: number[] = []
  let delayMs = 0
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    await change(index)
    times.push(performance.now() - startedAt)
  }
  delayMs = await api.loopDelayMs()
  const mean = times.reduce((sum, time) => sum + time, 0) / count
  return [name, number(mean, 1), number(Math.max(...times), 1), number(delayMs, 1)]
}

function postRule(id: string): Promise<unknown> {
  const sql = `SELECT payload.t AS t, topic FROM "sites/${id}/#" WHERE payload.t > 20`
  return api.send('POST', 'rules', { id, sql, actions: [{ function: 'republish', args: { topic: `hot/${id}` } }] })
}

function putRule(index: number): Promise<unknown> {
  const sql = `SELECT payload.t AS t FROM "changed/${index}" WHERE t > ${index}`
  return api.send('PUT', `rules/late${index}`, { sql, actions: [] })
}

function postConnector(index: number): Promise<unknown> {
  return api.send('POST', 'connectors', { type: 'http', name: `c${index}`, url: 'http://127.0.0.1:9', enable: false })
}

function postAction(index: number): Promise<unknown> {
  const parameters = { method: 'post', path: '/${topic}', body: '{"t": ${t}}' }
  return api.send('POST', 'actions', { type: 'http', name: `a${index}`, connector: `c${index}`, parameters })
}
