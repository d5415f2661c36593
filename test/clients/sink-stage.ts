// Shared parts of tests of actions with real services.

import mqtt from 'mqtt'
import type { Scope } from '../e2e/godwit-process.ts'
import { TimeLimit } from '../e2e/time-limit.ts'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'

export async function startWith(
  t: Scope,
  set: readonly string[],
  dataDirectory?: string,
): Promise<{ readonly broker: BrokerWithApi; readonly client: mqtt.MqttClient }> {
  const place = dataDirectory === undefined ? {} : { dataDirectory }
  const broker = await startBrokerWithApi(t, { ...place, set: ['node.shards=2', ...set] })
  return { broker, client: await connectTo(t, broker.port) }
}

/**
 * One broker with two shards for tests that do not kill it: the settings of each test replace those of the previous test. Each test needs other names
 * of actions, because the queue of a removed action remains.
 */
export function shareSinks(): (t: Scope, settings?: readonly string[]) => ReturnType<typeof startWith> {
  const configuredBroker = shareConfigurableBroker(['node.shards=2'])
  return async (t, settings) => {
    const broker = await configuredBroker(settings)
    return { broker, client: await connectTo(t, broker.port) }
  }
}

async function connectTo(t: Scope, port: number): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Less than the time limit of a test, so that the error has the metrics of the action. */
const timeoutMs = 150_000
/** Growing pauses between checks, each of which takes processor time of a program. */
const minPauseMs = 20
const maxPauseMs = 300

/** Repeats a check, because actions emit no event when their queue is empty. */
export async function until(broker: BrokerWithApi, action: string, look: () => Promise<boolean>): Promise<void> {
  const limit = new TimeLimit(timeoutMs)
  let pauseMs = minPauseMs
  while (!(await look())) {
    if (limit.isOver) {
      const { text } = await broker.request(`/api/v5/actions/${action}/metrics`)
      throw new Error(`not reached within ${timeoutMs} ms: ${text}`)
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)
  }
}

export interface ActionView {
  readonly status: string
  readonly status_reason: string
}

export async function actionView(broker: BrokerWithApi, action: string): Promise<ActionView> {
  return (await broker.request(`/api/v5/actions/${action}`)).json as ActionView
}

export async function publishAll(
  client: mqtt.MqttClient,
  from: number,
  to: number,
  topic = 'readings/1',
): Promise<void> {
  for (let number = from; number < to; number++)
    await client.publishAsync(topic, JSON.stringify({ number, text: `it's ${number}; --` }), { qos: 1 })
}

export function ruleTo(action: string): string {
  return `rule_engine.rules.all={sql="SELECT * FROM \\"readings/#\\"",actions=["${action}"]}`
}

export interface DeadLetterView {
  readonly reason: string
}

export async function deadLettersOf(broker: BrokerWithApi, action: string): Promise<readonly DeadLetterView[]> {
  const { json } = await broker.request(`/api/v5/actions/${action}/dead_letters`)
  return (json as { readonly data: readonly DeadLetterView[] }).data
}

/** Whether the values contain each number from 0 to `count` - 1 at least once, in any order, and no other number. */
export function hasAllNumbers(values: Iterable<string>, count: number): boolean {
  const numbers = new Set([...values].map((value) => (JSON.parse(value) as { readonly number: number }).number))
  for (let number = 0; number < count; number++) if (!numbers.has(number)) return false
  return numbers.size === count
}
