// A gateway must not use the port of an MQTT listener. Sockets of shards share ports, so the system would accept both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GodwitConfig, loadConfig } from '../../src/config/index.ts'
import { GatewayPlanner } from '../../src/node/gateways/gateway-config.ts'
import { reservePort } from '../e2e/reserve-port.ts'

function configOf(text: string): GodwitConfig {
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded)
  return loaded.config
}

async function problemOf(listener: string, gateway: string): Promise<string | undefined> {
  const planned = await new GatewayPlanner(2).plan(configOf(`${listener}\n${gateway}`), [])
  return 'problem' in planned ? planned.problem : undefined
}

test('a gateway with the TCP port of an MQTT listener is refused, and one with the same UDP port is accepted', async (t) => {
  const port = await reservePort(t)
  const stomp = `gateway.stomp.listeners.tcp.a.bind = "127.0.0.1:${port}"`
  for (const bind of [`127.0.0.1:${port}`, `0.0.0.0:${port}`, `${port}`])
    assert.equal(
      await problemOf(`listeners.tcp.bind = "${bind}"`, stomp),
      `gateway.stomp.listeners.tcp.a.bind: 127.0.0.1:${port} is that of listeners.tcp.default; choose another one`,
    )
  const coap = `gateway.coap.listeners.udp.a.bind = "127.0.0.1:${port}"`
  assert.equal(await problemOf(`listeners.tcp.bind = ${port}`, coap), undefined)
  assert.equal(await problemOf('listeners.tcp.bind = "127.0.0.1:0"', stomp), undefined)
})
