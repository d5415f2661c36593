// Large wills and large retained messages in the whole program: they are restored from disk, complete and in order, also after a kill.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type Broker, startBroker } from './godwit-process.ts'
import { happening } from './transport-guarantees.ts'
import { shardNumbers } from '../test-length.ts'

const durable = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
const wills = 12
const retained = 12
const willBytes = 60_000
const retainedBytes = 700_000

for (const shards of shardNumbers(1, 2)) {
  test(`large wills and retained messages survive SIGKILL with ${shards} shards`, async (t) => {
    const set = [`node.shards=${shards}`]
    const broker = await startBroker(t, { set })
    const subscriber = await connected(t, broker, { clientId: 'mourner', ...durable })
    await subscriber.subscribeAsync('wills/#', { qos: 1 })
    const authors = Array.from({ length: wills }, (_, number) =>
      connected(t, broker, {
        clientId: `author-${number}`,
        ...(number % 2 === 0 ? durable : {}),
        will: willOf(number),
      }),
    )
    const [author] = await Promise.all(authors)
    for (let number = 0; number < retained; number++)
      await author.publishAsync(`large/${number}`, payloadOf(`retained ${number}`, retainedBytes), {
        qos: 1,
        retain: true,
      })
    await broker.process.stop('SIGKILL')

    const restarted = await startBroker(t, { dataDirectory: broker.dataDirectory, set })
    const messages = connectAndReceive(t, restarted, { clientId: 'mourner', ...durable }, wills)
    const expectedWills = Array.from({ length: wills }, (_, number) => `wills/${number} will ${number}`)
    assert.deepEqual((await messages).map(describeMessage).toSorted(), expectedWills.toSorted())
    const reader = await connected(t, restarted, { clientId: 'reader' })
    const given = received(reader, retained)
    await reader.subscribeAsync('large/#', { qos: 1 })
    const expected = Array.from({ length: retained }, (_, number) => `large/${number} retained ${number}`)
    assert.deepEqual((await given).map(describeMessage).toSorted(), expected.toSorted())
  })
}

test('the will of a client that reconnects at once precedes its next message', async (t) => {
  const broker = await startBroker(t, { set: ['node.shards=2'] })
  const subscriber = await connected(t, broker, { clientId: 'mourner' })
  await subscriber.subscribeAsync('wills/#', { qos: 1 })
  const rounds = 20
  const messages = received(subscriber, 2 * rounds)
  for (let round = 0; round < rounds; round++) {
    const author = await connected(t, broker, { clientId: 'author', ...durable, will: willOf(round) })
    author.stream.destroy()
    const back = await connected(t, broker, { clientId: 'author', ...durable })
    await back.publishAsync(`wills/${round}`, 'back', { qos: 1, retain: true })
    await back.endAsync()
  }
  const rows = (await messages).map(describeMessage)
  for (let round = 0; round < rounds; round++) {
    const ofRound = rows.filter((row) => row.startsWith(`wills/${round} `))
    assert.deepEqual(ofRound, [`wills/${round} will ${round}`, `wills/${round} back`])
  }
})

interface ReceivedMessage {
  readonly topic: string
  readonly payload: Buffer
}

function willOf(number: number): NonNullable<IClientOptions['will']> {
  return { topic: `wills/${number}`, payload: payloadOf(`will ${number}`, willBytes), qos: 1, retain: true }
}

/** A line of text, followed by many bytes that depend on the text. */
function payloadOf(words: string, bytes: number): Buffer {
  return Buffer.concat([Buffer.from(`${words}\n`), Buffer.alloc(bytes, words)])
}

function describeMessage({ topic, payload }: ReceivedMessage): string {
  const end = payload.indexOf('\n')
  if (end === -1) return `${topic} ${payload.toString()}`
  const words = payload.toString('utf8', 0, end)
  const bytes = words.startsWith('will') ? willBytes : retainedBytes
  return payload.equals(payloadOf(words, bytes)) ? `${topic} ${words}` : `${topic} has another payload`
}

async function connected(t: TestContext, broker: Broker, options: IClientOptions): Promise<MqttClient> {
  const address = `mqtt://127.0.0.1:${broker.port}`
  const client = await mqtt.connectAsync(address, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

function received(client: MqttClient, count: number): Promise<ReceivedMessage[]> {
  const messages: ReceivedMessage[] = []
  return new Promise((resolve) => {
    client.on('message', (topic, payload) => {
      messages.push({ topic, payload })
      if (messages.length === count) resolve(messages)
    })
  })
}

/** Adds the handler before it connects, because queued messages follow CONNACK at once. */
async function connectAndReceive(
  t: TestContext,
  broker: Broker,
  options: IClientOptions,
  count: number,
): Promise<ReceivedMessage[]> {
  const address = `mqtt://127.0.0.1:${broker.port}`
  const client = mqtt.connect(address, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  const messages = received(client, count)
  await happening(client, 'connect')
  return await messages
}
