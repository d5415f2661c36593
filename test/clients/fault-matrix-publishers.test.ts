// Many publishers, and a service with one connection that restarts meanwhile: more requests wait than there are connections when they break.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { eventually } from '../e2e/eventually.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { casesOf, testLength } from '../test-length.ts'
import { dependencies, poolSize } from './matrix/dependencies.ts'

const publishers = 50
const rounds = testLength({ daily: 2, long: 6 })
const outageMs = 2_500
const pauseMs = 1_000

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const services = casesOf(
  Object.keys(dependencies).map((name) => [name] as const),
  'http',
  'mysql',
)

// Each alone: the publishers of all would need more processors than there are.
describe('a service that restarts while 50 clients publish, with one connection', () => {
  for (const [name] of services) {
    test(`${name}: no shard fails, and everything that was acknowledged arrives`, async (t) => {
      const dependency = await dependencies[name](t)
      const { settings, proxies, action, suspectsMessages } = dependency
      const broker = await startBrokerWithApi(t, {
        set: [
          ...settings.map((text) => text.replace(`pool_size=${poolSize}`, 'pool_size=1')),
          `rule_engine.rules.matrix={sql="SELECT * FROM \\"matrix/#\\"",actions=["${action}"]}`,
        ],
      })
      let log = ''
      for (const stream of [broker.process.child.stdout, broker.process.child.stderr])
        stream?.on('data', (text: Buffer) => (log += text.toString()))
      const acknowledged = new Set<number>()
      let next = 0
      const clients = await Promise.all(
        Array.from({ length: publishers }, () =>
          mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 }),
        ),
      )
      t.after(() => clients.map((client) => client.end(true)))
      const endMs = performance.now() + rounds * (pauseMs + outageMs)
      const running = clients.map(async (client, index) => {
        while (performance.now() < endMs) {
          const number = next++
          await client.publishAsync(`matrix/${index}`, JSON.stringify({ number }), { qos: 1 })
          acknowledged.add(number)
          await wait(100)
        }
      })
      for (let round = 0; round < rounds; round++) {
        await wait(pauseMs)
        await proxies.begin(round % 2 === 0 ? 'refuse' : 'reset')
        await wait(outageMs)
        await proxies.heal()
      }
      await Promise.all(running)
      await eventually(async () => {
        const there = await dependency.arrived()
        const missing = [...acknowledged].filter((number) => !there.has(number)).length
        const { metrics } = (await broker.request(`/api/v5/actions/${action}/metrics`)).json
        const state = `${missing} of ${acknowledged.size} are missing: ${JSON.stringify(metrics)}`
        assert.ok(suspectsMessages === true ? missing <= metrics.dead_letters : missing === 0, state)
        assert.equal(metrics.queuing + metrics.inflight, 0, state)
        assert.equal((await broker.request(`/api/v5/actions/${action}`)).json.status, 'connected')
      })
      assert.doesNotMatch(log, /shard failed|shard died|uncaught/i)
    })
  }
})
