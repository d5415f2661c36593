// Samples for a real Prometheus (Debian's 2.42): each acknowledged message arrives, and only refused samples become dead letters.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prometheusServer } from './http-databases.ts'
import { actionView, deadLettersOf, ruleTo, startWith, until } from './sink-stage.ts'

const samples = 100
const options = 'resource_opts={batch_size=10,retry_interval=100ms,max_retries=1,health_check_interval=200ms}'
const action = 'prometheus_remote_write:samples'

test('Prometheus gets each acknowledged sample, although it is killed; a sample out of order becomes a dead letter', async (t) => {
  const server = await prometheusServer(t)
  await server.start()
  const { broker, client } = await startWith(t, [
    `connectors.prometheus_remote_write.p={url="http://127.0.0.1:${server.port}/api/v1/write"}`,
    `actions.prometheus_remote_write.samples={connector=p,parameters={metric="readings_\${payload.kind}",labels={topic="\${topic}",text="\${payload.text}",none="\${payload.none}"},value="\${payload.value}",timestamp="\${payload.at}"},${options}}`,
    ruleTo(action),
  ])
  const startMs = Date.now() - 600_000
  const publish = async (value: number, atMs: number): Promise<void> => {
    const payload = { kind: 'total', text: 'it\'s "21"', value, at: atMs }
    await client.publishAsync('readings/1', JSON.stringify(payload), { qos: 1 })
  }
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
  for (let number = 0; number < 30; number++) await publish(number, startMs + number * 1_000)
  await server.kill()
  for (let number = 30; number < 60; number++) await publish(number, startMs + number * 1_000)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await server.start()
  for (let number = 60; number < samples; number++) {
    await publish(number, startMs + number * 1_000)
    // A sample that is older than those that Prometheus has.
    if (number === 70) await publish(7, startMs - 1_000_000)
  }
  const query = async (text: string) => {
    const response = await fetch(
      `http://127.0.0.1:${server.port}/api/v1/query?${new URLSearchParams({ query: text }).toString()}`,
    )
    const { data } = (await response.json()) as {
      readonly data: {
        readonly result: readonly {
          readonly metric: Record<string, string>
          readonly values: readonly (readonly [number, string])[]
        }[]
      }
    }
    return data.result
  }
  await until(broker, action, async () => (await query('readings_total[1h]'))[0]?.values.length === samples)
  const [{ metric, values }] = await query('readings_total[1h]')
  assert.deepEqual(metric, { __name__: 'readings_total', topic: 'readings/1', text: 'it\'s "21"' })
  assert.deepEqual(
    values.map(([, value]) => Number(value)),
    Array.from({ length: samples }, (_, number) => number),
  )
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
  assert.match((await deadLettersOf(broker, action))[0].reason, /out of/)
})

test('an action is not shown as connected if Prometheus accepts no samples', async (t) => {
  const server = await prometheusServer(t)
  await server.start()
  const { broker, client } = await startWith(t, [
    `connectors.prometheus_remote_write.p={url="http://127.0.0.1:${server.port}/api/v1/nowhere"}`,
    `actions.prometheus_remote_write.samples={connector=p,parameters={metric=m,value="\${payload}"},${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => /HTTP status 404/.test((await actionView(broker, action)).status_reason))
  await client.publishAsync('readings/1', '5', { qos: 1 })
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  assert.deepEqual(await deadLettersOf(broker, action), [])
})
