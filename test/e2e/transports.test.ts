// The guarantees of test/e2e/transport-guarantees.ts over each transport. A transport is one entry of the table.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectQuicAsync } from '@currentspace/http3'
import mqtt, { type IClientOptions, MqttClient } from 'mqtt'
import { Authority } from '../transports/certificates.ts'
import { type Broker, portOf, shared, startBroker, temporaryFolder } from './godwit-process.ts'
import { isLong } from '../test-length.ts'
import { eventOf, guarantees, type Protocol, protocols } from './transport-guarantees.ts'

interface Transport {
  readonly name: string
  /** Settings of the listener; the folder contains the certificates. */
  settings(folder: string): readonly string[]
  url(broker: Broker): string
  options(): IClientOptions
  /** Connects a client if MQTT.js does not implement the transport. */
  connect?(url: string, options: IClientOptions): Promise<MqttClient>
}

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const client = authority.issue('device-7')
const trusting = { ca: authority.certificate }

const transports: readonly Transport[] = [
  {
    name: 'TCP',
    settings: () => [],
    url: (broker) => `mqtt://127.0.0.1:${broker.port}`,
    options: () => ({}),
  },
  {
    name: 'TLS 1.3',
    settings: (folder) => ['bind="127.0.0.1:0"', ...certificateIn(folder)].map((line) => `listeners.ssl.${line}`),
    url: (broker) => `mqtts://127.0.0.1:${portOf(broker, 'ssl')}`,
    options: () => ({ ...trusting, minVersion: 'TLSv1.3' }),
  },
  {
    name: 'TLS 1.2 with a client certificate',
    settings: (folder) =>
      [
        'bind="127.0.0.1:0"',
        'verify_peer=true',
        'fail_if_no_peer_cert=true',
        'tls_versions=["tlsv1.2"]',
        `cacertfile="${join(folder, 'ca.pem')}"`,
        ...certificateIn(folder),
      ].map((line) => `listeners.ssl.verified.${line}`),
    url: (broker) => `mqtts://127.0.0.1:${portOf(broker, 'ssl', 'verified')}`,
    options: () => ({ ...trusting, cert: client.certificate, key: client.key }),
  },
  {
    name: 'WebSocket',
    settings: () => ['listeners.ws.bind="127.0.0.1:0/mqtt"'],
    url: (broker) => `ws://127.0.0.1:${portOf(broker, 'ws')}/mqtt`,
    options: () => ({}),
  },
  {
    name: 'WebSocket and TLS with a client certificate',
    settings: (folder) =>
      [
        'bind="127.0.0.1:0/chat"',
        'verify_peer=true',
        'fail_if_no_peer_cert=true',
        `cacertfile="${join(folder, 'ca.pem')}"`,
        ...certificateIn(folder),
      ].map((line) => `listeners.wss.${line}`),
    url: (broker) => `wss://127.0.0.1:${portOf(broker, 'wss')}/chat`,
    options: () => ({ ...trusting, cert: client.certificate, key: client.key }),
  },
  {
    name: 'QUIC with several shards',
    // One shard has the socket and relays two thirds of the connections to the other shards.
    settings: (folder) => ['bind="127.0.0.1:0"', ...certificateIn(folder)].map((line) => `listeners.quic.${line}`),
    url: (broker) => `127.0.0.1:${portOf(broker, 'quic')}`,
    options: () => ({}),
    connect: connectOverQuic,
  },
]

async function connectOverQuic(address: string, options: IClientOptions): Promise<MqttClient> {
  const session = await connectQuicAsync(address, {
    alpn: ['mqtt'],
    ca: authority.certificate,
    servername: 'localhost',
    runtimeMode: 'portable',
  })
  session.on('error', () => {})
  const made = new MqttClient(() => {
    const stream = session.openStream()
    // Without this, the broker does not notice that the client is closed.
    stream.on('error', () => {})
    stream.on('close', () => {
      session.close().catch(() => {
        // The broker has already closed the connection.
      })
    })
    return stream
  }, options)
  await eventOf(made, 'connect')
  return made
}

function certificateIn(folder: string): readonly string[] {
  return [`certfile="${join(folder, 'cert.pem')}"`, `keyfile="${join(folder, 'key.pem')}"`]
}

/** One broker, with a listener for each transport. */
const sharedBroker = shared(async (scope) => {
  const folder = await temporaryFolder(scope)
  await writeFile(join(folder, 'ca.pem'), authority.certificate)
  await writeFile(join(folder, 'cert.pem'), server.certificate)
  await writeFile(join(folder, 'key.pem'), server.key)
  const listeners = transports.flatMap((transport) => transport.settings(folder))
  return startBroker(scope, { set: ['node.shards=3', ...listeners] })
})

/** Versions of MQTT do not depend on the transport: the daily run has all of them over TCP, and the newest over the others. */
function protocolsOver({ name }: Transport): readonly Protocol[] {
  return isLong || name === 'TCP' ? protocols : protocols.slice(-1)
}

for (const transport of transports) {
  test(`over ${transport.name}`, async (t) => {
    const broker = await sharedBroker()
    for (const protocol of protocolsOver(transport)) {
      for (const { name, check } of guarantees) {
        await t.test(`MQTT ${protocol.name}: ${name}`, (t) =>
          check(protocol, async (options) => {
            const ways = { reconnectPeriod: 0, ...transport.options(), ...options }
            const url = transport.url(broker)
            const made = await (transport.connect?.(url, ways) ?? mqtt.connectAsync(url, ways))
            made.on('error', () => {})
            t.after(() => made.end(true))
            return made
          }),
        )
      }
    }
  })
}
