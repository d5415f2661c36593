// Measures how many times per second one processor runs a rule. Each run has a new message, whose payload is decoded once.
//
//   npx node bench/rules/measure.ts [seconds for each line, 2 by default]

import { compileRule, compileTemplate, RuleEvent, type EventFields, type HostFunctions } from '../../src/rules/index.ts'
import type { RuleValue } from '../../src/values/index.ts'
import { sampleHost } from '../../test/rules/sample-host.ts'

const secondsPerLine = Number(process.argv[2] ?? 2)
const host: HostFunctions = sampleHost()

/** A message as in the broker: the payload is bytes. */
function fieldsOfMessage(topic: string, payload: Buffer): EventFields {
  const columns = new Map<string, RuleValue>([
    ['topic', topic],
    ['payload', payload],
    ['clientid', 'sensor-17'],
    ['qos', 1],
  ])
  return {
    event: 'message.publish',
    readColumn: (name) => columns.get(name),
    listColumnNames: () => [...columns.keys()],
  }
}

function measure(name: string, run: (index: number) => void): void {
  const batch = 1_000
  let runs = 0
  let startedAt = 0
  // The first half second warms the compiler up and does not count.
  const warmUntil = performance.now() + 500
  let endsAt = Infinity
  for (let now = 0; now < endsAt; now = performance.now()) {
    if (startedAt === 0 && now > warmUntil) {
      startedAt = now
      endsAt = now + secondsPerLine * 1_000
      runs = 0
    }
    for (let index = 0; index < batch; index++) run(index)
    runs += batch
  }
  const perSecond = runs / ((performance.now() - startedAt) / 1_000)
  console.log(`${name.padEnd(60)} ${Math.round(perSecond).toLocaleString('en').padStart(12)}/s`)
}

const payloads = Array.from({ length: 1_000 }, (_, index) => {
  return Buffer.from(JSON.stringify({ id: `sensor-${index}`, t: 15 + (index % 11) + 0.5, ok: true }))
})
const fields = payloads.map((payload) => fieldsOfMessage('a/b', payload))

function measureRule(sql: string): void {
  const rule = compileRule(sql)
  measure(sql, (index) => {
    const result = rule.evaluate(new RuleEvent(fields[index]), host)
    if (result.outcome === 'failed') throw result.error
  })
}

console.log(`one core, payload ${payloads[0].toString()}`)
measureRule('SELECT payload.t FROM "a/#" WHERE payload.t > 20')
measureRule('SELECT payload.t AS t, clientid FROM "a/#" WHERE t > 20 AND payload.ok = true')
measureRule('SELECT upper(payload.id) AS id, round(payload.t * 1.8 + 32) AS f FROM "a/#" WHERE topic =~ \'a/+\'')
measureRule('SELECT * FROM "a/#"')
measureRule('FOREACH [1..10] AS n DO n * 2 AS double FROM "a/#"')
measureRule('SELECT regex_extract(payload.id, \'sensor-(\\d+)\') AS id FROM "a/#"')

const template = compileTemplate('{"id":"${payload.id}","t":${payload.t}}')
measure('template {"id":"${payload.id}","t":${payload.t}}', (index) => {
  template.render({ payload: { id: 'sensor-1', t: index } })
})
const sql = 'SELECT payload.t AS t, clientid FROM "a/#" WHERE t > 20 AND payload.ok = true'
measure('compile: 75 characters of SQL', () => compileRule(sql))
