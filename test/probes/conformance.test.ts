// `godwit conformance` against Godwit, which conforms to all statements, and against a server that only sends CONNACK.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { statements as normative } from '../conformance/statements.ts'
import { statements } from '../../lib/probes/conformance/statements.ts'
import { runCtl } from '../cli/ctl/ctl.ts'
import { runHere } from '../cli/run-here.ts'
import { startBroker } from '../e2e/godwit-process.ts'
import { longTest } from '../test-length.ts'

test('every clause is one of the standards', () => {
  const known = new Set(normative.map(({ mark }) => mark))
  const unknown = statements.flatMap(({ v311, v5 }) =>
    [v311, v5?.replace('MQTT-', 'MQTT5-')].filter((clause) => clause !== undefined && !known.has(clause)),
  )
  assert.deepEqual(unknown, [])
})

test('Godwit with two shards conforms to all statements of both versions, and the report has each of them', async (t) => {
  const broker = await startBroker(t, { set: ['node.shards=2'] })
  const checked = await runHere(['conformance', '--url', `mqtt://127.0.0.1:${broker.port}`, '--timeout', '20000'])
  assert.equal(checked.code, 0, checked.output)
  const lines = checked.output.trimEnd().split('\n')
  const expected = statements.flatMap(({ v311, v5 }) => [v311, v5]).filter((clause) => clause !== undefined).length
  assert.equal(lines.at(-1), `the broker conforms to ${expected} of ${expected} statements`)
  const left = await runCtl(t, ['clients', 'list', '--json', '--data', broker.dataDirectory])
  assert.deepEqual(JSON.parse(left.output), [], 'no session of a check is left behind')
  const retained = await runCtl(t, ['retained', 'list', 'check-#', '--json', '--data', broker.dataDirectory])
  assert.equal(retained.output.includes('check-'), false, retained.output)
  assert.match(lines[0] ?? '', /^kept {4}3\.1\.1 {2}MQTT-3\.1\.0-2 +a second CONNECT ends the connection$/)
})

// Shows that the test above would fail for a broker that violates the statements.
longTest('each violated clause of a broker that only sends CONNACK is reported', async (t) => {
  const nothing = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.write(Buffer.from([0x20, 2, 0, 0]))
    socket.resume()
  }).listen(0, '127.0.0.1')
  await once(nothing, 'listening')
  t.after(() => nothing.close())
  const { port } = nothing.address() as AddressInfo
  const words = ['--url', `mqtt://127.0.0.1:${port}`, '--protocol', '4', '--timeout', '300', '--json']
  const checked = await runHere(['conformance', ...words])
  assert.equal(checked.code, 1, checked.errors)
  const results = JSON.parse(checked.output) as { clause: string; isKept: boolean; seen?: string }[]
  const kept = results.filter(({ isKept }) => isKept).map(({ clause }) => clause)
  assert.deepEqual(kept, ['MQTT-3.2.2-1'])
  const ping = results.find(({ clause }) => clause === 'MQTT-3.12.4-1')
  assert.equal(ping?.seen, 'no PINGRESP: no packet arrived')
})
