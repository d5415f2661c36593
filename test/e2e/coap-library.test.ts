// The CoAP gateway with a third-party client library, node-coap: section F4 of the gateway contract.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Agent, type IncomingMessage, type CoapRequestParams, type ObserveReadStream, request } from 'coap'
import { connectAsync } from 'mqtt'
import { type Scope, startBroker } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

const ignore = (): void => {}

interface Call extends CoapRequestParams {
  readonly payload?: Buffer
  /** Size exponent of Block1. */
  readonly block1?: number
}

function client(t: Scope, port: number): (call: Call) => Promise<IncomingMessage> {
  const agent = new Agent({ type: 'udp4' })
  t.after(() => agent.close())
  return ({ payload, block1, ...params }) =>
    new Promise((resolve, reject) => {
      const outgoing = request({ hostname: '127.0.0.1', port, agent, confirmable: true, ...params })
      if (block1 !== undefined) outgoing.setOption('Block1', Buffer.of(block1))
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      outgoing.end(payload)
    })
}

test('[F4] node-coap publishes, also in blocks, reads retained messages, and observes topics', async (t) => {
  const coapPort = await reservePort(t)
  const set = [`gateway.coap.listeners.udp.default.bind=127.0.0.1:${coapPort}`, 'node.shards=2']
  const broker = await startBroker(t, { set })
  const subscriber = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => subscriber.endAsync(true))
  const received: Buffer[] = []
  let wake = ignore
  subscriber.on('message', (_, payload) => {
    received.push(payload)
    wake()
  })
  const next = async (): Promise<Buffer> => {
    while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return received.shift() ?? assert.fail('nothing was received')
  }
  await subscriber.subscribeAsync('up/#', { qos: 1 })
  const call = client(t, coapPort)

  const put = await call({ method: 'PUT', pathname: '/ps/up/a', query: 'clientid=lib', payload: Buffer.from('21.5') })
  assert.equal(put.code, '2.04')
  assert.equal((await next()).toString(), '21.5')

  const large = randomBytes(5_000)
  const query = 'clientid=lib&retain=true'
  const blocks = await call({ method: 'PUT', pathname: '/ps/up/b', query, payload: large, block1: 6 })
  assert.equal(blocks.code, '2.04')
  assert.deepEqual(await next(), large)

  const retained = await call({ method: 'GET', pathname: '/ps/up/b', query: 'clientid=lib' })
  assert.equal(retained.code, '2.05')
  assert.deepEqual(retained.payload, large, 'in blocks as well')
  assert.equal((await call({ method: 'GET', pathname: '/ps/up/none', query: 'clientid=lib' })).code, '4.04')

  const observed = (await call({
    method: 'GET',
    pathname: '/ps/down/%23',
    query: 'clientid=watcher',
    observe: true,
  })) as ObserveReadStream
  assert.equal(observed.code, '2.05')
  const notified = new Promise<string>((resolve) => {
    observed.on('data', (chunk: Buffer) => {
      if (chunk.length > 0) resolve(chunk.toString())
    })
  })
  await subscriber.publishAsync('down/x', 'on', { qos: 1 })
  assert.equal(await notified, 'on')
  observed.close()
})
