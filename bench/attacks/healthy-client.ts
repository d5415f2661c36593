// A healthy client on its own thread: it sends itself QoS 1 messages, one at a time. It ends with the first message from its parent thread, and
// replies with a `HealthyReport`.

import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import mqtt from 'mqtt'

export interface HealthyReport {
  /** Of each acknowledgement. */
  readonly latenciesMs: readonly number[]
  /** Messages that were acknowledged and did not come back. */
  readonly missing: number
}

const { url } = workerData as { readonly url: string }
const topic = 'healthy/topic'
const pauseMs = 5
const maxWaitMs = 10_000
const run = { isEnding: false, received: 0 }
parentPort?.once('message', () => (run.isEnding = true))

const healthy = await mqtt.connectAsync(url, { clientId: 'healthy' })
// MQTT.js writes a packet in parts. Without this, the kernel delays the second part until the first is acknowledged, 40 ms later.
if (healthy.stream instanceof Socket) healthy.stream.setNoDelay()
healthy.on('message', () => run.received++)
await healthy.subscribeAsync(topic, { qos: 1 })
parentPort?.postMessage('ready')
const latenciesMs: number[] = []
while (!run.isEnding) {
  const sentAtMs = performance.now()
  await healthy.publishAsync(topic, 'x', { qos: 1 })
  latenciesMs.push(performance.now() - sentAtMs)
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
}
const waitsUntilMs = performance.now() + maxWaitMs
while (run.received < latenciesMs.length && performance.now() < waitsUntilMs)
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
await healthy.endAsync(true)
parentPort?.postMessage({ latenciesMs, missing: latenciesMs.length - run.received } satisfies HealthyReport)
