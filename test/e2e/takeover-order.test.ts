// A client that reconnects right after its last packets does not overtake them, whatever shards have the sockets of both connections, and
// whatever transport and version it uses: its last messages arrive, a DISCONNECT cancels the will, and the session is the one that the
// packets left. All of it under load, because an idle shard reads everything in order anyway.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { MqttClient } from 'mqtt'
import { generate, type Packet } from 'mqtt-packet'
import { Authority } from '../transports/certificates.ts'
import { oneIn, shardNumbers } from '../test-length.ts'
import { type Broker, portOf, shared, startBroker, temporaryFolder } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'
import { RawClient, type RawEnd, type RawTransport } from './raw-mqtt.ts'

const server = new Authority('The test authority').issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })

type Version = 4 | 5
type SessionKind = 'clean' | 'persistent' | 'expiry 0'

/** How the older connection ends after its last messages. */
const endings = ['DISCONNECT', 'DISCONNECT with will', 'close', 'half-close', 'reset'] as const
type Ending = (typeof endings)[number]

interface Case {
  readonly transport: RawTransport
  readonly version: Version
  readonly session: SessionKind
  readonly ending: Ending
}

/** Pairs of connections of each case. */
const repetitions = 4
/** Messages before the end, of QoS 0, 1 and 2 in turn. */
const messages = 9

const cases: readonly Case[] = (['tcp', 'tls', 'ws'] as const).flatMap((transport) =>
  ([4, 5] as const).flatMap((version) =>
    (['clean', 'persistent', 'expiry 0'] as const).flatMap((session) =>
      endings
        .filter((ending) => version === 5 || ending !== 'DISCONNECT with will')
        .map((ending) => ({ transport, version, session, ending })),
    ),
  ),
)

const toBytes = (version: Version, packets: readonly Packet[]): Buffer =>
  Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: version })))

function connectPacket({ version, session }: Case, clientId: string, isFirst: boolean): Packet {
  const expiry = session === 'persistent' ? 60 : 0
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: version,
    clientId,
    clean: session === 'clean' || (version === 4 && session === 'expiry 0'),
    keepalive: 60,
    ...(version === 5 && { properties: { sessionExpiryInterval: expiry } }),
    ...(isFirst && { will: { topic: `wills/${clientId}`, payload: Buffer.from('will'), qos: 0, retain: false } }),
  }
}

function lastPackets({ ending }: Case, clientId: string): Packet[] {
  const packets: Packet[] = Array.from({ length: messages }, (_, number) => ({
    cmd: 'publish',
    topic: `last/${clientId}`,
    payload: String(number),
    qos: (number % 3) as 0 | 1 | 2,
    messageId: number + 1,
    dup: false,
    retain: false,
  }))
  if (ending === 'DISCONNECT') packets.push({ cmd: 'disconnect', reasonCode: 0 })
  if (ending === 'DISCONNECT with will') packets.push({ cmd: 'disconnect', reasonCode: 4 })
  return packets
}

const marker = (clientId: string): Packet => ({
  cmd: 'publish',
  topic: `markers/${clientId}`,
  payload: '',
  qos: 0,
  dup: false,
  retain: false,
})

const socketEnd: Readonly<Record<Ending, RawEnd | undefined>> = {
  DISCONNECT: undefined,
  'DISCONNECT with will': undefined,
  close: 'close',
  'half-close': 'half-close',
  reset: 'reset',
}

class Received {
  readonly payloads = new Map<string, string[]>()
  readonly #waiting = new Map<string, () => void>()

  constructor(subscriber: MqttClient) {
    subscriber.on('message', (topic, payload) => {
      const list = this.payloads.get(topic) ?? []
      this.payloads.set(topic, list)
      list.push(String(payload))
      this.#waiting.get(topic)?.()
    })
  }

  /** Resolves when the marker of the client has arrived. */
  marker(clientId: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(`markers/${clientId}`, resolve))
  }

  of(topic: string): string {
    return (this.payloads.get(topic) ?? []).join()
  }
}

/** Returns what is wrong after the reconnection. */
async function reconnect(broker: Broker, one: Case, clientId: string, received: Received): Promise<string[]> {
  const { transport, version, session, ending } = one
  const port = transport === 'tcp' ? broker.port : portOf(broker, transport === 'tls' ? 'ssl' : 'ws')
  const older = await RawClient.open({ transport, port, version })
  older.send(toBytes(version, [connectPacket(one, clientId, true)]))
  await older.packet('connack')
  const newer = await RawClient.open({ transport, port, version })
  older.send(toBytes(version, lastPackets(one, clientId)), socketEnd[ending])
  newer.send(toBytes(version, [connectPacket(one, clientId, false)]))
  const connack = await newer.packet('connack')
  const expected = Array.from({ length: messages }, (_, number) => String(number)).join()
  const hasWill = ending !== 'DISCONNECT'
  // Everything before the takeover is delivered before this.
  newer.send(toBytes(version, [marker(clientId)]))
  await received.marker(clientId)
  const wrong: string[] = []
  if (received.of(`last/${clientId}`) !== expected) wrong.push(`messages ${received.of(`last/${clientId}`)}`)
  if (received.of(`wills/${clientId}`) !== (hasWill ? 'will' : '')) wrong.push(hasWill ? 'no will' : 'a will')
  const isPresent = connack?.type === 'connack' && connack.sessionPresent
  // A reset may leave the older connection open until it is taken over; a session without expiry is still there then.
  if (session !== 'expiry 0' && isPresent !== (session === 'persistent')) wrong.push(`session present ${isPresent}`)
  if (session === 'expiry 0' && ending.startsWith('DISCONNECT') && isPresent) wrong.push('the ended session is present')
  newer.socket.destroy()
  older.socket.destroy()
  return wrong.map((text) => `${clientId}: ${text}`)
}

/** Clients that keep all shards busy. */
async function startLoad(t: TestContext, broker: Broker): Promise<() => void> {
  let isRunning = true
  const payload = Buffer.alloc(200)
  const publishers = await Promise.all(
    Array.from({ length: 4 }, (_, number) => connected(t, broker, { clientId: `load-${number}` })),
  )
  for (const [number, publisher] of publishers.entries()) {
    await publisher.subscribeAsync(`load/${(number + 1) % publishers.length}`)
    const send = (): void => {
      for (let count = 0; count < 50; count++) publisher.publish(`load/${number}`, payload)
      if (isRunning) setImmediate(send)
    }
    send()
  }
  return () => {
    isRunning = false
  }
}

for (const shards of shardNumbers(1, 3)) {
  const sharedBroker = shared(async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'cert.pem'), server.certificate)
    await writeFile(join(folder, 'key.pem'), server.key)
    return startBroker(t, {
      set: [
        `node.shards=${shards}`,
        'listeners.ssl.bind="127.0.0.1:0"',
        `listeners.ssl.certfile="${join(folder, 'cert.pem')}"`,
        `listeners.ssl.keyfile="${join(folder, 'key.pem')}"`,
        'listeners.ws.bind="127.0.0.1:0/mqtt"',
      ],
    })
  })

  void test(`with ${shards} shards, a client that reconnects does not overtake its last packets`, async (t) => {
    const broker = await sharedBroker()
    const subscriber = await connected(t, broker, { clientId: 'subscriber' })
    await subscriber.subscribeAsync(['last/#', 'wills/#', 'markers/#'], { qos: 1 })
    const received = new Received(subscriber)
    const endLoad = await startLoad(t, broker)
    const wrong: string[] = []
    for (const one of oneIn(2, cases)) {
      const { transport, version, session, ending } = one
      const pairs = Array.from({ length: repetitions }, (_, number) =>
        reconnect(broker, one, `${transport} ${version} ${session} ${ending} ${number}`, received),
      )
      wrong.push(...(await Promise.all(pairs)).flat())
    }
    endLoad()
    assert.deepEqual(wrong, [])
  })
}
