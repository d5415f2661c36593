// Messages, wills, delayed messages and topic metrics that must exist after the broker is killed or stopped.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import mqtt, { type IClientOptions, type IConnackPacket, type IDisconnectPacket, type MqttClient } from 'mqtt'
import type { BrokerWithApi } from '../../management/api.ts'
import type { Broker } from '../godwit-process.ts'
import { connected, receivePayloads } from '../mqtt-client.ts'
import { eventOf } from '../transport-guarantees.ts'
import type { Survives } from './share-restart.ts'

const persistent = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const

export function messagesSurvive(survives: Survives, signal: 'SIGTERM' | 'SIGKILL'): void {
  const durable = { ...persistent, clientId: 'offline' }
  survives(
    `acknowledged messages for a disconnected client survive ${signal}; SIGTERM sends DISCONNECT to MQTT 5 clients`,
    async (scope) => {
      let disconnectPacket: Promise<unknown[]> | undefined
      return {
        async before(broker) {
          const firstConnection = await connected(scope, broker, durable)
          await firstConnection.subscribeAsync('night/#', { qos: 2 })
          await firstConnection.endAsync()
          const publisher = await connected(scope, broker, { clientId: 'publisher' })
          await publisher.publishAsync('night/1', 'at least once', { qos: 1 })
          await publisher.publishAsync('night/2', 'exactly once', { qos: 2 })
          await publisher.publishAsync('morning', 'retained', { qos: 1, retain: true })
          const informed = await connected(scope, broker, { clientId: 'connected-client' })
          disconnectPacket = eventOf(informed, 'disconnect')
        },
        async after(t, broker) {
          if (signal === 'SIGTERM')
            assert.equal(((await disconnectPacket)?.[0] as IDisconnectPacket | undefined)?.reasonCode, 0x8b)
          const seen: string[] = []
          const { client: reconnected, isConnected } = connecting(t, broker, durable)
          const both = new Promise<void>((resolve) => {
            reconnected.on('message', (topic) => {
              seen.push(topic)
              if (seen.length === 3) resolve()
            })
          })
          assert.equal((await isConnected).sessionPresent, true)
          await reconnected.subscribeAsync('morning', { qos: 1 })
          await both
          // MQTT.js reports a QoS 2 message at PUBREL, so other messages may be reported earlier.
          assert.deepEqual(seen.toSorted(), ['morning', 'night/1', 'night/2'])
        },
      }
    },
  )
}

/** A client that is connecting, so that handlers can be added before messages arrive that follow CONNACK. */
function connecting(
  t: TestContext,
  { port }: Broker,
  options: IClientOptions,
): { readonly client: MqttClient; readonly isConnected: Promise<IConnackPacket> } {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  return { client, isConnected: eventOf(client, 'connect').then(([connack]) => connack as IConnackPacket) }
}

export function willsOfAllShardsSurvive(survives: Survives): void {
  survives(
    'a broker that stops sends DISCONNECT and publishes wills; after the restart, persistent sessions of all shards get each will once',
    async (scope) => {
      const numbers = Array.from({ length: 12 }, (_, number) => number)
      const subscriberIds = numbers.map((number) => `will-subscriber-${number}`)
      let disconnectPackets: Promise<unknown[][]> | undefined
      return {
        async before(broker) {
          const connect = (clientId: string, options: IClientOptions = persistent) =>
            connected(scope, broker, { ...options, clientId })
          const subscribers = await Promise.all(subscriberIds.map((clientId) => connect(clientId)))
          await Promise.all(subscribers.map((subscriber) => subscriber.subscribeAsync('wills/+', { qos: 2 })))
          await Promise.all(subscribers.map((subscriber) => subscriber.endAsync()))
          const clients = await Promise.all(numbers.map((number) => connect(`stored-${number}`)))
          for (const number of numbers) {
            const will = { topic: `wills/${number}`, payload: Buffer.from(`${number}`), qos: 2 as const }
            clients.push(await connect(`will-client-${number}`, { will }))
          }
          disconnectPackets = Promise.all(clients.map((client) => eventOf(client, 'disconnect')))
        },
        async after(t, broker) {
          for (const [packet] of ((await disconnectPackets) ?? []) as [IDisconnectPacket][])
            assert.equal(packet.reasonCode, 0x8b)
          const reconnect = async (clientId: string) => {
            const { client, isConnected } = connecting(t, broker, { ...persistent, clientId })
            const received: string[] = []
            // Queued messages arrive before this one.
            const end = new Promise<void>((resolve) => {
              client.on('message', (topic, payload) => {
                if (topic === `wills/end of ${clientId}`) resolve()
                else if (!topic.startsWith('wills/end of')) received.push(String(payload))
              })
            })
            assert.equal((await isConnected).sessionPresent, true, clientId)
            return { client, received, end }
          }
          for (const number of numbers) await reconnect(`stored-${number}`)
          const expected = numbers.map((number) => `${number}`).toSorted()
          for (const clientId of subscriberIds) {
            const { client, received, end } = await reconnect(clientId)
            await client.publishAsync(`wills/end of ${clientId}`, '', { qos: 2 })
            await end
            assert.deepEqual(received.toSorted(), expected, clientId)
          }
        },
      }
    },
  )
}

export function sessionsSurviveWithOtherShards(survives: Survives, signal: 'SIGTERM' | 'SIGKILL'): void {
  const clientIds = Array.from({ length: 12 }, (_, number) => `absent-${number}`)
  survives(
    `sessions, their queues and retained messages are restored after ${signal} with another number of shards`,
    async (scope) => ({
      async before(broker) {
        for (const clientId of clientIds) {
          const firstConnection = await connected(scope, broker, { clientId, ...persistent })
          await firstConnection.subscribeAsync(['all/#', `own/${clientId}`], { qos: 1 })
          await firstConnection.endAsync()
        }
        const publisher = await connected(scope, broker, { clientId: 'publisher for all' })
        await publisher.publishAsync('all/1', 'to all', { qos: 1, retain: true })
        for (const id of clientIds) await publisher.publishAsync(`own/${id}`, `to ${id}`, { qos: 1 })
      },
      async after(t, broker) {
        for (const clientId of clientIds) {
          const { client } = connecting(t, broker, { clientId, ...persistent })
          assert.deepEqual(await receivePayloads(client, 2), ['to all', `to ${clientId}`], clientId)
          await client.endAsync()
        }
        const late = await connected(t, broker, { clientId: 'late' })
        const kept = receivePayloads(late, 1)
        await late.subscribeAsync('all/+', { qos: 1 })
        assert.deepEqual(await kept, ['to all'])
      },
    }),
  )
}

const wills = 12
const retained = 12
const willBytes = 60_000
const retainedBytes = 700_000

export function largeMessagesSurvive(survives: Survives): void {
  survives('large wills and retained messages survive SIGKILL', async (scope) => ({
    async before(broker) {
      const subscriber = await connected(scope, broker, { clientId: 'will-subscriber', ...persistent })
      await subscriber.subscribeAsync('large wills/#', { qos: 1 })
      const authors = Array.from({ length: wills }, (_, number) =>
        connected(scope, broker, {
          clientId: `author-${number}`,
          ...(number % 2 === 0 ? persistent : {}),
          will: {
            topic: `large wills/${number}`,
            payload: payloadOf(`will ${number}`, willBytes),
            qos: 1,
            retain: true,
          },
        }),
      )
      const [author] = await Promise.all(authors)
      for (let number = 0; number < retained; number++)
        await author.publishAsync(`large/${number}`, payloadOf(`retained ${number}`, retainedBytes), {
          qos: 1,
          retain: true,
        })
    },
    async after(t, broker) {
      const messages = connecting(t, broker, { clientId: 'will-subscriber', ...persistent })
      const expectedWills = Array.from({ length: wills }, (_, number) => `large wills/${number} will ${number}`)
      assert.deepEqual((await received(messages.client, wills)).toSorted(), expectedWills.toSorted())
      const reader = await connected(t, broker, { clientId: 'reader' })
      const given = received(reader, retained)
      await reader.subscribeAsync('large/#', { qos: 1 })
      const expected = Array.from({ length: retained }, (_, number) => `large/${number} retained ${number}`)
      assert.deepEqual((await given).toSorted(), expected.toSorted())
    },
  }))
}

/** A line of text, followed by many bytes that depend on the text. */
export function payloadOf(words: string, bytes: number): Buffer {
  return Buffer.concat([Buffer.from(`${words}\n`), Buffer.alloc(bytes, words)])
}

function describeMessage(topic: string, payload: Buffer): string {
  const words = payload.toString('utf8', 0, payload.indexOf('\n'))
  const bytes = words.startsWith('will') ? willBytes : retainedBytes
  return payload.equals(payloadOf(words, bytes)) ? `${topic} ${words}` : `${topic} has another payload`
}

function received(client: MqttClient, count: number): Promise<string[]> {
  const messages: string[] = []
  return new Promise((resolve) => {
    client.on('message', (topic, payload) => {
      messages.push(describeMessage(topic, payload))
      if (messages.length === count) resolve(messages)
    })
  })
}

export function delayedMessagesSurvive(survives: Survives): void {
  survives('a delayed message is acknowledged, survives kill -9, is listed, shown and deleted', async (scope) => {
    const large = 'x'.repeat(5_000)
    return {
      async before(broker) {
        const client = await connected(scope, broker, { clientId: 'author' })
        // Retained, because it may be published before the reader subscribes.
        await client.publishAsync('$delayed/2/soon', 'hello', { qos: 1, retain: true })
        await client.publishAsync('$delayed/3600/later', 'small', { qos: 2 })
        await client.publishAsync('$delayed/3600/later', large, { qos: 1 })
      },
      async after(t, broker) {
        const reader = await connected(t, broker, { clientId: 'reader' })
        const first = new Promise<string>((resolve) =>
          reader.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
        )
        await reader.subscribeAsync('soon', { qos: 1 })
        const listed = (await broker.request('/api/v5/mqtt/delayed/messages')).json
        const later = listed.data.filter(({ topic }: { topic: string }) => topic === 'later')
        assert.equal(later.length, 2)
        assert.equal(await first, 'soon hello')
        const payloads = new Set<string>()
        for (const { node, msgid, from_clientid: from, delayed_interval: interval } of later) {
          assert.deepEqual([from, interval], ['author', 3_600])
          const path = `/api/v5/mqtt/delayed/messages/${encodeURIComponent(node)}/${encodeURIComponent(msgid)}`
          payloads.add(Buffer.from((await broker.request(path)).json.payload, 'base64').toString())
          assert.equal((await broker.request(path, { method: 'DELETE' })).status, 204)
          assert.equal((await broker.request(path, { method: 'DELETE' })).status, 404)
        }
        assert.deepEqual([...payloads].toSorted(), ['small', large])
        const page = (await broker.request('/api/v5/mqtt/delayed/messages?limit=1')).json
        assert.deepEqual(page, { data: [], meta: { page: 1, limit: 1, count: 0, hasnext: false } })
        const put = await broker.request('/api/v5/mqtt/delayed', { method: 'PUT', body: { max_delayed_messages: 7 } })
        assert.deepEqual(put.json, { enable: true, max_delayed_messages: 7 })
        const settings = (await broker.request('/api/v5/mqtt/delayed')).json
        assert.deepEqual(settings, { enable: true, max_delayed_messages: 7 })
      },
    }
  })
}

const request = (broker: BrokerWithApi, method: 'DELETE' | 'GET' | 'POST' | 'PUT', body?: unknown, topic = '') =>
  broker.request(`/api/v5/mqtt/topic_metrics${topic === '' ? '' : `/${encodeURIComponent(topic)}`}`, { method, body })

export function topicMetricsSurvive(survives: Survives): void {
  survives(
    'topics of clients have metrics after they are registered, summed over all shards, and stay registered after a restart',
    async (scope) => ({
      async before(broker) {
        assert.deepEqual((await request(broker, 'GET')).json, [])
        assert.match((await request(broker, 'POST', { topic: 'a/+' })).text, /BAD_REQUEST.*wildcards/)
        const added = await request(broker, 'POST', { topic: 'a/b' })
        assert.equal(added.status, 200, added.text)
        assert.equal((await request(broker, 'POST', { topic: 'a/b' })).status, 409)
        assert.equal((await request(broker, 'GET', undefined, 'a/c')).status, 404)
        const clients = ['m1', 'm2', 'm3', 'm4'].map((clientId) => connected(scope, broker, { clientId }))
        const [first, ...others] = await Promise.all(clients)
        await Promise.all(others.map((client) => client.subscribeAsync('a/#', { qos: 1 })))
        const messages = others.map((client) => new Promise((resolve) => client.once('message', resolve)))
        await first.publishAsync('a/b', 'x', { qos: 1 })
        await Promise.all(messages)
        const { metrics } = (await request(broker, 'GET', undefined, 'a/b')).json
        const { 'messages.in.count': input, 'messages.out.count': output } = metrics
        assert.deepEqual([input, output, metrics['messages.qos1.out.count']], [1, 3, 3])
        assert.equal(metrics['messages.dropped.count'], 0)
        assert.equal(Object.keys(metrics).length, 18)
        assert.equal((await request(broker, 'PUT', { action: 'reset', topic: 'a/b' })).status, 204)
        assert.equal((await request(broker, 'PUT', { action: 'reset', topic: 'a/c' })).status, 404)
        const [row] = (await request(broker, 'GET')).json
        assert.equal(row.metrics['messages.in.count'], 0)
        assert.ok(Date.parse(row.reset_time) >= Date.parse(row.create_time))
        const both = await Promise.all(['x', 'y'].map((topic) => request(broker, 'POST', { topic })))
        assert.deepEqual(
          both.map(({ status }) => status),
          [200, 200],
        )
      },
      async after(_, broker) {
        const topics = (await request(broker, 'GET')).json.map(({ topic }: { topic: string }) => topic)
        assert.deepEqual(topics.toSorted(), ['a/b', 'x', 'y'])
        assert.equal((await request(broker, 'DELETE', undefined, 'x')).status, 204)
        assert.equal((await request(broker, 'DELETE', undefined, 'x')).status, 404)
      },
    }),
  )
}
