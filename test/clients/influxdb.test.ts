// Points for a real InfluxDB (Debian's 1.6): each acknowledged message arrives once, and only refused points become dead letters.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpService } from '../e2e/http-service.ts'
import { actionView, deadLettersOf, publishAll, ruleTo, startWith, until } from './sink-stage.ts'
import { influxdbServer } from './http-databases.ts'

const messages = 200
const options = 'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,health_check_interval=200ms}'

interface Series {
  readonly values: readonly (readonly unknown[])[]
}

function influx(port: number) {
  const runQuery = async (parameters: Readonly<Record<string, string>>): Promise<readonly Series[]> => {
    const query = new URLSearchParams({ u: 'root', p: 'secret', ...parameters })
    const response = await fetch(`http://127.0.0.1:${port}/query?${query.toString()}`, { method: 'POST' })
    const { results } = (await response.json()) as {
      readonly results: readonly { readonly series?: readonly Series[] }[]
    }
    return results[0]?.series ?? []
  }
  return {
    run: (q: string) => runQuery({ q }),
    points: async (q: string) => (await runQuery({ db: 'plant', epoch: 'ms', q }))[0]?.values ?? [],
  }
}

test('InfluxDB gets the point of each acknowledged message, although it is killed; a refused point becomes a dead letter', async (t) => {
  const server = await influxdbServer(t)
  await server.start()
  const { run, points } = influx(server.port)
  await run("CREATE USER root WITH PASSWORD 'secret' WITH ALL PRIVILEGES")
  await run('CREATE DATABASE plant')
  const { broker, client } = await startWith(t, [
    `connectors.influxdb.db={server="127.0.0.1:${server.port}",parameters={influxdb_type=influxdb_api_v1,database=plant,username=root,password=secret}}`,
    `actions.influxdb.points={connector=db,parameters.write_syntax="readings,topic=\${topic},n=\${payload.number} number=\${payload.number}i,text=\${payload.text} \${timestamp}",${options}}`,
    ruleTo('influxdb:points'),
  ])
  await until(
    broker,
    'influxdb:points',
    async () => (await actionView(broker, 'influxdb:points')).status === 'connected',
  )
  await publishAll(client, 0, 50)
  await server.kill()
  await publishAll(client, 50, 100)
  await until(
    broker,
    'influxdb:points',
    async () => (await actionView(broker, 'influxdb:points')).status === 'disconnected',
  )
  await server.start()
  // The field `text` has the type string, so a number is refused.
  await client.publishAsync('readings/2', JSON.stringify({ number: 1_000, text: 5 }), { qos: 1 })
  await publishAll(client, 100, messages)
  await until(broker, 'influxdb:points', async () => {
    const [row] = await points("SELECT count(number) FROM readings WHERE topic = 'readings/1'")
    return row?.[1] === messages
  })
  const [row] = await points('SELECT text, topic FROM readings WHERE number = 7')
  assert.deepEqual(row?.slice(1), ["it's 7; --", 'readings/1'])
  await until(broker, 'influxdb:points', async () => (await deadLettersOf(broker, 'influxdb:points')).length === 1)
  const [letter] = await deadLettersOf(broker, 'influxdb:points')
  assert.match(letter.reason, /field type conflict/)
})

test('a missing database and a wrong password are shown as the reason, and queued points are sent when they are corrected', async (t) => {
  const server = await influxdbServer(t)
  await server.start()
  const { run, points } = influx(server.port)
  await run("CREATE USER root WITH PASSWORD 'secret' WITH ALL PRIVILEGES")
  const { broker, client } = await startWith(t, [
    `connectors.influxdb.db={server="127.0.0.1:${server.port}",parameters={influxdb_type=influxdb_api_v1,database=plant,username=root,password=secret}}`,
    `connectors.influxdb.wrong={server="127.0.0.1:${server.port}",parameters={influxdb_type=influxdb_api_v1,database=plant,username=root,password=wrong}}`,
    `actions.influxdb.points={connector=db,parameters.write_syntax="r v=\${payload.number}i \${timestamp}",${options}}`,
    `actions.influxdb.others={connector=wrong,parameters.write_syntax="r v=\${payload.number}i",${options}}`,
    ruleTo('influxdb:points'),
  ])
  await until(broker, 'influxdb:points', async () =>
    /database not found/.test((await actionView(broker, 'influxdb:points')).status_reason),
  )
  await until(broker, 'influxdb:others', async () =>
    /HTTP status 401/.test((await actionView(broker, 'influxdb:others')).status_reason),
  )
  await publishAll(client, 0, 1)
  await run('CREATE DATABASE plant')
  await until(broker, 'influxdb:points', async () => (await points('SELECT count(v) FROM r'))[0]?.[1] === 1)
  assert.deepEqual(await deadLettersOf(broker, 'influxdb:points'), [])
})

test('requests to InfluxDB 2 have bucket, organization and token (with a stub: Debian has no InfluxDB 2)', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 204
  const { client } = await startWith(t, [
    `connectors.influxdb.db={server="127.0.0.1:${service.port}",parameters={bucket="b 1",org=o,token=secret}}`,
    `actions.influxdb.points={connector=db,parameters={write_syntax="r v=\${payload.number}i \${timestamp}",precision=us},${options}}`,
    ruleTo('influxdb:points'),
  ])
  await publishAll(client, 0, 1)
  await service.until((received) => received.some(({ body }) => body !== ''))
  const request = service.received.find(({ body }) => body !== '')
  assert.equal(request?.path, '/api/v2/write?org=o&bucket=b+1&precision=us')
  assert.equal(request?.headers.authorization, 'Token secret')
  assert.match(request?.body ?? '', /^r v=0i \d+\n$/)
})
