// Clients that make the matching of topics as expensive as possible; measures the delays of a healthy client:
//
//   node bench/attacks/matching.ts [--attackers 1] [--seconds 10] [--set KEY=VALUE]...
//
// Each attacker subscribes to every filter {a,+}^16/+ that it is granted and to shared groups of one topic, and publishes to new topics that
// they match. The healthy client publishes at QoS 1, one message at a time; its slowest acknowledgement is printed. Required: less than 100 ms.

import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import mqtt, { type MqttClient } from 'mqtt'
import { startBroker } from '../../test/e2e/godwit-process.ts'
import type { HealthyReport } from './healthy-client.ts'

const { values: options } = parseArgs({
  options: {
    attackers: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    set: { type: 'string', multiple: true, default: [] },
  },
})
const levels = 16
const filtersPerPacket = 1_000
const groups = 50_000

const ends: (() => unknown)[] = []
const broker = await startBroker({ after: (end) => ends.push(end) }, { set: ['node.shards=1', ...options.set] })
const url = `mqtt://127.0.0.1:${broker.port}`

function mixOf(bits: number): string {
  return Array.from({ length: levels }, (_, level) => ((bits >> level) & 1 ? '+' : 'a')).join('/')
}

/** How many packets had a filter that was refused. */
async function subscribeTo(client: MqttClient, filters: readonly string[], untilMs: number): Promise<number> {
  let refused = 0
  for (let from = 0; from < filters.length && Date.now() < untilMs; from += filtersPerPacket) {
    await client.subscribeAsync(filters.slice(from, from + filtersPerPacket), { qos: 0 }).catch(() => refused++)
  }
  return refused
}

async function attack(number: number, untilMs: number): Promise<number> {
  const client = await mqtt.connectAsync(url, { clientId: `attacker-${number}`, protocolVersion: 5 })
  client.on('error', () => {})
  const mixes = Array.from({ length: 2 ** levels }, (_, bits) => `${mixOf(bits)}/+`)
  const shared = Array.from({ length: groups }, (_, group) => `$share/g${group}/shared/topic`)
  const refused = (await subscribeTo(client, mixes, untilMs)) + (await subscribeTo(client, shared, untilMs))
  const beginning = Array.from({ length: levels }, () => 'a').join('/')
  for (let topic = 0; Date.now() < untilMs; topic++) {
    for (let burst = 0; burst < 60; burst++) client.publish(`${beginning}/${number}-${topic}-${burst}`, 'x')
    await client.publishAsync('shared/topic', 'x', { qos: 1 })
  }
  client.end(true)
  return refused
}

const untilMs = Date.now() + Number(options.seconds) * 1_000
const healthy = new Worker(new URL('./healthy-client.ts', import.meta.url), { workerData: { port: broker.port } })
await once(healthy, 'message')
const reported = once(healthy, 'message')
const refused = await Promise.all(
  Array.from({ length: Number(options.attackers) }, (_, number) => attack(number, untilMs)),
)
healthy.postMessage('end')
const [report] = (await reported) as [HealthyReport]
const latencies = report.latenciesMs.toSorted((a, b) => a - b)
const at = (share: number): string => (latencies[Math.floor((latencies.length - 1) * share)] ?? NaN).toFixed(1)
console.log(
  `${refused.length} attackers, ${refused[0]} of their SUBSCRIBE packets had refusals: healthy client ${latencies.length} acknowledgements, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, slowest ${at(1)} ms`,
)
for (const end of ends) await end()
