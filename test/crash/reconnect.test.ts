// A few rounds of the reconnect scenario; `npm run reconnect` runs any number.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../e2e/godwit-process.ts'
import { runReconnectScenario } from './reconnect-scenario.ts'
import { shardNumbers, testLength } from '../test-length.ts'

const scenario = {
  messages: testLength({ daily: 1_500, long: 3_000 }),
  messagesPerConnection: 101,
  receiveMaximum: 30,
  silenceMs: 60_000,
}

for (const shards of shardNumbers(1, 2)) {
  test(`[MQTT5-4.6.0-5] a session that reconnects while messages stream gets all of them in order, with ${shards} shards`, async (t) => {
    const broker = await startBroker(t, { set: [`node.shards=${shards}`] })
    const url = `mqtt://127.0.0.1:${broker.port}`
    for (const [name, qos] of [
      ['first', 1],
      ['second', 2],
      ['third', 1],
    ] as const) {
      const { connections, missing, late, repeated } = await runReconnectScenario({ ...scenario, url, qos, name })
      assert.deepEqual({ missing, late }, { missing: 0, late: 0 }, `QoS ${qos}`)
      if (qos === 2) assert.equal(repeated, 0)
      assert.ok(connections > 10, 'the subscriber reconnected often')
    }
  })
}
