// The CoAP gateway with libcoap's client: section F4 of the gateway contract.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import {
  type Broker,
  runProgram,
  type Scope,
  shared,
  startBroker,
  temporaryFolder,
  type WatchedProcess,
} from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'

interface CoapBroker extends Broker {
  readonly coapPort: number
}

async function startCoap(t: Scope, more: readonly string[] = []): Promise<CoapBroker> {
  const coapPort = await reservePort(t)
  const set = [`gateway.coap.listeners.udp.default.bind=127.0.0.1:${coapPort}`, 'node.shards=2', ...more]
  return { ...(await startBroker(t, { set })), coapPort }
}

/** One broker for tests with different topics. */
const startShared = shared((scope) => startCoap(scope))

function coapClient(t: Scope, words: readonly string[]): WatchedProcess {
  return runProgram(t, 'coap-client-notls', words)
}

/** Runs the client and returns its output. */
async function coap(t: Scope, ...words: readonly string[]): Promise<string> {
  const client = coapClient(t, words)
  await client.ended
  return client.output + client.errors
}

async function listener(t: Scope, port: number, filter: string): Promise<() => Promise<string>> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => client.end(true))
  const received: string[] = []
  const waiting: ((text: string) => void)[] = []
  client.on('message', (topic, payload) => {
    const text = `${topic} ${payload.toString()}`
    const first = waiting.shift()
    if (first === undefined) received.push(text)
    else first(text)
  })
  await client.subscribeAsync(filter, { qos: 1 })
  return () => {
    const first = received.shift()
    return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first)
  }
}

test('[F4] PUT and POST publish, confirmable or not; GET reads the retained message', async (t) => {
  const broker = await startShared()
  const url = `coap://127.0.0.1:${broker.coapPort}`
  const next = await listener(t, broker.port, 'plant/#')
  await coap(t, '-m', 'put', '-e', 'one', `${url}/ps/plant/1?clientid=a&retain=true`)
  assert.equal(await next(), 'plant/1 one')
  await coap(t, '-N', '-m', 'post', '-e', 'two', '-B', '1', `${url}/ps/plant/1?c=a`)
  assert.equal(await next(), 'plant/1 two')
  await coap(t, '-m', 'put', '-e', 'old form', `${url}/mqtt/plant/2?c=b`)
  assert.equal(await next(), 'plant/2 old form')
  assert.equal((await coap(t, '-m', 'get', `${url}/ps/plant/1?c=a`)).trim(), 'one')
  assert.match(await coap(t, '-m', 'get', `${url}/ps/plant/none?c=a`), /4\.04/)
  assert.match(await coap(t, '-m', 'put', '-e', 'x', `${url}/ps/plant/1?c=a&qos=3`), /4\.00/)
  assert.match(await coap(t, '-m', 'put', '-e', 'x', `${url}/nowhere`), /4\.04/)
  assert.match(await coap(t, '-m', 'get', `${url}/.well-known/core`), /<\/ps>/)
})

test('[F4] GET with Observe subscribes, retained message first', async (t) => {
  const broker = await startShared()
  const url = `coap://127.0.0.1:${broker.coapPort}`
  const publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => publisher.end(true))
  await publisher.publishAsync('watched/1', 'retained;', { qos: 1, retain: true })
  const observer = coapClient(t, ['-s', '60', '-m', 'get', `${url}/ps/watched/1?clientid=observer`])
  await observer.until(/retained;/)
  await publisher.publishAsync('watched/1', 'confirmed;', { qos: 1 })
  await observer.until(/confirmed;/)
  await publisher.publishAsync('watched/1', 'plain;', { qos: 0 })
  await observer.until(/plain;/)
})

test('[F4] bodies are sent and received in blocks, also if packets are lost', async (t) => {
  const broker = await startShared()
  const url = `coap://127.0.0.1:${broker.coapPort}`
  const folder = await temporaryFolder(t)
  const body = randomBytes(9_000).toString('hex')
  await writeFile(join(folder, 'body'), body)
  const next = await listener(t, broker.port, 'big')
  await coap(t, '-b', '512', '-l', '2,5', '-m', 'put', '-f', join(folder, 'body'), `${url}/ps/big?c=a&retain=1`)
  assert.equal(await next(), `big ${body}`)
  await coap(t, '-m', 'get', '-o', join(folder, 'back'), `${url}/ps/big?c=a`)
  assert.equal(await readFile(join(folder, 'back'), 'utf8'), body)
  const tooLarge = await startCoap(t, ['gateway.coap.max_body=4KB'])
  const refused = await coap(
    t,
    '-b',
    '512',
    '-m',
    'put',
    '-f',
    join(folder, 'body'),
    `coap://127.0.0.1:${tooLarge.coapPort}/ps/big?c=a`,
  )
  assert.match(refused, /4\.13/)
})

test('[F4] a connection has a token, and requests without it are refused if it is required', async (t) => {
  const broker = await startCoap(t, ['gateway.coap.connection_required=true'])
  const url = `coap://127.0.0.1:${broker.coapPort}`
  const next = await listener(t, broker.port, '#')
  assert.match(await coap(t, '-m', 'put', '-e', 'x', `${url}/ps/a?clientid=dev`), /4\.01/)
  assert.match(await coap(t, '-m', 'post', `${url}/mqtt/connection`), /4\.00/)
  const token = (await coap(t, '-m', 'post', `${url}/mqtt/connection?clientid=dev`)).trim()
  assert.match(token, /^\d+$/)
  await coap(t, '-m', 'put', '-e', 'in', `${url}/ps/a?clientid=dev&token=${token}`)
  assert.equal(await next(), 'a in')
  assert.match(await coap(t, '-m', 'put', '-e', 'x', `${url}/ps/a?clientid=dev&token=${token}1`), /4\.01/)
  assert.equal((await coap(t, '-m', 'put', `${url}/mqtt/connection?clientid=dev&token=${token}`)).trim(), '')
  await coap(t, '-m', 'delete', `${url}/mqtt/connection?clientid=dev&token=${token}`)
  assert.match(await coap(t, '-m', 'put', '-e', 'x', `${url}/ps/a?clientid=dev&token=${token}`), /4\.01/)
})
