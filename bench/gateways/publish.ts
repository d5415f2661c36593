// How many publications per second one shard takes from constrained devices: MQTT-SN at QoS 0, and CoAP confirmable.
//
//   node bench/gateways/publish.ts [seconds]
//
// The broker is a process of its own. Datagrams that the kernel drops do not count: for MQTT-SN the rate is that of the messages
// that the broker has taken, for CoAP that of the acknowledgements, with a window of requests under way.

import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const seconds = Number(process.argv[2] ?? 5)
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const snPort = 28_840
const coapPort = 28_841
const apiPort = 28_842
const password = 'a-password-for-benchmarks'
const coapWindow = 64
const snBurst = 64

interface Gateway {
  readonly name: string
  readonly metrics: Readonly<Record<string, number>>
  readonly listeners: readonly { readonly running: boolean }[]
}

async function startBroker(folder: string): Promise<ChildProcess> {
  const set = [
    'node.shards=1',
    'listeners.tcp.bind=127.0.0.1:28843',
    `http_server.port=${apiPort}`,
    `http_server.password="${password}"`,
    `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${snPort}`,
    'gateway.mqttsn.predefined=[{id=1,topic="sensors/1"}]',
    `gateway.coap.listeners.udp.default.bind=127.0.0.1:${coapPort}`,
  ]
  const broker = spawn(process.execPath, [program, 'start', '--data', folder, ...set.flatMap((one) => ['--set', one])])
  for await (const chunk of broker.stdout) if (String(chunk).includes('management API')) break
  return broker
}

async function gateways(): Promise<readonly Gateway[]> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const response = await fetch(`http://127.0.0.1:${apiPort}/api/v5/gateways`, { headers: { authorization } })
  return (await response.json()) as readonly Gateway[]
}

async function received(name: string): Promise<number> {
  return (await gateways()).find((gateway) => gateway.name === name)?.metrics['received'] ?? 0
}

/** What is sent before a socket is open is lost. */
async function gatewaysRun(): Promise<void> {
  for (;;) {
    const listeners = (await gateways()).flatMap((gateway) => gateway.listeners)
    if (listeners.length > 0 && listeners.every(({ running }) => running)) return
  }
}

async function openSocket(port: number): Promise<Socket> {
  const socket = createSocket({
    type: 'udp4',
    lookup: (address, _, done) => {
      done(null, address, 4)
    },
  })
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function measureMqttSn(): Promise<number> {
  const socket = await openSocket(snPort)
  socket.send(Buffer.from([0x09, 0x04, 0x04, 0x01, 0, 60, 0x64, 0x65, 0x76]))
  await once(socket, 'message')
  const publish = Buffer.concat([Buffer.from([0x0f, 0x0c, 0x01, 0, 1, 0, 0]), Buffer.from('21.5 deg')])
  const before = await received('mqttsn')
  const beginMs = performance.now()
  const endMs = beginMs + seconds * 1_000
  while (performance.now() < endMs) {
    for (let count = 0; count < snBurst; count++) socket.send(publish)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const taken = (await received('mqttsn')) - before
  const elapsed = (performance.now() - beginMs) / 1_000
  socket.close()
  return taken / elapsed
}

async function measureCoap(): Promise<number> {
  const socket = await openSocket(coapPort)
  let messageId = 0
  let acknowledged = 0
  const publish = (): void => {
    messageId = (messageId + 1) & 0xffff
    const head = Buffer.from([0x40, 0x03, messageId >> 8, messageId & 0xff])
    // Uri-Path ps/s, Uri-Query c=d, payload.
    socket.send(
      Buffer.concat([
        head,
        Buffer.from([0xb2, 0x70, 0x73, 0x01, 0x73, 0x43, 0x63, 0x3d, 0x64, 0xff]),
        Buffer.from('21.5'),
      ]),
    )
  }
  socket.on('message', () => {
    acknowledged++
    publish()
  })
  for (let count = 0; count < coapWindow; count++) publish()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  socket.close()
  return acknowledged / seconds
}

const folder = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
const broker = await startBroker(folder)
try {
  await gatewaysRun()
  const sn = await measureMqttSn()
  console.log(`MQTT-SN QoS 0: ${Math.round(sn).toLocaleString('en')} publications/s`)
  const coap = await measureCoap()
  console.log(`CoAP confirmable: ${Math.round(coap).toLocaleString('en')} publications/s`)
} finally {
  broker.kill('SIGTERM')
  await once(broker, 'exit')
  await rm(folder, { recursive: true })
}
