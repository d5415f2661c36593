// LwM2M devices with Eclipse Leshan: they register, are read and observed, change their address, and sleep, while the broker is killed and starts
// again.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { type Broker, runProgram, startBroker, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { TimeLimit } from '../e2e/time-limit.ts'
import { java } from './programs.ts'
import { UdpRelay } from './udp-relay.ts'

const maxWaitMs = 90_000
/** The device updates its registration by itself only long after the end of a test. */
const lifetimeSeconds = 600
const awakeMs = 1_000

interface Application {
  readonly endpoint: string
  readonly client: MqttClient
  readonly messages: string[]
}

async function connectApplication({ port }: Broker, endpoint: string): Promise<Application> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  const messages: string[] = []
  client.on('message', (_topic, payload) => void messages.push(payload.toString()))
  client.on('error', () => {})
  await client.subscribeAsync(`lwm2m/${endpoint}/up/#`, { qos: 1 })
  return { endpoint, client, messages }
}

async function waitFor(
  what: string,
  isDone: () => boolean,
  device: WatchedProcess,
  { messages }: Application,
): Promise<void> {
  const limit = new TimeLimit(maxWaitMs)
  while (!isDone()) {
    if (limit.isOver) throw new Error(`${what}:\n${device.soFar.slice(-500)}\n${messages.slice(-5).join('\n')}`)
    await delay(50)
  }
}

const countOf = (device: WatchedProcess, word: string): number =>
  device.soFar.split('\n').filter((line) => line.startsWith(word)).length

interface Command {
  readonly reqID: number
  readonly msgType: string
  readonly path: string
}

async function send({ client, endpoint }: Application, { reqID, msgType, path }: Command): Promise<void> {
  await client.publishAsync(`lwm2m/${endpoint}/dn/1`, JSON.stringify({ reqID, msgType, data: { path } }), { qos: 1 })
}

const isResponse = (text: string, { reqID }: Command): boolean =>
  text.includes(`"reqID":${reqID}`) && text.includes('"code":"2.05"')

/** Waits for the response with the same number. */
async function receive(application: Application, device: WatchedProcess, command: Command): Promise<string> {
  const find = (): string | undefined => application.messages.find((text) => isResponse(text, command))
  await waitFor(`${command.msgType} ${command.path}`, () => find() !== undefined, device, application)
  return find() ?? ''
}

/** Sends a command to the device, and waits for the response. */
async function command(application: Application, device: WatchedProcess, sent: Command): Promise<string> {
  await send(application, sent)
  return await receive(application, device, sent)
}

/** Changes the battery level of the device, and waits for the notification. */
async function changeLevel(application: Application, device: WatchedProcess, level: number): Promise<void> {
  device.child.stdin?.write('c')
  const isNotification = (text: string): boolean =>
    text.includes('"msgType":"notify"') && new RegExp(`"value":"?${level}\\b`).test(text)
  await waitFor(`level ${level} is notified`, () => application.messages.some(isNotification), device, application)
}

interface Stage {
  readonly device: WatchedProcess
  readonly relay: UdpRelay
  readonly broker: Broker
  readonly application: Application
  /** Kills the broker, and starts it again. */
  restart(): Promise<Application>
}

/** Undefined: the client is missing here. */
async function registerDevice(
  t: TestContext,
  endpoint: string,
  options: readonly string[] = [],
): Promise<Stage | undefined> {
  const prepared = await java('leshan')
  if ('missing' in prepared) {
    t.skip(prepared.missing)
    return undefined
  }
  const port = await reservePort(t)
  const dataDirectory = await temporaryFolder(t)
  const set = [
    'node.shards=3',
    'auth.allow_anonymous=true',
    'gateway.lwm2m.lifetime_min=1s',
    `gateway.lwm2m.qmode_time_window=${awakeMs}ms`,
    `gateway.lwm2m.listeners.udp.default.bind="127.0.0.1:${port}"`,
  ]
  const connect = async (broker: Broker): Promise<Application> => {
    const application = await connectApplication(broker, endpoint)
    t.after(() => application.client.end(true))
    return application
  }
  const broker = await startBroker(t, { dataDirectory, set })
  const application = await connect(broker)
  const relay = await UdpRelay.start(t, port)
  const uri = `coap://127.0.0.1:${relay.port}`
  const device = runProgram(t, prepared.command, [
    ...prepared.words,
    uri,
    endpoint,
    String(lifetimeSeconds),
    ...options,
  ])
  await device.until(/^registered/m)
  const restart = async (): Promise<Application> => {
    application.client.end(true)
    await broker.process.stop('SIGKILL')
    return connect(await startBroker(t, { dataDirectory, set }))
  }
  return { device, relay, broker, application, restart }
}

/** The device updates its registration, or registers again. */
async function update({ device }: Stage, application: Application): Promise<void> {
  const [updated, registered] = [countOf(device, 'updated'), countOf(device, 'registered')]
  device.child.stdin?.write('u')
  await waitFor(
    'the update has a response, or the device registers again',
    () => countOf(device, 'updated') > updated || countOf(device, 'registered') > registered,
    device,
    application,
  )
}

test('Leshan registers, is read and observed, changes its address, and is still observed after a kill of the broker', async (t) => {
  const stage = await registerDevice(t, 'leshan')
  if (stage === undefined) return
  const { device, relay, application: before } = stage
  const read = { reqID: 1, msgType: 'read', path: '/3/0/0' }
  assert.match(await command(before, device, read), /"value":"Leshan"/)
  await command(before, device, { reqID: 2, msgType: 'observe', path: '/3/0/9' })
  await changeLevel(before, device, 1)

  relay.changeAddresses()
  await update(stage, before)
  assert.match(await command(before, device, { reqID: 3, msgType: 'read', path: '/3/0/1' }), /"value":"model"/)
  await changeLevel(before, device, 2)

  const after = await stage.restart()
  await changeLevel(after, device, 3)
  assert.equal(countOf(device, 'registered'), 1, 'the observation continues without another registration')
  await update(stage, after)
  assert.match(await command(after, device, { reqID: 4, msgType: 'read', path: '/3/0/2' }), /"value":"serial"/)
})

test('Leshan sleeps in queue mode: a command waits for its next update, also when the broker is killed', async (t) => {
  const stage = await registerDevice(t, 'leshan-queue', ['queue'])
  if (stage === undefined) return
  const { device, application: before } = stage
  const [first, second] = [
    { reqID: 1, msgType: 'read', path: '/3/0/0' },
    { reqID: 2, msgType: 'read', path: '/3/0/1' },
  ]
  await command(before, device, { reqID: 3, msgType: 'observe', path: '/3/0/9' })
  const asleepFromMs = performance.now() + awakeMs
  await waitFor('the device sleeps', () => performance.now() > asleepFromMs, device, before)
  await send(before, first)
  const after = await stage.restart()
  await send(after, second)
  assert.equal([...before.messages, ...after.messages].filter((text) => isResponse(text, first)).length, 0)
  await update(stage, after)
  assert.match(await receive(after, device, first), /"value":"Leshan"/)
  assert.match(await receive(after, device, second), /"value":"model"/)
  await changeLevel(after, device, 1)
})
