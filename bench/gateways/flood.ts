// Measures how long an MQTT client waits for PUBACK while unauthenticated clients send datagrams to the gateways of the same shard.
//
//   node bench/gateways/flood.ts [seconds] [datagrams per second]
//
// The broker and the attackers are separate processes. The attackers send, from many addresses of 127.0.0.0/8, data that is not a packet,
// packets that belong to no connection, and requests that make the gateway respond.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'
import { startBroker } from './start-broker.ts'

const [mqttPort, snPort, coapPort] = [28_850, 28_851, 28_852]
const unauthenticatedClients = 200
const tickMs = 10
const pauseMs = 5

async function flood(perSecond: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: unauthenticatedClients }, async (_, at) => {
      const socket = createSocket('udp4')
      socket.bind(0, `127.0.${1 + (at >> 8)}.${1 + (at & 255)}`)
      await once(socket, 'listening')
      return socket
    }),
  )
  const datagrams = [
    randomBytes(40),
    Buffer.from('0c0c0100010000313233 3435'.replaceAll(' ', ''), 'hex'),
    Buffer.from('0a16737472616e676572', 'hex'),
    Buffer.from('030101', 'hex'),
    Buffer.from('40010001bb2e77656c6c2d6b6e6f776e04636f7265', 'hex'),
  ]
  let sent = 0
  const beginMs = performance.now()
  setInterval(() => {
    const due = ((performance.now() - beginMs) * perSecond) / 1_000
    for (; sent < due; sent++)
      sockets[sent % unauthenticatedClients]?.send(
        datagrams[sent % datagrams.length] ?? Buffer.of(0),
        sent % 2 ? snPort : coapPort,
        '127.0.0.1',
      )
  }, tickMs)
}

const settings = [
  `listeners.tcp.bind=127.0.0.1:${mqttPort}`,
  `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${snPort}`,
  `gateway.coap.listeners.udp.default.bind=127.0.0.1:${coapPort}`,
]

/** In ms, of PUBLISH with QoS 1 to PUBACK. */
async function p99During(seconds: number): Promise<number> {
  const client = await connectAsync(`mqtt://127.0.0.1:${mqttPort}`, { clientId: 'honest' })
  const took: number[] = []
  const endMs = performance.now() + seconds * 1_000
  while (performance.now() < endMs) {
    const startMs = performance.now()
    await client.publishAsync('a', 'x', { qos: 1 })
    took.push(performance.now() - startMs)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  await client.endAsync()
  took.sort((a, b) => a - b)
  return took[Math.floor(took.length * 0.99)] ?? 0
}

if (process.argv[2] === '--flood') await flood(Number(process.argv[3]))
else {
  const seconds = Number(process.argv[2] ?? 10)
  const perSecond = Number(process.argv[3] ?? 20_000)
  const broker = await startBroker(settings)
  try {
    await p99During(2)
    const quiet = await p99During(seconds)
    const attacker = spawn(process.execPath, [fileURLToPath(import.meta.url), '--flood', String(perSecond)])
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const flooded = await p99During(seconds)
    attacker.kill()
    const ratio = (flooded / quiet).toFixed(2)
    console.log(
      `PUBACK, 99th percentile: ${quiet.toFixed(2)} ms, with ${perSecond} datagrams/s ${flooded.toFixed(2)} ms (${ratio})`,
    )
  } finally {
    await broker.stop()
  }
}
