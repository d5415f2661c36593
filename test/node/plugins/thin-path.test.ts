import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from '../backup/nodes.ts'
import { receivePayloads } from '../../e2e/mqtt-client.ts'
import { startNodeWithPlugins, startPlugin } from './plugin-node.ts'

test('a plugin in TypeScript authenticates clients', async (t) => {
  const on = await startNodeWithPlugins(t)
  await startPlugin(on, {
    name: 'login',
    hooks: ['client.authenticate'],
    source: `
      import type { Plugin } from 'godwit/plugin'
      const plugin: Plugin = () => ({
        'client.authenticate': async ({ client, password }) => {
          if (client.username === 'ann' && String(password) === 'right') return { result: 'allow' }
          if (client.username === 'other') return { result: 'ignore' }
          return { result: 'deny', reason: 'not known here' }
        },
      })
      export default plugin`,
  })
  await client(t, on.port, { username: 'ann', password: 'right' })
  await client(t, on.port, { username: 'other', password: 'any' })
  await assert.rejects(client(t, on.port, { username: 'ann', password: 'wrong' }), /Bad|not authorized|password/i)
})

test('a plugin changes messages', async (t) => {
  const on = await startNodeWithPlugins(t, ['node.shards=2'])
  await startPlugin(on, {
    name: 'upper',
    hooks: ['message.publish'],
    topics: ['plant/#'],
    source: `
      export default () => ({
        'message.publish': ({ message, client, source }) => ({
          payload: String.fromCharCode(...message.payload).toUpperCase() + ' ' + client.clientid + ' ' + source,
        }),
      })`,
  })
  const subscriber = await client(t, on.port, { clientId: 's' })
  await subscriber.subscribeAsync('#', { qos: 1 })
  const received = receivePayloads(subscriber, 3)
  const publisher = await client(t, on.port, { clientId: 'p' })
  await publisher.publishAsync('plant/1', 'one', { qos: 1 })
  await publisher.publishAsync('other', 'two', { qos: 2 })
  await publisher.publishAsync('plant/1', 'three', { qos: 2 })
  assert.deepEqual(await received, ['ONE p mqtt', 'two', 'THREE p mqtt'])
  assert.equal(on.node.plugins.states()[0].calls, 2)
})
