// Sample data for screenshots and checks of pages: clients, messages, users, rules, services.

import { connectAsync, type MqttClient } from 'mqtt'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from '../e2e/godwit-process.ts'
import type { BrokerWithApi } from '../management/api.ts'

export const settingsOfSample = [
  'namespaces.enable=true',
  'gateway.stomp.listeners.tcp.default.bind="127.0.0.1:0"',
  'bridges.mqtt.headquarters.server="mqtt-tcp://127.0.0.1:1"',
  'bridges.mqtt.headquarters.forwards=[{local_topic="plant/#"}]',
  'mqtt.max_mqueue_len=50',
]

const publishMs = 200

type Send = (method: 'POST' | 'PUT', path: string, body: unknown) => Promise<void>

/** Adds at least one entry for every page. Devices publish once to each topic, or with `isLive` until the end of the scope. */
export async function fillBroker(scope: Scope, broker: BrokerWithApi, { isLive = false } = {}): Promise<void> {
  const send: Send = async (method, path, body) => {
    const { status, text } = await broker.request(path, { method, body })
    if (status >= 300) throw new Error(`${path}: ${text}`)
  }
  await send('POST', '/api/v4/auth_username', { username: 'gateway', password: 'a-secret-word' })
  await send('POST', '/api/v4/auth_username', { username: 'operator', password: 'a-secret-word' })
  await send('POST', '/api/v4/acl', { username: 'gateway', topic: 'plant/+/status', action: 'sub', access: 'allow' })
  const ban = { who: 'meter-old', as: 'clientid', reason: 'replaced in May', by: 'operator' }
  await send('POST', '/api/v4/banned', ban)
  await send('POST', '/api/v5/users', { username: 'night-shift', password: 'a-long-password', role: 'viewer' })
  await send('POST', '/api/v4/apps', { app_id: 'reports', name: 'Nightly reports' })
  for (const namespace of ['tenant-a', 'tenant-b']) await send('POST', '/api/v5/namespaces', { namespace })
  await send('POST', '/api/v5/rules', {
    id: 'hot',
    sql: 'SELECT payload.degrees AS degrees, topic FROM "plant/#" WHERE payload.degrees > 21',
    actions: [{ function: 'republish', args: { topic: 'alerts/${topic}', payload: '${degrees}' } }],
  })
  await fillServices(scope, send)
  await send('POST', '/api/v5/schema_registry', {
    name: 'pump',
    type: 'json',
    source: '{"type": "object", "required": ["degrees"]}',
  })
  for (const topic of ['plant/hall-1/degrees', 'plant/hall-2/degrees']) {
    await send('POST', '/api/v5/mqtt/topic_metrics', { topic })
  }
  await send('POST', '/api/v4/trace', { name: 'hall-1', type: 'topic', topic: 'plant/hall-1/#' })
  await send('POST', '/api/v5/data/export', {})
  await connectDevices(scope, broker, isLive)
}

const parametersOf = (path: string) => ({ path, method: 'post', body: '${payload}' })

/** Connectors: one service responds, one refuses, and one is unavailable. */
async function fillServices(scope: Scope, send: Send): Promise<void> {
  const service = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(request.url === '/refused' ? 400 : 200).end())
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  scope.after(() => service.closeAllConnections())
  scope.after(() => service.close())
  const { port } = service.address() as AddressInfo
  await send('POST', '/api/v5/connectors', { type: 'http', name: 'erp', url: `http://127.0.0.1:${port}` })
  await send('POST', '/api/v5/connectors', { type: 'mqtt', name: 'other-plant', server: '127.0.0.1:1' })
  const action = { type: 'http', connector: 'erp' }
  await send('POST', '/api/v5/actions', { ...action, name: 'readings', parameters: parametersOf('/readings') })
  await send('POST', '/api/v5/actions', { ...action, name: 'orders', parameters: parametersOf('/refused') })
  const source = { type: 'mqtt', name: 'other-plant', connector: 'other-plant', parameters: { topic: 'plant/#' } }
  await send('POST', '/api/v5/sources', source)
  await send('POST', '/api/v5/rules', {
    id: 'to-erp',
    sql: 'SELECT payload FROM "plant/hall-1/#"',
    actions: ['http:readings', 'http:orders'],
    description: 'readings of hall 1',
  })
}

async function connectDevices(scope: Scope, broker: BrokerWithApi, isLive: boolean): Promise<void> {
  const connect = (clientId: string, username: string): Promise<MqttClient> =>
    connectAsync({ port: broker.port, clientId, username, password: 'a-secret-word' })
  const pumps = await Promise.all(Array.from({ length: 30 }, (_, number) => connect(`pump-${number}`, 'gateway')))
  scope.after(() => Promise.all(pumps.map((pump) => pump.endAsync(true))))
  for (const [number, pump] of pumps.entries()) {
    await pump.subscribeAsync(`plant/hall-${number % 3}/+`, { qos: 1 })
    const status = { state: 'running', since: '2026-05-04' }
    await pump.publishAsync(`plant/hall-${number % 3}/pump-${number}`, JSON.stringify(status), { retain: true, qos: 1 })
  }
  const watcher = await connectAsync({ port: broker.port, clientId: 'archive', clean: false })
  await watcher.subscribeAsync('plant/#', { qos: 1 })
  await watcher.endAsync()
  for (const [number, pump] of pumps.slice(0, 4).entries()) {
    await pump.publishAsync(`$delayed/${(number + 1) * 3_600}/plant/hall-${number}/start`, '{"speed": 3}', { qos: 1 })
  }
  const publish = async (turn: number): Promise<void> => {
    const degrees = 20 + Math.round(20 * Math.sin(turn / 40)) / 10
    const topic = `plant/hall-${turn % 3}/degrees`
    await pumps[turn % pumps.length]?.publishAsync(topic, JSON.stringify({ degrees }), { qos: 1 })
  }
  for (let turn = 0; turn < 3; turn++) await publish(turn)
  if (!isLive) return
  let turn = 3
  const timer = setInterval(() => void publish(turn++), publishMs)
  scope.after(() => clearInterval(timer))
}
