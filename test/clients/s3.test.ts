// Objects for s3rver, which stores them as files without checking signatures: each acknowledged message arrives, in one object or with
// others, although the service is killed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runProgram, type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { signRequest } from '../../src/sinks/s3/sign-request.ts'
import { casesOf } from '../test-length.ts'
import { DatabaseServer } from './database-server.ts'
import { actionView, publishAll, ruleTo, startWith, until } from './sink-stage.ts'

const program = fileURLToPath(new URL('../../node_modules/s3rver/bin/s3rver.js', import.meta.url))
const options = 'resource_opts={retry_interval=100ms,health_check_interval=200ms}'
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', region: 'us-east-1' }
const action = 's3:objects'

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

const connector = (port: number): string =>
  `connectors.s3.store={host="127.0.0.1",port=${port},access_key_id=S3RVER,secret_access_key=S3RVER}`

test('each result is an object, although the service is killed; keys may contain any characters', async (t) => {
  const server = await s3Server(t, ['plant'])
  await server.start()
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
    const server = await s3Server(t, ['plant'])
    const set = [
      connector(server.port),
      `actions.s3.objects={connector=store,parameters={mode=aggregated,bucket=plant,key="\${action}/\${sequence}.\${container.type}",container={type=${type},${columns}},aggregation={time_interval=500ms,max_records=1000}},${options}}`,
      ruleTo(action),
    ]
    const { broker, client } = await startWith(t, set)
    await publishAll(client, 0, 100)
    await broker.process.stop('SIGKILL')
    await server.start()
    const again = await startWith(t, set, broker.dataDirectory)
    await publishAll(again.client, 100, 200)
    const texts = async () => {
      const keys = await keysIn(server.port, 'plant')
      return Promise.all(
        keys.map((key) => get(server.port, `/plant/${key.split('/').map(encodeURIComponent).join('/')}`)),
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
    const [key] = await keysIn(server.port, 'plant')
    assert.match(key, new RegExp(`^s3:objects/\\d-[0-9a-z]+-\\d+\\.${type}$`))
    await until(again.broker, action, async () => (await actionView(again.broker, action)).status === 'connected')
  })
}

test('a missing bucket is shown as the reason', async (t) => {
  const server = await s3Server(t, ['plant'])
  await server.start()
  const { broker } = await startWith(t, [
    connector(server.port),
    `actions.s3.objects={connector=store,parameters={bucket=nowhere,key="\${id}"},${options}}`,
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
