// The whole program with three shards and real clients: the kernel distributes connections to the shards, without an effect on clients.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt, { type IConnackPacket, type IDisconnectPacket } from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'
import { longTest } from '../test-length.ts'
import { eventually } from './eventually.ts'
import { type Broker, startBroker } from './godwit-process.ts'
import { connected, receivePayloads } from './mqtt-client.ts'
import { payloadOf } from './restarts/messages.ts'
import { eventOf } from './transport-guarantees.ts'

/** Enough connections that not all are accepted by the same shard. */
const connectionCount = 12

const configuredBroker = shareConfigurableBroker(['node.shards=3'])

const durable = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
const clientIds = Array.from({ length: 12 }, (_, number) => `offline-${number}`)

// Daily: fewer clients with each QoS, below.
longTest('two hundred clients exchange messages, whatever shards have their connections and sessions', async (t) => {
  const broker = await configuredBroker()
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
  const broker = await configuredBroker()
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
  const broker = await configuredBroker()
  let present = await connected(t, broker, { clientId: 'the-only-one' })
  for (let time = 0; time < connectionCount; time++) {
    const [[disconnectPacket], next] = await Promise.all([
      eventOf(present, 'disconnect') as Promise<[IDisconnectPacket]>,
      connected(t, broker, { clientId: 'the-only-one' }),
    ])
    assert.equal(disconnectPacket.reasonCode, 0x8e)
    present = next
  }
})

test('a client gets its persistent session and queued messages, whatever shard accepts its connection', async (t) => {
  const broker = await configuredBroker()
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
    const letter = eventOf(reconnected, 'message')
    const [connack] = (await eventOf(reconnected, 'connect')) as [IConnackPacket]
    assert.equal(connack.sessionPresent, true)
    assert.equal(String((await letter)[1]), `letter ${time}`)
    await reconnected.endAsync()
  }
})

async function restart(t: TestContext, broker: Broker, shards: number, signal: NodeJS.Signals): Promise<Broker> {
  await broker.process.stop(signal)
  return startBroker(t, { dataDirectory: broker.dataDirectory, set: [`node.shards=${shards}`] })
}

// Daily: one restart with another number of shards in kills.test.ts and in stops.test.ts.
longTest(
  'sessions, their queues and retained messages are restored after restarts with other numbers of shards',
  async (t) => {
    let broker = await startBroker(t, { set: ['node.shards=1'] })
    for (const clientId of clientIds) {
      const firstConnection = await connected(t, broker, { clientId, ...durable })
      await firstConnection.subscribeAsync(['all/#', `own/${clientId}`], { qos: 1 })
      await firstConnection.endAsync()
    }
    const restarts = [
      { shards: 3, signal: 'SIGTERM' },
      { shards: 2, signal: 'SIGKILL' },
      { shards: 1, signal: 'SIGTERM' },
      { shards: 3, signal: 'SIGKILL' },
    ] as const
    const waiting: string[] = []
    for (const [round, { shards, signal }] of restarts.entries()) {
      const publisher = await connected(t, broker, { clientId: `publisher-${round}` })
      await publisher.publishAsync('all/1', `to all ${round}`, { qos: 1, retain: true })
      for (const id of clientIds) await publisher.publishAsync(`own/${id}`, `to one ${round}`, { qos: 1 })
      waiting.push(`to all ${round}`, `to one ${round}`)
      publisher.stream.destroy()
      broker = await restart(t, broker, shards, signal)
      // After each restart, one of the clients reconnects; the others stay disconnected.
      await receivesQueued(t, broker, clientIds[round], waiting)
      const late = await connected(t, broker, { clientId: `late-${round}` })
      const retained = receivePayloads(late, 1)
      await late.subscribeAsync('all/+', { qos: 1 })
      assert.deepEqual(await retained, [`to all ${round}`])
      await late.endAsync()
    }
    for (const id of clientIds.slice(restarts.length)) await receivesQueued(t, broker, id, waiting)
  },
)

async function receivesQueued(t: TestContext, { port }: Broker, clientId: string, expected: string[]): Promise<void> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    clientId,
    ...durable,
  })
  t.after(() => client.end(true))
  assert.deepEqual(await receivePayloads(client, expected.length), expected, clientId)
  await client.endAsync()
}

test('clients on all shards receive messages of each other at each QoS, in order and once', async (t) => {
  const broker = await configuredBroker()
  const clients = await Promise.all(
    Array.from({ length: 9 }, (_, number) => connected(t, broker, { clientId: `client-${number}` })),
  )
  const perClient = 30
  const steadyPayloads = clients.map((client) => receivePayloads(client, clients.length * perClient))
  for (const client of clients) await client.subscribeAsync('talk/#', { qos: 2 })
  for (let number = 0; number < perClient; number++) {
    const qos = (number % 3) as 0 | 1 | 2
    await Promise.all(clients.map((client, own) => client.publishAsync(`talk/${own}`, `${own} ${number}`, { qos })))
  }
  for (const seen of await Promise.all(steadyPayloads)) {
    assert.equal(new Set(seen).size, clients.length * perClient)
    // MQTT.js reports a QoS 2 message at PUBREL, so messages of other QoS levels may be reported earlier.
    for (const own of clients.keys()) {
      for (const qos of [0, 1, 2]) {
        const receivedPayloads = seen
          .map((payload) => payload.split(' ').map(Number))
          .filter(([from, number]) => from === own && number % 3 === qos)
        assert.deepEqual(
          receivedPayloads,
          Array.from({ length: perClient / 3 }, (_, index) => [own, index * 3 + qos]),
        )
      }
    }
  }
})

for (const setting of ['limits.max_connections=6', 'listeners.tcp.max_connections=6']) {
  test(`${setting} applies to the node, whatever shards accept the connections`, async (t) => {
    const broker = await configuredBroker([setting])
    // Clients of another test count until the broker has noticed that they disconnected.
    await eventually(async () => {
      const [{ connections }] = (await broker.request('/api/v4/nodes')).json.data
      const [{ listeners }] = (await broker.request('/api/v4/listeners')).json.data
      const open = listeners.map(({ current_conns }: { current_conns: number }) => current_conns)
      assert.deepEqual([connections, ...new Set(open)], [0, 0])
    })
    const connectedClients = await Promise.all(
      Array.from({ length: 6 }, (_, number) => connected(t, broker, { clientId: `guest-${number}` })),
    )
    const surplus = Array.from({ length: 6 }, (_, number) => {
      const client = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
        clientId: `surplus-${number}`,
        reconnectPeriod: 0,
      })
      client.on('error', () => {})
      t.after(() => client.end(true))
      return new Promise<string>((resolve) => {
        client.once('connect', () => resolve('let in'))
        client.once('close', () => resolve('refused'))
      })
    })
    assert.deepEqual(
      await Promise.all(surplus),
      Array.from({ length: 6 }, () => 'refused'),
    )
    assert.ok(connectedClients.every((connected) => connected.connected))
  })
}

// Daily: test/core/shared with one shard and three.
longTest(
  'shared messages in the queues of sessions that end are delivered to the remaining member, each once',
  async (t) => {
    const before = await startBroker(t, { set: ['node.shards=3'] })
    const brief = ['brief-1', 'brief-2', 'brief-3', 'brief-4']
    for (const clientId of [...brief, 'steady']) {
      const member = await connected(t, before, { clientId, ...durable })
      await member.subscribeAsync('$share/press/job/#', { qos: 2 })
      await member.endAsync()
    }
    const publisher = await connected(t, before, { clientId: 'publisher' })
    const jobs = Array.from({ length: 300 }, (_, number) => `job ${number}`)
    for (const [number, job] of jobs.entries())
      await publisher.publishAsync(`job/${number}`, job, { qos: number % 2 === 0 ? 1 : 2 })
    publisher.stream.destroy()
    const broker = await restart(t, before, 2, 'SIGKILL')
    const steady = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
      clientId: 'steady',
      protocolVersion: 5,
      reconnectPeriod: 0,
      ...durable,
    })
    t.after(() => steady.end(true))
    const steadyPayloads = receivePayloads(steady, jobs.length)
    for (const clientId of brief) await (await connected(t, broker, { clientId, clean: true })).endAsync()
    assert.deepEqual((await steadyPayloads).toSorted(), jobs.toSorted())
  },
)

test('the will of a client that reconnects at once precedes its next message', async (t) => {
  const broker = await configuredBroker()
  const subscriber = await connected(t, broker, { clientId: 'will-subscriber' })
  await subscriber.subscribeAsync('own-wills/#', { qos: 1 })
  const rounds = 20
  const rows: string[] = []
  const all = new Promise<void>((resolve) => {
    subscriber.on('message', (topic, payload) => {
      const [words] = payload.toString().split('\n', 1)
      rows.push(`${topic} ${words}`)
      if (rows.length === 2 * rounds) resolve()
    })
  })
  for (let round = 0; round < rounds; round++) {
    // A large will is read from the disk again.
    const payload = payloadOf('will', 60_000)
    const will = { topic: `own-wills/${round}`, payload, qos: 1, retain: true } as const
    const author = await connected(t, broker, { clientId: 'author', ...durable, will })
    author.stream.destroy()
    const back = await connected(t, broker, { clientId: 'author', ...durable })
    await back.publishAsync(`own-wills/${round}`, 'back', { qos: 1, retain: true })
    await back.endAsync()
  }
  await all
  for (let round = 0; round < rounds; round++) {
    const ofRound = rows.filter((row) => row.startsWith(`own-wills/${round} `))
    assert.deepEqual(ofRound, [`own-wills/${round} will`, `own-wills/${round} back`])
  }
})
