// Three workers share a subscription: each job goes to one of them.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const jobs = 12
const doneBy = new Map()
const busyWorkers = new Set()
let finish
const allDone = new Promise((resolve) => (finish = resolve))

const workers = await Promise.all(
  ['worker-1', 'worker-2', 'worker-3'].map(async (clientId) => {
    const worker = await mqtt.connectAsync(url, { clientId, protocolVersion: 5 })
    worker.on('message', (_topic, payload) => {
      const job = payload.toString()
      if (doneBy.has(job)) throw new Error(`job ${job} was delivered twice`)
      doneBy.set(job, clientId)
      busyWorkers.add(clientId)
      if (doneBy.size === jobs) finish()
    })
    await worker.subscribeAsync('$share/workers/jobs/#', { qos: 1 })
    return worker
  }),
)

const publisher = await mqtt.connectAsync(url)
for (let job = 1; job <= jobs; job++) await publisher.publishAsync(`jobs/${job}`, `${job}`, { qos: 1 })

await allDone
console.log(`${doneBy.size} jobs done by ${busyWorkers.size} workers, each job once`)
for (const client of [publisher, ...workers]) await client.endAsync()
