// The whole program with three shards and real clients: the kernel distributes connections to the shards, without an effect on clients.

import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import { test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions, type IConnackPacket, type IDisconnectPacket, type MqttClient } from 'mqtt'
import { type Broker, shared, startBroker, temporaryFolder } from './godwit-process.ts'
import { longTest } from '../test-length.ts'

const threeShards = { set: ['node.shards=3'] }
/** Enough connections that not all are accepted by the same shard. */
const connectionCount = 12

async function connected(t: TestContext, broker: Broker, options: IClientOptions): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    reconnectPeriod: 0,
    protocolVersion: 5,
    ...options,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Like `once`, for all events: the type of MQTT.js lacks some of them. */
const happening = (client: MqttClient, event: string): Promise<unknown[]> =>
  once(client as unknown as EventEmitter, event)

const sharedBroker = shared((scope) => startBroker(scope, threeShards))

// Daily: fewer clients with each QoS in test/e2e/several-shards.test.ts.
longTest('two hundred clients exchange messages, whatever shards have their connections and sessions', async (t) => {
  const broker = await sharedBroker()
  const clients = await Promise.all(
    Array.from({ length: 200 }, (_, number) =>
      connected(t, broker, { clientId: `device-${number}`, protocolVersion: number % 2 === 0 ? 5 : 4 }),
    ),
  )
  const received = clients.map(() => [] as string[])
  const all = new Promise<void>((resolve) => {
    let left = clients.length * 3
    for (const [number, client] of clients.entries()) {
      client.on('message', (topic, payload) => {
        received[number]?.push(`${topic} ${String(payload)}`)
        if (--left === 0) resolve()
      })
    }
  })
  await Promise.all(clients.map((client, number) => client.subscribeAsync(`to/${number}/+`, { qos: 2 })))
  await Promise.all(
    [0, 1, 2].flatMap((qos) =>
      clients.map((client, number) => {
        const to = (number * 7 + 13) % clients.length
        return client.publishAsync(`to/${to}/${qos}`, 'hello', { qos: qos as 0 | 1 | 2 })
      }),
    ),
  )
  await all
  for (const [number, messages] of received.entries()) {
    assert.deepEqual(
      messages.toSorted(),
      [0, 1, 2].map((qos) => `to/${number}/${qos} hello`),
    )
  }
})

test('messages of one publisher arrive in order and once on each shard', async (t) => {
  const broker = await sharedBroker()
  const subscribers = await Promise.all(
    Array.from({ length: 9 }, (_, number) => connected(t, broker, { clientId: `subscriber-${number}` })),
  )
  const expected = Array.from({ length: 500 }, (_, number) => String(number))
  const lists = subscribers.map((subscriber) => {
    const list: string[] = []
    const whole = new Promise<string[]>((resolve) => {
      subscriber.on('message', (_, payload) => {
        if (list.push(String(payload)) === expected.length) resolve(list)
      })
    })
    return whole
  })
  await Promise.all(subscribers.map((subscriber) => subscriber.subscribeAsync('count/#', { qos: 1 })))
  const publisher = await connected(t, broker, { clientId: 'publisher' })
  await Promise.all(expected.map((number) => publisher.publishAsync('count/up', number, { qos: 1 })))
  for (const list of await Promise.all(lists)) assert.deepEqual(list, expected)
})

test('[MQTT5-3.1.4-3] a new connection with the same client ID takes over, on any shard', async (t) => {
  const broker = await sharedBroker()
  let present = await connected(t, broker, { clientId: 'the-only-one' })
  for (let time = 0; time < connectionCount; time++) {
    const [[disconnectPacket], next] = await Promise.all([
      happening(present, 'disconnect') as Promise<[IDisconnectPacket]>,
      connected(t, broker, { clientId: 'the-only-one' }),
    ])
    assert.equal(disconnectPacket.reasonCode, 0x8e)
    present = next
  }
})

test('a client gets its persistent session and queued messages, whatever shard accepts its connection', async (t) => {
  const broker = await sharedBroker()
  const options = { clientId: 'offline', clean: false, properties: { sessionExpiryInterval: 1_000 } }
  const publisher = await connected(t, broker, { clientId: 'publisher' })
  const firstConnection = await connected(t, broker, options)
  await firstConnection.subscribeAsync('post/#', { qos: 2 })
  await firstConnection.endAsync()
  for (let time = 0; time < connectionCount; time++) {
    await publisher.publishAsync('post/letter', `letter ${time}`, { qos: time % 2 === 0 ? 1 : 2 })
    const reconnected = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
      reconnectPeriod: 0,
      protocolVersion: 5,
      ...options,
    })
    t.after(() => reconnected.end(true))
    const letter = happening(reconnected, 'message')
    const [connack] = (await happening(reconnected, 'connect')) as [IConnackPacket]
    assert.equal(connack.sessionPresent, true)
    assert.equal(String((await letter)[1]), `letter ${time}`)
    await reconnected.endAsync()
  }
})

test('a broker that stops sends DISCONNECT and publishes wills; after the restart, persistent sessions of all shards get each will once', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const broker = await startBroker(t, { ...threeShards, dataDirectory })
  const numbers = Array.from({ length: 12 }, (_, number) => number)
  const stored = { clean: false, properties: { sessionExpiryInterval: 1_000 } }
  const listenerIds = numbers.map((number) => `mourner-${number}`)
  const listeners = await Promise.all(listenerIds.map((clientId) => connected(t, broker, { ...stored, clientId })))
  await Promise.all(listeners.map((listener) => listener.subscribeAsync('wills/+', { qos: 2 })))
  await Promise.all(listeners.map((listener) => listener.endAsync()))
  const clients = await Promise.all(
    numbers.map((number) => connected(t, broker, { ...stored, clientId: `stored-${number}` })),
  )
  for (const number of numbers) {
    const will = { topic: `wills/${number}`, payload: Buffer.from(`${number}`), qos: 2 as const }
    clients.push(await connected(t, broker, { clientId: `mortal-${number}`, will }))
  }
  const disconnectPacket = Promise.all(clients.map((client) => happening(client, 'disconnect')))
  assert.equal(await broker.process.stop(), 0)
  for (const [packet] of (await disconnectPacket) as [IDisconnectPacket][]) assert.equal(packet.reasonCode, 0x8b)

  const again = await startBroker(t, { ...threeShards, dataDirectory })
  const reconnect = async (clientId: string) => {
    const client = mqtt.connect(`mqtt://127.0.0.1:${again.port}`, {
      ...stored,
      reconnectPeriod: 0,
      protocolVersion: 5,
      clientId,
    })
    t.after(() => client.end(true))
    const received: string[] = []
    // Queued messages arrive before this one.
    const end = new Promise<void>((resolve) => {
      client.on('message', (topic, payload) => {
        if (topic === `wills/end of ${clientId}`) resolve()
        else if (!topic.startsWith('wills/end of')) received.push(String(payload))
      })
    })
    const [connack] = (await happening(client, 'connect')) as [IConnackPacket]
    assert.equal(connack.sessionPresent, true, clientId)
    return { client, received, end }
  }
  for (const number of numbers) await reconnect(`stored-${number}`)
  const expected = numbers.map((number) => `${number}`).toSorted()
  for (const clientId of listenerIds) {
    const { client, received, end } = await reconnect(clientId)
    await client.publishAsync(`wills/end of ${clientId}`, '', { qos: 2 })
    await end
    assert.deepEqual(received.toSorted(), expected, clientId)
  }
})
