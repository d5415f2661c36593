// The whole program with a real client: files, anonymous clients, takeover, shared subscriptions. Messages that survive a restart are tested in
// kills.test.ts and stops.test.ts.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions, type IDisconnectPacket, type MqttClient } from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'
import { type Broker, startBroker } from './godwit-process.ts'
import { eventOf } from './transport-guarantees.ts'

async function connected(t: TestContext, broker: Broker, options: IClientOptions): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** A broker for tests that store nothing. */
const configuredBroker = shareConfigurableBroker()

test('only the system user of the broker can read its files; a stop with SIGINT ends with 0', async (t) => {
  const broker = await startBroker(t, { set: ['log.to=[file]'] })
  const publisher = await connected(t, broker, { clientId: 'publisher' })
  await publisher.publishAsync('secret', 'kept', { qos: 1, retain: true })
  const files = await readdir(broker.dataDirectory, { recursive: true })
  assert.ok(files.some((file) => file.endsWith('CURRENT')))
  for (const file of files) {
    // A file of the store may be replaced during this loop.
    const found = statSync(join(broker.dataDirectory, file), { throwIfNoEntry: false })
    if (found !== undefined) assert.equal(found.mode & 0o077, 0, file)
  }
  await publisher.endAsync()
  assert.equal(await broker.process.stop('SIGINT'), 0)
})

test('anonymous clients can connect on loopback unless auth.allow_anonymous is false', async (t) => {
  const open = await configuredBroker()
  await connected(t, open, { clientId: 'anybody' })
  const shut = await configuredBroker(['auth.allow_anonymous=false'])
  const refused = mqtt.connectAsync(`mqtt://127.0.0.1:${shut.port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  await assert.rejects(refused, { code: 0x87 })
})

test('[MQTT5-3.1.4-3] a client whose connection is taken over receives DISCONNECT with the reason', async (t) => {
  const broker = await configuredBroker()
  const first = await connected(t, broker, { protocolVersion: 5, clientId: 'twin' })
  const disconnectPacket = eventOf(first, 'disconnect')
  await connected(t, broker, { protocolVersion: 5, clientId: 'twin' })
  const [packet] = await disconnectPacket
  assert.equal((packet as IDisconnectPacket).reasonCode, 0x8e)
})

test('each message of a shared subscription goes to one of its members', async (t) => {
  const broker = await configuredBroker()
  const seen: string[] = []
  const { promise: all, resolve: resolveAll } = Promise.withResolvers<void>()
  for (const name of ['a', 'b']) {
    const member = await connected(t, broker, { protocolVersion: 5, clientId: name })
    member.on('message', (_, payload) => {
      seen.push(String(payload))
      if (seen.length === 10) resolveAll()
    })
    await member.subscribeAsync('$share/workers/jobs', { qos: 1 })
  }
  const publisher = await connected(t, broker, { protocolVersion: 5, clientId: 'boss' })
  for (let job = 0; job < 10; job += 1) await publisher.publishAsync('jobs', `${job}`, { qos: 1 })
  await all
  assert.deepEqual(
    seen.map(Number).sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
})
