// A node that is paused for longer than its lease: another node is the home of its shards, and it does not know it when it continues.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { eventually } from '../../e2e/eventually.ts'
import { connected } from '../../e2e/mqtt-client.ts'
import { findClientOf, ThreeNodes } from './three-nodes.ts'

test('a node that continues after the end of its life acknowledges nothing, and its process ends', async (t) => {
  const cluster = await ThreeNodes.start(t)
  const [paused, other] = await cluster.readHomes()
  assert.ok(paused !== undefined && other !== undefined)
  const { process } = cluster.getNode(paused.node)
  const publisher = await connected(t, cluster.getNode(paused.node), {
    clientId: findClientOf(paused.shard, 'publisher'),
  })
  // Without subscribers, nothing is stored: no commit would notice that the shard has another home.
  await publisher.publishAsync('paused/early', 'acknowledged', { qos: 1 })

  process.child.kill('SIGSTOP')
  await eventually(async () => {
    const home = (await cluster.readHomes()).find(({ shard }) => shard === paused.shard)
    assert.ok(home !== undefined && home.node !== paused.node, 'the shard has no new home')
  })
  const subscriber = await connected(t, cluster.getNode(other.node), {
    clientId: findClientOf(other.shard, 'subscriber'),
  })
  await subscriber.subscribeAsync('paused/#', { qos: 1 })

  // It waits in the socket of the paused process.
  const sent = new Promise<void>((resolve) => void publisher.once('packetsend', () => resolve()))
  let isAcknowledged = false
  publisher.publish('paused/late', 'the paused node knows no subscriber', { qos: 1 }, (error) => {
    if (error === undefined || error === null) isAcknowledged = true
  })
  await sent
  await setImmediate()
  // Its connection may end with an error before that.
  const closed = new Promise<void>((resolve) => void publisher.once('close', () => resolve()))
  process.child.kill('SIGCONT')
  await closed
  assert.equal(isAcknowledged, false, 'acknowledged without the subscriber, whose SUBACK came before')
  assert.equal(await process.ended, 1)
  assert.match(process.errors + process.output, /not a member of the cluster any more/)
})
