// An MQTT.js client for one test.

import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { Scope } from './godwit-process.ts'

/** Connects once, with MQTT 5.0 unless `options` say otherwise. The client is closed when the test ends. */
export async function connected(
  t: Scope,
  { port }: { readonly port: number },
  options: IClientOptions,
): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    ...options,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Resolves with all received payloads as soon as there are `count`. */
export function receivePayloads(client: MqttClient, count: number): Promise<string[]> {
  const seen: string[] = []
  return new Promise((resolve) => {
    client.on('message', (_, payload) => {
      seen.push(String(payload))
      if (seen.length === count) resolve(seen)
    })
  })
}
