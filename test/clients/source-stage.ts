// Shared parts of tests of sources with real services: a rule publishes the messages that a source receives, and a persistent
// session subscribes to them.

import mqtt from 'mqtt'
import type { BrokerWithApi } from '../management/api.ts'

const persistent: mqtt.IClientOptions = {
  clientId: 'offline',
  clean: false,
  protocolVersion: 5,
  reconnectPeriod: 0,
  properties: { sessionExpiryInterval: 3_600 },
}

/** A rule that publishes each message of the source to `from/source`. `payload`: a template. */
export function ruleFrom(source: string, payload: string): string {
  return `rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/${source}\\"",actions=[{function=republish,args={topic="from/source",qos=1,payload="${payload}"}}]}`
}

/** Creates a persistent session, which receives all later messages, also while its client is disconnected. */
export async function createPersistentSession(port: number): Promise<void> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, persistent)
  await client.subscribeAsync('from/source', { qos: 1 })
  await client.endAsync()
}

/** Adds payloads that the session receives until there are `count` different ones. */
export async function receiveUntil(port: number, received: Set<string>, count: number): Promise<void> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, persistent)
  const enough = Promise.withResolvers<void>()
  client.on('message', (_topic, payload) => {
    received.add(payload.toString())
    if (received.size >= count) enough.resolve()
  })
  client.on('error', enough.reject)
  await enough.promise
  await client.endAsync(true)
}

/** Resolves when the source has the status. */
export async function untilSource(
  broker: BrokerWithApi,
  source: string,
  status: string,
): Promise<{ readonly status_reason: string }> {
  for (let pauseMs = 20; ; pauseMs = Math.min(300, pauseMs * 1.5)) {
    const { json } = await broker.request(`/api/v5/sources/${source}`)
    if (json.status === status) return json
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** The numbers of the payloads, in ascending order. */
export function numbersIn(received: ReadonlySet<string>): readonly number[] {
  return [...received].map((text) => Number(text.split(' ')[0])).toSorted((a, b) => a - b)
}

export function numbersUpTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
