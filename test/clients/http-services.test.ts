// Actions of rules with services over HTTP: Debian's InfluxDB 1.6, ClickHouse 18.16 and Prometheus 2.42, and s3rver, which stores objects as
// files without checking signatures. Each acknowledged message arrives, although the service is killed, and only what the service refuses becomes a
// dead letter.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runProgram, type Scope, shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { HttpService } from '../e2e/http-service.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { signRequest } from '../../src/sinks/s3/sign-request.ts'
import { casesOf } from '../test-length.ts'
import { DatabaseServer } from './database-server.ts'
import { clickhouseServer, influxdbServer, prometheusServer } from './http-databases.ts'
import {
  actionView,
  deadLettersOf,
  publishAll,
  ruleTo,
  shareSinks,
  startWith as startOwn,
  until,
} from './sink-stage.ts'

const startWith = shareSinks()
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
    points: async (q: string, db = 'plant') => (await runQuery({ db, epoch: 'ms', q }))[0]?.values ?? [],
  }
}

const sharedInflux = shared(async (scope) => {
  const server = await influxdbServer(scope)
  await server.start()
  const { run, points } = influx(server.port)
  await run("CREATE USER root WITH PASSWORD 'secret' WITH ALL PRIVILEGES")
  return { server, run, points }
})

test('InfluxDB gets the point of each acknowledged message, although it is killed; a refused point becomes a dead letter', async (t) => {
  const { server, run, points } = await sharedInflux()
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
  const { server, run, points } = await sharedInflux()
  const { broker, client } = await startWith(t, [
    `connectors.influxdb.db={server="127.0.0.1:${server.port}",parameters={influxdb_type=influxdb_api_v1,database=later,username=root,password=secret}}`,
    `connectors.influxdb.wrong={server="127.0.0.1:${server.port}",parameters={influxdb_type=influxdb_api_v1,database=later,username=root,password=wrong}}`,
    `actions.influxdb.corrected={connector=db,parameters.write_syntax="r v=\${payload.number}i \${timestamp}",${options}}`,
    `actions.influxdb.others={connector=wrong,parameters.write_syntax="r v=\${payload.number}i",${options}}`,
    ruleTo('influxdb:corrected'),
  ])
  await until(broker, 'influxdb:corrected', async () =>
    /database not found/.test((await actionView(broker, 'influxdb:corrected')).status_reason),
  )
  await until(broker, 'influxdb:others', async () =>
    /HTTP status 401/.test((await actionView(broker, 'influxdb:others')).status_reason),
  )
  await publishAll(client, 0, 1)
  await run('CREATE DATABASE later')
  await until(broker, 'influxdb:corrected', async () => (await points('SELECT count(v) FROM r', 'later'))[0]?.[1] === 1)
  assert.deepEqual(await deadLettersOf(broker, 'influxdb:corrected'), [])
})

test('requests to InfluxDB 2 have bucket, organization and token (with a stub: Debian has no InfluxDB 2)', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 204
  const { client } = await startWith(t, [
    `connectors.influxdb.db={server="127.0.0.1:${service.port}",parameters={bucket="b 1",org=o,token=secret}}`,
    `actions.influxdb.newer={connector=db,parameters={write_syntax="r v=\${payload.number}i \${timestamp}",precision=us},${options}}`,
    ruleTo('influxdb:newer'),
  ])
  await publishAll(client, 0, 1)
  await service.until((received) => received.some(({ body }) => body !== ''))
  const request = service.received.find(({ body }) => body !== '')
  assert.equal(request?.path, '/api/v2/write?org=o&bucket=b+1&precision=us')
  assert.equal(request?.headers.authorization, 'Token secret')
  assert.match(request?.body ?? '', /^r v=0i \d+\n$/)
})

test('ClickHouse gets the row of each acknowledged message, although it is killed; a refused row becomes a dead letter', async (t) => {
  const action = 'clickhouse:rows'
  const server = await clickhouseServer(t)
  await server.start()
  const query = async (text: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}/?user=godwit&password=secret`, {
      method: 'POST',
      body: text,
    })
    return (await response.text()).trim()
  }
  const { broker, client } = await startWith(t, [
    `connectors.clickhouse.db={url="http://127.0.0.1:${server.port}",username=godwit,password=secret}`,
    `actions.clickhouse.rows={connector=db,parameters.sql="INSERT INTO readings (number, text, extra) VALUES (\${payload.number}, '\${payload.text}', \${payload.extra});",${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
  // The table is missing: queued rows are sent when it exists.
  await publishAll(client, 0, 1)
  await until(broker, action, async () => /readings/.test((await actionView(broker, action)).status_reason))
  await query(
    'CREATE TABLE readings (number UInt32, text String, extra Nullable(String)) ENGINE = MergeTree ORDER BY number',
  )
  await publishAll(client, 1, 50)
  await server.kill()
  await publishAll(client, 50, 100)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await server.start()
  await client.publishAsync('readings/1', JSON.stringify({ number: 'not a number', text: 'x' }), { qos: 1 })
  await client.publishAsync(
    'readings/1',
    JSON.stringify({ number: 1_000, text: "a\\b'); DROP TABLE readings --", extra: { a: [1] } }),
    { qos: 1 },
  )
  await publishAll(client, 100, messages)
  await until(broker, action, async () => (await query('SELECT uniq(number) FROM readings')) === String(messages + 1))
  const row = async (number: number): Promise<unknown> => {
    const text = await query(`SELECT DISTINCT text, extra FROM readings WHERE number = ${number} FORMAT JSONCompact`)
    return (JSON.parse(text) as { readonly data: readonly unknown[] }).data[0]
  }
  assert.deepEqual(await row(7), ["it's 7; --", null])
  assert.deepEqual(await row(1_000), ["a\\b'); DROP TABLE readings --", '{"a":[1]}'])
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
})

const samples = 100

const sharedPrometheus = shared(async (scope) => {
  const server = await prometheusServer(scope)
  await server.start()
  return server
})

test('Prometheus gets each acknowledged sample, although it is killed; a sample out of order becomes a dead letter', async (t) => {
  const action = 'prometheus_remote_write:samples'
  const server = await sharedPrometheus()
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
  const action = 'prometheus_remote_write:nowhere'
  const server = await sharedPrometheus()
  const { broker, client } = await startWith(t, [
    `connectors.prometheus_remote_write.p={url="http://127.0.0.1:${server.port}/api/v1/nowhere"}`,
    `actions.prometheus_remote_write.nowhere={connector=p,parameters={metric=m,value="\${payload}"},${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => /HTTP status 404/.test((await actionView(broker, action)).status_reason))
  await client.publishAsync('readings/1', '5', { qos: 1 })
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  assert.deepEqual(await deadLettersOf(broker, action), [])
})

const program = fileURLToPath(new URL('../../node_modules/s3rver/bin/s3rver.js', import.meta.url))
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', region: 'us-east-1' }

async function s3Server(t: Scope, buckets: readonly string[]): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const port = await reservePort(t)
  return DatabaseServer.of(port, async () => {
    const words = [
      '-d',
      folder,
      '-a',
      '127.0.0.1',
      '-p',
      String(port),
      ...buckets.flatMap((name) => ['--configure-bucket', name]),
    ]
    const started = runProgram(t, process.execPath, [program, ...words])
    await started.until(/S3rver listening/)
    return started
  })
}

async function get(port: number, path: string, query = ''): Promise<string> {
  const host = `127.0.0.1:${port}`
  const headers = signRequest({ method: 'GET', host, path, query, body: Buffer.alloc(0) }, credentials, Date.now())
  const response = await fetch(`http://${host}${path}${query === '' ? '' : `?${query}`}`, { headers })
  return response.text()
}

async function keysIn(port: number, bucket: string): Promise<readonly string[]> {
  const listed = await get(port, `/${bucket}`, 'list-type=2')
  return [...listed.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key ?? '')
}

const sharedS3 = shared(async (scope) => {
  const server = await s3Server(scope, ['plant', 'csv', 'json-lines'])
  await server.start()
  return server
})

const connector = (port: number): string =>
  `connectors.s3.store={host="127.0.0.1",port=${port},access_key_id=S3RVER,secret_access_key=S3RVER}`

test('each result is an object, although the service is killed; keys may contain any characters', async (t) => {
  const action = 's3:objects'
  const server = await sharedS3()
  const { broker, client } = await startWith(t, [
    connector(server.port),
    `actions.s3.objects={connector=store,parameters={bucket=plant,key="in/\${payload.number} (ä)'!*~.json",content="\${payload}"},${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
  await publishAll(client, 0, 20)
  await server.kill()
  await publishAll(client, 20, 40)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await server.start()
  await publishAll(client, 40, 50)
  await until(broker, action, async () => (await keysIn(server.port, 'plant')).length === 50)
  assert.equal(
    await get(server.port, '/plant/in/7%20%28%C3%A4%29%27%21%2A~.json'),
    JSON.stringify({ number: 7, text: "it's 7; --" }),
  )
})

const containers = [
  ['json_lines', '', '{'],
  ['csv', 'column_order=[topic,payload.number,payload.text]', 'topic,payload.number,payload.text\nreadings/1,'],
] as const

for (const [type, columns, first] of casesOf<(typeof containers)[number]>(containers, 'csv')) {
  test(`many results are one object of ${type}, and none is lost when the broker is killed before it is written`, async (t) => {
    const action = `s3:${type}`
    const bucket = type.replace('_', '-')
    const server = await sharedS3()
    await server.kill()
    const set = [
      connector(server.port),
      `actions.s3.${type}={connector=store,parameters={mode=aggregated,bucket=${bucket},key="\${action}/\${sequence}.\${container.type}",container={type=${type},${columns}},aggregation={time_interval=500ms,max_records=1000}},${options}}`,
      ruleTo(action),
    ]
    const { broker, client } = await startOwn(t, set)
    await publishAll(client, 0, 100)
    await broker.process.stop('SIGKILL')
    await server.start()
    const again = await startOwn(t, set, broker.dataDirectory)
    await publishAll(again.client, 100, 200)
    const texts = async () => {
      const keys = await keysIn(server.port, bucket)
      return Promise.all(
        keys.map((key) => get(server.port, `/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`)),
      )
    }
    const numbers = async () => {
      const found = (await texts()).join('').matchAll(/it's (\d+); --/g)
      return new Set([...found].map(([, number]) => number))
    }
    await until(again.broker, action, async () => (await numbers()).size === 200)
    const objects = await texts()
    assert.ok(objects.length < 50, `${objects.length} objects`)
    for (const text of objects) assert.ok(text.startsWith(first) && text.endsWith('\n'), text.slice(0, 100))
    const [key] = await keysIn(server.port, bucket)
    assert.match(key, new RegExp(`^${action}/\\d-[0-9a-z]+-\\d+\\.${type}$`))
    await until(again.broker, action, async () => (await actionView(again.broker, action)).status === 'connected')
  })
}

test('a missing bucket is shown as the reason', async (t) => {
  const action = 's3:nowhere'
  const server = await sharedS3()
  const { broker } = await startWith(t, [
    connector(server.port),
    `actions.s3.nowhere={connector=store,parameters={bucket=nowhere,key="\${id}"},${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => /NoSuchBucket/.test((await actionView(broker, action)).status_reason))
})

test('requests are signed as in the example of AWS', () => {
  // "Signature Calculations for the Authorization Header", GET Bucket (List Objects), of the documentation of S3.
  const signed = signRequest(
    {
      method: 'GET',
      host: 'examplebucket.s3.amazonaws.com',
      path: '/',
      query: 'max-keys=2&prefix=J',
      body: Buffer.alloc(0),
    },
    {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
    },
    Date.UTC(2013, 4, 24),
  )
  assert.match(signed['authorization'], /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/)
})
