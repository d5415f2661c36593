// A client that sends everything at once and ends its direction of the connection gets all answers, over each transport, whatever shard has
// its session, and also if its authentication is answered late.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { generate, type Packet } from 'mqtt-packet'
import { Authority } from '../transports/certificates.ts'
import { shardNumbers, versionsOf } from '../test-length.ts'
import { type Broker, portOf, shared, startBroker, temporaryFolder } from './godwit-process.ts'
import { RawClient, type RawTransport } from './raw-mqtt.ts'
import { reservePort } from './reserve-port.ts'

const server = new Authority('The test authority').issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const transports: readonly RawTransport[] = ['tcp', 'tls', 'ws']
/** Enough client IDs and connections that sockets and sessions are on different shards. */
const clients = 8
const answerDelayMs = 150

type Version = 4 | 5

interface Case {
  readonly name: string
  packets(version: Version): readonly Packet[]
  readonly answers: readonly string[]
}

const publish = (qos: 0 | 1 | 2): Packet => ({
  cmd: 'publish',
  topic: 'half/closed',
  payload: 'x',
  qos,
  messageId: 1,
  dup: false,
  retain: false,
})
const subscribe: Packet = { cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'other/#', qos: 1 }] }
const disconnect: Packet = { cmd: 'disconnect' }

const cases: readonly Case[] = [
  { name: 'QoS 0', packets: () => [publish(0)], answers: ['connack'] },
  { name: 'QoS 1', packets: () => [publish(1)], answers: ['connack', 'puback'] },
  { name: 'QoS 2', packets: () => [publish(2)], answers: ['connack', 'pubrec'] },
  { name: 'SUBSCRIBE', packets: () => [subscribe], answers: ['connack', 'suback'] },
  { name: 'all', packets: () => [publish(1), subscribe, publish(0)], answers: ['connack', 'puback', 'suback'] },
  { name: 'QoS 1 and DISCONNECT', packets: () => [publish(1), disconnect], answers: ['connack', 'puback'] },
]

function connectPacket(version: Version, clientId: string, clean: boolean): Packet {
  const properties = version === 5 && !clean ? { properties: { sessionExpiryInterval: 60 } } : {}
  return { cmd: 'connect', protocolId: 'MQTT', protocolVersion: version, clientId, clean, keepalive: 60, ...properties }
}

const toBytes = (version: Version, packets: readonly Packet[]): Buffer =>
  Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: version })))

function targetPort(broker: Broker, transport: RawTransport): number {
  if (transport === 'tcp') return broker.port
  return portOf(broker, transport === 'tls' ? 'ssl' : 'ws')
}

for (const shards of shardNumbers(1, 3))
  for (const isLate of [false, true])
    void describe(`with ${shards} shards, ${isLate ? 'authentication that is answered late' : 'anonymous clients'}`, () => {
      const sharedBroker = shared(async (t) => {
        const folder = await temporaryFolder(t)
        await writeFile(join(folder, 'cert.pem'), server.certificate)
        await writeFile(join(folder, 'key.pem'), server.key)
        const set = [
          `node.shards=${shards}`,
          'listeners.ssl.bind="127.0.0.1:0"',
          `listeners.ssl.certfile="${join(folder, 'cert.pem')}"`,
          `listeners.ssl.keyfile="${join(folder, 'key.pem')}"`,
          'listeners.ws.bind="127.0.0.1:0/mqtt"',
        ]
        if (!isLate) return startBroker(t, { set })
        const service = createServer((_, response) => void setTimeout(() => response.end(), answerDelayMs))
        service.listen(0, '127.0.0.1')
        await once(service, 'listening')
        t.after(() => service.close())
        const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/auth`
        const auth = `auth.http_auth.auth_req={ url = "${url}", method = GET, params { c = "%c" } }`
        return startBroker(t, { set: [...set, 'auth.allow_anonymous=true', auth] })
      })

      for (const transport of transports)
        void test(`over ${transport}, everything before the end is answered, and the connection is closed`, async () => {
          const broker = await sharedBroker()
          const wrong: string[] = []
          const runs = cases.flatMap((one) =>
            versionsOf<Version>(4, 5).flatMap((version) =>
              Array.from({ length: clients }, async (_, number) => {
                const clean = number % 2 === 0
                const client = await RawClient.open({ transport, port: targetPort(broker, transport), version })
                const clientId = `${one.name}-${version}-${number}`
                const packets = [connectPacket(version, clientId, clean), ...one.packets(version)]
                client.send(toBytes(version, packets), 'half-close')
                await client.closed
                const answers = client.packets.map(({ type }) => type).join()
                if (answers !== one.answers.join()) wrong.push(`${clientId}: ${answers}`)
              }),
            ),
          )
          await Promise.all(runs)
          assert.deepEqual(wrong, [])
        })
    })

test('a STOMP client that ends its direction gets the receipts of what it sent before', async (t) => {
  const port = await reservePort(t)
  await startBroker(t, {
    set: ['node.shards=3', 'gateway.stomp.enable=true', `gateway.stomp.listeners.tcp.default.bind="127.0.0.1:${port}"`],
  })
  for (let number = 0; number < clients; number++) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    socket.on('data', (chunk) => {
      const isFirst = text === ''
      text += String(chunk)
      if (!isFirst) return
      socket.write('SUBSCRIBE\nid:1\ndestination:a/b\nreceipt:first\n\n\0')
      socket.end('SEND\ndestination:c/d\nqos:1\nreceipt:second\n\nhello\0')
    })
    socket.write(`CONNECT\naccept-version:1.2\nhost:x\nclient-id:stomp-${number}\n\n\0`)
    await once(socket, 'close')
    assert.match(text, /receipt-id:first/)
    assert.match(text, /receipt-id:second/)
  }
})
