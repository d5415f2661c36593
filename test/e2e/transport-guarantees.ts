// Checks that apply to each transport.

import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import type { IClientOptions, IPublishPacket, MqttClient } from 'mqtt'

export const protocols = [
  { name: '3.1', options: { protocolId: 'MQIsdp', protocolVersion: 3 } },
  { name: '3.1.1', options: { protocolId: 'MQTT', protocolVersion: 4 } },
  { name: '5.0', options: { protocolId: 'MQTT', protocolVersion: 5 } },
] as const

export type Protocol = (typeof protocols)[number]

/** Connects a client, which is closed when the test ends. */
export type Connect = (options: IClientOptions) => Promise<MqttClient>

export interface Guarantee {
  readonly name: string
  readonly check: (protocol: Protocol, connect: Connect) => Promise<void>
}

const levels = [0, 1, 2] as const
/** Many times the size of the largest segment or frame of each transport. */
const largeBytes = 3_000_000

/** They can share a broker: topics and client IDs contain the name of the protocol version. */
export const guarantees: readonly Guarantee[] = [
  { name: 'messages arrive at each QoS, in order', check: messagesArrive },
  { name: 'a later subscriber receives a retained message', check: retainedMessageArrives },
  { name: 'the will is published when a connection breaks', check: willIsPublished },
  { name: 'a large message arrives complete', check: largeMessageArrives },
]

async function messagesArrive(protocol: Protocol, connect: Connect): Promise<void> {
  const { name, options } = protocol
  for (const qos of levels) {
    const subscriber = await connect({ ...options, clientId: `sub-${name}-${qos}` })
    const publisher = await connect({ ...options, clientId: `pub-${name}-${qos}` })
    await subscriber.subscribeAsync(`${name}/+/level-${qos}`, { qos })
    const seen: string[] = []
    const all = new Promise<void>((resolve) => {
      subscriber.on('message', (topic, payload, packet) => {
        assert.equal(packet.qos, qos)
        seen.push(`${topic} ${String(payload)}`)
        if (seen.length === 20) resolve()
      })
    })
    const topic = `${name}/kitchen/level-${qos}`
    await Promise.all(Array.from({ length: 20 }, (_, number) => publisher.publishAsync(topic, `${number}`, { qos })))
    await all
    const expected = Array.from({ length: 20 }, (_, number) => `${topic} ${number}`)
    assert.deepEqual(seen, expected)
  }
}

async function retainedMessageArrives({ name, options }: Protocol, connect: Connect): Promise<void> {
  const publisher = await connect({ ...options, clientId: `keeps-${name}` })
  await publisher.publishAsync(`state/${name}/door`, 'open', { qos: 1, retain: true })
  const subscriber = await connect({ ...options, clientId: `late-${name}` })
  const arrived = nextMessage(subscriber)
  await subscriber.subscribeAsync(`state/${name}/#`, { qos: 1 })
  const { topic, payload, packet } = await arrived
  const expected = { topic: `state/${name}/door`, payload: 'open', retain: true }
  assert.deepEqual({ topic, payload: String(payload), retain: packet.retain }, expected)
}

async function willIsPublished({ name, options }: Protocol, connect: Connect): Promise<void> {
  const watcher = await connect({ ...options, clientId: `will-subscriber-${name}` })
  await watcher.subscribeAsync(`wills/${name}/#`, { qos: 1 })
  const arrived = nextMessage(watcher)
  const will = { topic: `wills/${name}/sensor`, payload: Buffer.from('gone'), qos: 1, retain: false } as const
  const sensor = await connect({ ...options, clientId: `sensor-${name}`, will })
  sensor.stream.destroy()
  const { topic, payload } = await arrived
  assert.deepEqual({ topic, payload: String(payload) }, { topic: `wills/${name}/sensor`, payload: 'gone' })
}

async function largeMessageArrives({ name, options }: Protocol, connect: Connect): Promise<void> {
  const subscriber = await connect({ ...options, clientId: `reads-much-${name}` })
  await subscriber.subscribeAsync(`large/${name}`, { qos: 1 })
  const arrived = nextMessage(subscriber)
  const publisher = await connect({ ...options, clientId: `says-much-${name}` })
  const payload = Buffer.alloc(largeBytes, 'all of it. ')
  await publisher.publishAsync(`large/${name}`, payload, { qos: 1 })
  assert.ok((await arrived).payload.equals(payload))
}

/** Like `once`, for all events: the type of MQTT.js lacks some of them. */
export function eventOf(client: MqttClient, event: string): Promise<unknown[]> {
  return once(client as unknown as EventEmitter, event)
}

export async function nextMessage(
  client: MqttClient,
): Promise<{ topic: string; payload: Buffer; packet: IPublishPacket }> {
  const [topic, payload, packet] = await eventOf(client, 'message')
  return { topic: String(topic), payload: payload as Buffer, packet: packet as IPublishPacket }
}
