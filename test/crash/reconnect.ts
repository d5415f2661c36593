// The scenario of reconnect.test.ts at any length: node test/crash/reconnect.ts [--rounds 200] [--shards 1,2,3] [--messages 6000]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBroker } from '../e2e/godwit-process.ts'
import { runReconnectScenario } from './reconnect-scenario.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    shards: { type: 'string', default: '1,2,3' },
    messages: { type: 'string', default: '6000' },
  },
})

const ends: (() => unknown)[] = []
let faults = 0
for (const shards of options.shards.split(',')) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'godwit-reconnect-'))
  const broker = await startBroker(
    { after: (end) => ends.push(end) },
    { dataDirectory, set: [`node.shards=${shards}`] },
  )
  const sum = { connections: 0, missing: 0, late: 0, repeated: 0 }
  for (let round = 1; round <= Number(options.rounds); round++) {
    const qos = round % 2 === 0 ? 2 : 1
    const scenario = {
      messages: Number(options.messages),
      messagesPerConnection: 211,
      receiveMaximum: 30,
      silenceMs: 10_000,
    }
    const url = `mqtt://127.0.0.1:${broker.port}`
    const end = await runReconnectScenario({ ...scenario, url, qos, name: `${shards}-${round}` })
    for (const key of ['connections', 'missing', 'late'] as const) sum[key] += end[key]
    if (qos === 2) sum.repeated += end.repeated
    if (end.missing + end.late + (qos === 2 ? end.repeated : 0) === 0) continue
    faults++
    console.log(`- ${shards} shards, round ${round}, QoS ${qos}: ${JSON.stringify(end)}`)
  }
  console.log(`${options.rounds} rounds, ${shards} shards: ${JSON.stringify(sum)} (repeated: at QoS 2)`)
  for (const end of ends.splice(0)) await end()
  rmSync(dataDirectory, { recursive: true })
}
process.exitCode = faults === 0 ? 0 : 1
