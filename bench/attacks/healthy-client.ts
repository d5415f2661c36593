// A client that publishes at QoS 1, one message at a time, on a thread of its own: how long its acknowledgements take.

import { parentPort, workerData } from 'node:worker_threads'
import mqtt from 'mqtt'

const { url } = workerData as { readonly url: string }
const pauseMs = 5
const run = { isEnding: false }
parentPort?.once('message', () => (run.isEnding = true))

const healthy = await mqtt.connectAsync(url, { clientId: 'healthy' })
const latencies: number[] = []
while (!run.isEnding) {
  const sentAt = performance.now()
  await healthy.publishAsync('healthy/topic', 'x', { qos: 1 })
  latencies.push(performance.now() - sentAt)
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
}
await healthy.endAsync(true)
parentPort?.postMessage(latencies)
