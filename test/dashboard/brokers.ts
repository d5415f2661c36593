// Brokers that the files share, because a start takes longer than most tests. Each starts for the first test that needs it. Tests remove what they
// add, if another test would see it.

import assert from 'node:assert/strict'
import { shared, type Scope } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { fillBroker, settingsOfSample } from './sample-data.ts'

/** A broker with default settings and several shards. Its TCP listener can be stopped and started: its port stays the same. */
export const emptyBroker = shared(async (scope) =>
  startBrokerWithApi(scope, {
    set: ['node.shards=2', `listeners.tcp.bind="127.0.0.1:${await reservePort(scope)}"`],
  }),
)

/** Credentials of an administrator of the namespace `plant` of `namespacedBroker`. */
export const planter = 'planter:a-planters-password'

/** A broker with the namespace `plant`. */
export const namespacedBroker = shared(async (scope) => {
  const broker = await startBrokerWithApi(scope, { set: ['namespaces.enable=true'] })
  const [username, password] = planter.split(':')
  await add(broker, '/api/v5/namespaces', { namespace: 'plant' })
  await add(broker, '/api/v5/users', { username, password, role: 'ns:plant::administrator' })
  return broker
})

/** A broker with clients and entries for every page. */
export const filledBroker = shared(async (scope) => {
  const broker = await startBrokerWithApi(scope, { set: settingsOfSample })
  await fillBroker(scope, broker)
  return broker
})

/** Sends POST, and checks that it is not refused. */
export async function add(broker: BrokerWithApi, path: string, body: unknown, as?: string): Promise<void> {
  const { status, text } = await broker.request(path, { method: 'POST', body, ...(as === undefined ? {} : { as }) })
  assert.ok(status < 300, `${path}: ${text}`)
}

/** Deletes these resources of the API in this order when the test ends. */
export function deleteAfter(t: Scope, broker: BrokerWithApi, paths: readonly string[]): void {
  t.after(async () => {
    for (const path of paths) {
      const { status, text } = await broker.request(path, { method: 'DELETE' })
      assert.ok(status < 300, `${path}: ${text}`)
    }
  })
}

/** Changes settings until the test ends. `defaults` has the same keys. */
export async function changeSettings(t: Scope, broker: BrokerWithApi, data: object, defaults: object): Promise<void> {
  await add(broker, '/api/v4/configuration/', { data })
  t.after(() => add(broker, '/api/v4/configuration/', { data: defaults }))
}
