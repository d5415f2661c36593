// An attack on the whole program: a user authenticates with a valid password and uses the client ID of another user.

/* oxlint-disable no-template-curly-in-string -- a placeholder of access rules */

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { reasonCodes } from '../../src/protocol/index.ts'
import { shareConfigurableBroker, type BrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { nextMessage } from './transport-guarantees.ts'

const protocolVersion = 5 as const
const expiry = { properties: { sessionExpiryInterval: 3_600 } }

/** Each test has another device, because sessions and bans remain. */
function peopleOf(device: string) {
  const victim = { clientId: device, username: device, password: 'deep-water', protocolVersion, clean: false }
  const attacker = { clientId: device, username: `mallory of ${device}`, password: 'own-password', protocolVersion }
  const settings = [
    'auth.allow_anonymous=false',
    `auth.password."${victim.username}"=deep-water`,
    `auth.password."${attacker.username}"=own-password`,
    'auth.password.plant=press',
    'auth.acl.rules=[{ permit = allow, action = pubsub, topics = ["devices/${clientid}/#"] }, { permit = allow, username = plant, action = publish, topics = ["#"] }]',
  ]
  return { victim, attacker, settings }
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

async function connected(t: TestContext, { port }: BrokerWithApi, options: IClientOptions): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** `in` if the client connects, else the reason code of CONNACK. */
async function outcome(t: TestContext, broker: BrokerWithApi, options: IClientOptions): Promise<unknown> {
  try {
    await connected(t, broker, options)
    return 'in'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

test('a user with the client ID of another user cannot get its connection or queue, or cause a ban of it', async (t) => {
  const banning = 'flapping_detect={ enable = true, max_count = 3 }'
  const { victim, attacker, settings } = peopleOf('pump-7')
  const broker = await configuredBroker([...settings, banning])
  const device = await connected(t, broker, { ...victim, ...expiry })
  await device.subscribeAsync('devices/pump-7/#', { qos: 1 })
  const outcomes: unknown[] = []
  const { clientIdentifierNotValid: refused, banned } = reasonCodes
  while (outcomes.at(-1) !== banned && outcomes.length < 50) outcomes.push(await outcome(t, broker, attacker))
  // Flapping detection bans the attacker once three attempts have ended, and only the attacker. An attempt ends when its
  // connection closes, which the attacker does not see: the next attempts may come before that.
  assert.deepEqual(outcomes.slice(0, 3), [refused, refused, refused])
  assert.deepEqual(
    [...new Set(outcomes.slice(3, -1))].filter((code) => code !== refused),
    [],
  )
  assert.deepEqual([outcomes.at(-1), await outcome(t, broker, attacker)], [banned, banned])
  assert.equal(device.connected, true, 'the device was not disconnected')
  const plant = await connected(t, broker, { clientId: 'plant', username: 'plant', password: 'press' })
  const arrived = nextMessage(device)
  await plant.publishAsync('devices/pump-7/orders', 'open', { qos: 1 })
  assert.equal(String((await arrived).payload), 'open')

  await device.endAsync()
  await plant.publishAsync('devices/pump-7/orders', 'close', { qos: 1 })
  assert.notEqual(await outcome(t, broker, { ...attacker, clean: false }), 'in')
  const reconnected = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, { ...victim, ...expiry, reconnectPeriod: 0 })
  t.after(() => reconnected.end(true))
  assert.equal(String((await nextMessage(reconnected)).payload), 'close', 'the device is not banned and has its queue')

  await eventually(async () => {
    const alarms = await broker.request('/api/v4/alarms/activated')
    assert.match(alarms.text, /client-id-conflict/)
    assert.match(alarms.text, /mallory/)
  })
  await broker.process.until(/the client ID belongs to another identity/)
})

test('an administrator gives a client ID to another user by ending the session', async (t) => {
  const { victim, attacker, settings } = peopleOf('pump-8')
  const broker = await configuredBroker(settings)
  const device = await connected(t, broker, { ...victim, ...expiry })
  await device.endAsync()
  assert.equal(await outcome(t, broker, attacker), reasonCodes.clientIdentifierNotValid)
  assert.equal(
    (await broker.request('/api/v4/clients/pump-8', { method: 'DELETE' })).json.code,
    112,
    'the client is not connected',
  )
  const ended = await broker.request('/api/v4/clients/pump-8?session=true', { method: 'DELETE' })
  assert.deepEqual([ended.status, ended.json.code], [200, 0])
  assert.equal(await outcome(t, broker, attacker), 'in')
})

test('with auth.client_id_binding = none, a client can use the client ID of each other user', async (t) => {
  const { victim, attacker, settings } = peopleOf('pump-9')
  const broker = await configuredBroker([...settings, 'auth.client_id_binding=none'])
  await connected(t, broker, { ...victim, ...expiry })
  assert.equal(await outcome(t, broker, attacker), 'in')
})
