// A healthy client on its own thread: it sends itself QoS 1 messages, one at a time. It ends with the first message from its parent thread, and
// replies with a `HealthyReport`.
//
// It speaks MQTT 3.1.1 with constant packets, so that it leaves no garbage: with MQTT.js, the thread was paused by its own collections for up to
// 117 ms, which looked like delays of the broker.

import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface HealthyReport {
  /** Of each acknowledgement. */
  readonly latenciesMs: readonly number[]
  /** Messages that were acknowledged and did not come back. */
  readonly missing: number
}

const { port } = workerData as { readonly port: number }
const topic = 'healthy/topic'
const pauseMs = 5
const maxWaitMs = 10_000

const packetTypes = { connack: 2, publish: 3, puback: 4, suback: 9 }
const text = (value: string): Buffer => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)])
const packet = (head: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([head, body.length]), body])
}
/** Without keep alive, with a clean session. */
const connectPacket = packet(0x10, text('MQTT'), Buffer.from([4, 2, 0, 0]), text('healthy'))
const subscribePacket = packet(0x82, Buffer.from([0, 1]), text(topic), Buffer.from([1]))
const publishPacket = packet(0x32, text(topic), Buffer.from([0, 1]), Buffer.from('x'))
const packetIdAt = 2 + 2 + topic.length
const pubackPacket = Buffer.from([0x40, 2, 0, 0])

const run = { isEnding: false, received: 0 }
parentPort?.once('message', () => (run.isEnding = true))
const socket = connect({ port, host: '127.0.0.1', noDelay: true })
await once(socket, 'connect')

/** Bytes of packets that are not complete. */
let partial = Buffer.alloc(0)
let expected: { readonly type: number; readonly resolve: () => void } | undefined
socket.on('data', (chunk) => {
  let bytes = partial.length === 0 ? chunk : Buffer.concat([partial, chunk])
  // All packets have fewer than 128 bytes, so the remaining length has one.
  while (bytes.length >= 2 && bytes.length >= 2 + bytes[1]) {
    receive(bytes)
    bytes = bytes.subarray(2 + bytes[1])
  }
  partial = Buffer.from(bytes)
})
socket.on('close', () => {
  if (!run.isEnding) throw new Error('the broker closed the connection of the healthy client')
})

/** `bytes` begins with a packet. */
function receive(bytes: Buffer): void {
  const type = bytes[0] >> 4
  if (type === packetTypes.publish) {
    run.received++
    bytes.copy(pubackPacket, 2, packetIdAt, packetIdAt + 2)
    socket.write(Buffer.from(pubackPacket))
  } else if (type === expected?.type) expected.resolve()
}

function exchange(request: Buffer, type: number): Promise<void> {
  return new Promise((resolve) => {
    expected = { type, resolve }
    socket.write(request)
  })
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pauseMs))

await exchange(connectPacket, packetTypes.connack)
await exchange(subscribePacket, packetTypes.suback)
parentPort?.postMessage('ready')
const latenciesMs: number[] = []
while (!run.isEnding) {
  const sentAtMs = performance.now()
  await exchange(publishPacket, packetTypes.puback)
  latenciesMs.push(performance.now() - sentAtMs)
  await pause()
}
const waitsUntilMs = performance.now() + maxWaitMs
while (run.received < latenciesMs.length && performance.now() < waitsUntilMs) await pause()
socket.destroy()
parentPort?.postMessage({ latenciesMs, missing: latenciesMs.length - run.received } satisfies HealthyReport)
