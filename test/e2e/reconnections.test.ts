// The scenario of reconnections (test/crash/reconnect-scenario.ts) over WebSocket and TLS: the end of a connection is received through
// frames or records, and with several shards through a relay.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { runReconnectScenario } from '../crash/reconnect-scenario.ts'
import { Authority } from '../transports/certificates.ts'
import { type Broker, portOf, type Scope, startBroker, temporaryFolder } from './godwit-process.ts'
import { longTest } from '../test-length.ts'

const scenario = { messages: 1_500, messagesPerConnection: 97, receiveMaximum: 30, silenceMs: 60_000 }

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })

// Daily: TLS below, TCP in test/crash/reconnect.test.ts.
longTest('[MQTT5-4.6.0-5] a session that reconnects over WebSocket gets everything in order', async (t) => {
  const broker = await startBroker(t, { set: ['node.shards=3', 'listeners.ws.bind="127.0.0.1:0/mqtt"'] })
  await checkScenarios(broker, `ws://127.0.0.1:${portOf(broker, 'ws')}/mqtt`)
})

test('[MQTT5-4.6.0-5] a session that reconnects over TLS gets everything in order', async (t) => {
  const folder = await temporaryFolder(t)
  const files = { certfile: join(folder, 'cert.pem'), keyfile: join(folder, 'key.pem') }
  await writeFile(files.certfile, server.certificate)
  await writeFile(files.keyfile, server.key)
  const settings = ['bind="127.0.0.1:0"', `certfile="${files.certfile}"`, `keyfile="${files.keyfile}"`]
  const broker = await startBroker(t, { set: ['node.shards=2', ...settings.map((line) => `listeners.ssl.${line}`)] })
  const port = await tlsFor(t, portOf(broker, 'ssl'))
  await checkScenarios(broker, `mqtt://127.0.0.1:${port}`)
})

async function checkScenarios(broker: Broker, url: string): Promise<void> {
  for (const qos of [1, 2] as const) {
    const { connections, missing, late, repeated } = await runReconnectScenario({
      ...scenario,
      url,
      qos,
      name: `qos-${qos}`,
    })
    assert.deepEqual({ missing, late }, { missing: 0, late: 0 }, `QoS ${qos}`)
    if (qos === 2) assert.equal(repeated, 0)
    assert.ok(connections > 10, 'the subscriber reconnected often')
  }
  await broker.process.stop()
  assert.doesNotMatch(broker.process.output + broker.process.errors, /queue read skipped/)
}

/** A local port whose connections are forwarded over TLS. If one side of a connection ends, the other is closed at once. */
async function tlsFor(t: Scope, port: number): Promise<number> {
  const proxy = createServer((plain) => {
    const secure = connectTls({ host: '127.0.0.1', port, ca: authority.certificate, servername: 'localhost' })
    for (const [one, other] of [
      [plain, secure],
      [secure, plain],
    ] as const) {
      one.pipe(other)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => proxy.close())
  return (proxy.address() as AddressInfo).port
}
