// A bridge over each transport to one remote broker: messages arrive in both directions, in order, at each QoS.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { Authority } from '../transports/certificates.ts'
import { client, Listener, publishNumbered, shareBridged, untilBridge, untilConnected } from './bridge-stage.ts'
import { portOf, type Scope, shared, temporaryFolder } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

const authority = new Authority('The test authority')
const names = { hostNames: ['localhost', '127.0.0.1'] }

interface Remote {
  readonly broker: BrokerWithApi
  /** Writes the files of the listener `swapped`. */
  readonly writeSwapped: (of: Authority) => Promise<void>
  readonly path: (file: string) => string
}

/** One remote broker for all tests of this file. */
const remote = shared(startRemote)
const bridged = shareBridged()

async function startRemote(scope: Scope): Promise<Remote> {
  const folder = await temporaryFolder(scope)
  const path = (file: string): string => join(folder, file)
  const server = authority.issue('localhost', names)
  const bridge = authority.issue('bridge-up')
  const files = {
    'ca.pem': authority.certificate,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'bridge.pem': bridge.certificate,
    'bridge-key.pem': bridge.key,
  }
  for (const [file, content] of Object.entries(files)) await writeFile(path(file), content)
  const writeSwapped = async (of: Authority): Promise<void> => {
    const { certificate, key } = of.issue('localhost', names)
    await writeFile(path('swapped-cert.pem'), certificate)
    await writeFile(path('swapped-key.pem'), key)
  }
  await writeSwapped(authority)
  await writeFile(path('swapped-ca.pem'), authority.certificate)
  const pair = [`certfile="${path('cert.pem')}"`, `keyfile="${path('key.pem')}"`, `cacertfile="${path('ca.pem')}"`]
  const verified = ['verify_peer=true', 'fail_if_no_peer_cert=true']
  const set = [
    'node.shards=1',
    'listeners.ws.bind="127.0.0.1:0"',
    `listeners.ssl.swapped={bind="127.0.0.1:0",certfile="${path('swapped-cert.pem')}",keyfile="${path('swapped-key.pem')}"}`,
    ...['ssl', 'wss', 'quic'].flatMap((kind) => [
      `listeners.${kind}.bind="127.0.0.1:0"`,
      ...[...pair, ...(kind === 'ssl' ? verified : [])].map((line) => `listeners.${kind}.${line}`),
    ]),
  ]
  return { broker: await startBrokerWithApi(scope, { set }), path, writeSwapped }
}

const ways = [
  { name: 'TLS with a certificate of its own', kind: 'ssl', url: 'tls+mqtt-tcp://localhost', path: '' },
  { name: 'WebSocket', kind: 'ws', url: 'ws://127.0.0.1', path: '/mqtt' },
  { name: 'WebSocket over TLS', kind: 'wss', url: 'wss://localhost', path: '/mqtt' },
  { name: 'QUIC', kind: 'quic', url: 'mqtt-quic://localhost', path: '' },
  {
    name: 'QUIC with several streams',
    kind: 'quic',
    url: 'mqtt-quic://localhost',
    path: '',
    more: 'multi_stream = true',
  },
] as const

for (const [number, way] of ways.entries()) {
  test(`a bridge over ${way.name} transfers messages in both directions`, async (t) => {
    const { broker, path } = await remote()
    const topic = `way-${number}`
    const bridge = `
      server = "${way.url}:${portOf(broker, way.kind)}${way.path}"
      proto_ver = ${way.kind === 'ssl' ? 5 : 4}
      clientid = "${topic}"
      clean_start = false
      tls { cacertfile = "${path('ca.pem')}", certfile = "${path('bridge.pem')}", keyfile = "${path('bridge-key.pem')}" }
      forwards = [{ local_topic = "${topic}/up/#", remote_topic = "" }]
      subscription = [{ remote_topic = "${topic}/down/#", local_topic = "", qos = 2 }]
      ${'more' in way ? way.more : ''}`
    const own = await bridged(bridge)
    assert.equal(
      (await untilConnected(own)).proto_ver,
      5,
      'the remote broker is Godwit, so MQTT 5.0 is used instead of the configured version',
    )
    const there = await Listener.at(t, broker.port, `${topic}/up/#`)
    const localListener = await Listener.at(t, own.port, `${topic}/down/#`)
    const publishers = { up: await client(t, own.port), down: await client(t, broker.port) }
    for (const qos of [0, 1, 2] as const) {
      for (const [direction, listener] of [
        ['up', there],
        ['down', localListener],
      ] as const) {
        const to = `${topic}/${direction}/${qos}`
        const texts = await publishNumbered(publishers[direction], to, { qos, from: 0, count: 60 })
        await listener.until(texts)
        assert.deepEqual(
          listener.received.filter((each) => each.topic === to).map(({ text }) => text),
          texts,
        )
      }
    }
    await untilBridge(own, (status) => status.in_flight === 0 && status.spool_depth === 0)
  })
}

test('a hybrid bridge without reachable QUIC servers connects over TCP and reports the server', async (t) => {
  const { broker } = await remote()
  const unusedPort = await reservePort(t)
  const bridge = `
    server = "mqtt-quic://localhost:${unusedPort}"
    hybrid_bridging = true
    hybrid_servers = ["mqtt-quic://127.0.0.1:${unusedPort}", "mqtt-tcp://127.0.0.1:${broker.port}"]
    multi_stream = true
    cancel_timeout = 500
    backoff_max = 1s
    proto_ver = 5
    clientid = hybrid
    forwards = [{ local_topic = "hybrid/#", remote_topic = "", qos = 2 }]`
  const own = await bridged(bridge)
  const there = await Listener.at(t, broker.port, 'hybrid/#')
  const texts = await publishNumbered(await client(t, own.port), 'hybrid/up', { qos: 1, from: 0, count: 30 })
  await there.until(texts)
  assert.deepEqual(
    there.received.map(({ text, qos }) => `${text} ${qos}`),
    texts.map((text) => `${text} 2`),
  )
  const { server, counters } = await untilConnected(own)
  assert.equal(server, `mqtt-tcp://127.0.0.1:${broker.port}`)
  assert.ok(counters.failures >= 2)
})

test('certificates of a bridge change while it runs: its next connection uses the new ones', async (t) => {
  const { broker: there, path, writeSwapped } = await remote()
  const own = await bridged(
    `
    server = "tls+mqtt-tcp://localhost:${portOf(there, 'ssl', 'swapped')}"
    proto_ver = 5
    clientid = swapped
    backoff_max = 1s
    clean_start = false
    ssl.cacertfile = "${path('swapped-ca.pem')}"
    forwards = [{ local_topic = "swapped/#", remote_topic = "" }]`,
  )
  await untilConnected(own)
  const successor = new Authority('The next authority')
  await writeSwapped(successor)
  there.process.child.kill('SIGHUP')
  const received = await Listener.at(t, there.port, 'swapped/#')
  // A change of the file does not affect the open connection, so the bridge must reconnect.
  for (;;) {
    await there.request('/api/v4/clients/swapped', { method: 'DELETE' })
    const { status } = (await own.request('/api/v4/bridges/up')).json.data.bridge.nodes[0]
    if (/TLS handshake failed/.test(status.last_error ?? '')) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const texts = await publishNumbered(await client(t, own.port), 'swapped/waits', { qos: 2, from: 0, count: 10 })
  await writeFile(path('swapped-ca.pem'), successor.certificate)
  await received.until(texts)
  assert.deepEqual(received.texts, texts)
})
