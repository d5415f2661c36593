// A LwM2M device with Eclipse Leshan: it registers, is read and observed, changes its address, and registers again after a restart of the broker.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { type Broker, runProgram, startBroker, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { java } from './programs.ts'
import { UdpRelay } from './udp-relay.ts'

const maxWaitMs = 90_000
const endpoint = 'leshan'

interface Application {
  readonly client: MqttClient
  readonly messages: string[]
}

async function connectApplication({ port }: Broker): Promise<Application> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  const messages: string[] = []
  client.on('message', (_topic, payload) => void messages.push(payload.toString()))
  client.on('error', () => {})
  await client.subscribeAsync(`lwm2m/${endpoint}/up/#`, { qos: 1 })
  return { client, messages }
}

async function waitFor(
  what: string,
  isDone: () => boolean,
  device: WatchedProcess,
  { messages }: Application,
): Promise<void> {
  const endsAtMs = Date.now() + maxWaitMs
  while (!isDone()) {
    if (Date.now() > endsAtMs)
      throw new Error(`${what}:\n${device.soFar.slice(-500)}\n${messages.slice(-5).join('\n')}`)
    await delay(50)
  }
}

const countOf = (device: WatchedProcess, word: string): number =>
  device.soFar.split('\n').filter((line) => line.startsWith(word)).length

/** Sends a command to the device, and waits for the response with the same number. */
async function command(
  application: Application,
  device: WatchedProcess,
  { reqID, msgType, path }: { readonly reqID: number; readonly msgType: string; readonly path: string },
): Promise<string> {
  const payload = JSON.stringify({ reqID, msgType, data: { path } })
  await application.client.publishAsync(`lwm2m/${endpoint}/dn/1`, payload, { qos: 1 })
  const isResponse = (text: string): boolean => text.includes(`"reqID":${reqID}`) && text.includes('"code":"2.05"')
  await waitFor(`${msgType} ${path}`, () => application.messages.some(isResponse), device, application)
  return application.messages.find(isResponse) ?? ''
}

test('Leshan registers, is read and observed, changes its address, and registers again after a restart of the broker', async (t) => {
  const prepared = await java('leshan')
  if ('missing' in prepared) return t.skip(prepared.missing)
  const port = await reservePort(t)
  const dataDirectory = await temporaryFolder(t)
  const bind = `gateway.lwm2m.listeners.udp.default.bind="127.0.0.1:${port}"`
  const set = ['node.shards=3', 'auth.allow_anonymous=true', 'gateway.lwm2m.lifetime_min=1s', bind]
  const first = await startBroker(t, { dataDirectory, set })
  const before = await connectApplication(first)
  t.after(() => before.client.end(true))
  const relay = await UdpRelay.start(t, port)
  const device = runProgram(t, prepared.command, [...prepared.words, `coap://127.0.0.1:${relay.port}`, endpoint, '20'])
  await device.until(/^registered/m)
  assert.match(await command(before, device, { reqID: 1, msgType: 'read', path: '/3/0/0' }), /"value":"Leshan"/)
  await command(before, device, { reqID: 2, msgType: 'observe', path: '/3/0/0' })

  relay.changeAddresses()
  const updates = countOf(device, 'updated')
  device.child.stdin?.write('u')
  await waitFor(
    'the update from another address has a response',
    () => countOf(device, 'updated') > updates,
    device,
    before,
  )
  assert.match(await command(before, device, { reqID: 3, msgType: 'read', path: '/3/0/1' }), /"value":"model"/)

  before.client.end(true)
  await first.process.stop('SIGKILL')
  const second = await startBroker(t, { dataDirectory, set })
  const after = await connectApplication(second)
  t.after(() => after.client.end(true))
  const [updated, registered] = [countOf(device, 'updated'), countOf(device, 'registered')]
  device.child.stdin?.write('u')
  await waitFor(
    'the device updates its registration, or registers again',
    () => countOf(device, 'updated') > updated || countOf(device, 'registered') > registered,
    device,
    after,
  )
  assert.match(await command(after, device, { reqID: 4, msgType: 'read', path: '/3/0/2' }), /"value":"serial"/)
})
