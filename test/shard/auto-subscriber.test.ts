// Subscriptions that the broker makes for clients when they connect.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClientView, Command } from '../../src/core/index.ts'
import { AutoSubscriber } from '../../src/shard/runtime/auto-subscriber.ts'

/** The filters to which a client with these properties is subscribed when it connects. */
async function filtersOf(
  view: Pick<ClientView, 'clientId' | 'username' | 'address' | 'port'>,
  warnings?: string[],
): Promise<string[]> {
  const filters: string[] = []
  const warn =
    warnings === undefined ? assert.fail : (text: string, { why }: { why: string }) => warnings.push(`${text}: ${why}`)
  const topics = ['id/${clientid}', 'user/${username}', 'from/${host}', 'port/${port}', 'all']
  const log = { debug: assert.fail, info: assert.fail, warn, error: assert.fail }
  const subscriber = new AutoSubscriber(
    topics.map((topic) => ({
      topic,
      qos: 1,
      options: { noLocal: false, retainAsPublished: false, retainHandling: 0 },
    })),
    {
      log,
      findClient: () => view as ClientView,
      run: (command: Command) => {
        if (command.name === 'subscribe') filters.push(command.filter)
        return Promise.resolve({ done: true, matched: 1 })
      },
    },
  )
  subscriber.handleConnected({
    event: 'client-connected',
    clientId: view.clientId,
    connection: { listener: {} } as never,
    sessionPresent: false,
  })
  await nextTurn()
  return filters
}

test('placeholders of auto_subscribe are the client ID, user name, address and port of the client', async () => {
  const view = { clientId: 'c1', username: 'anna', address: '192.0.2.7', port: 40_123 }
  assert.deepEqual(await filtersOf(view), ['id/c1', 'user/anna', 'from/192.0.2.7', 'port/40123', 'all'])
})

test('a subscription with a placeholder without a value is omitted', async () => {
  const view = { clientId: 'c1', username: undefined, address: '', port: 0 }
  assert.deepEqual(await filtersOf(view), ['id/c1', 'all'])
})

test('a client cannot choose its subscriptions by its client ID or user name, and the log says why there is none', async () => {
  for (const value of ['+', '#', 'a/b', '$SYS', '$share', 'a+', '\u0001']) {
    const warnings: string[] = []
    const view = { clientId: value, username: value, address: '192.0.2.7', port: 1 }
    assert.deepEqual(await filtersOf(view, warnings), ['from/192.0.2.7', 'port/1', 'all'], value)
    assert.deepEqual(warnings, [
      'auto-subscribe failed: unusable-placeholder',
      'auto-subscribe failed: unusable-placeholder',
    ])
  }
})
