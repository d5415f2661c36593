// Bridges that are changed while they run, and a restart of the shard of a bridge.

import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { startBrokerWithApi } from '../management/api.ts'
import {
  bridgeOf,
  bridgeOver,
  client,
  Listener,
  oneShard,
  pair,
  publishNumbered,
  startAgain,
  untilBridge,
  untilConnected,
  Wire,
} from './bridge-stage.ts'
import { eventually } from './eventually.ts'
import { atEnd, temporaryFolder } from './godwit-process.ts'
import { importNode } from '../node/built-node.ts'
import { longTest } from '../test-length.ts'

const put = (broker: Awaited<ReturnType<typeof startBrokerWithApi>>, node: object) =>
  broker.request('/api/v4/bridges/up', { method: 'PUT', body: { up: node } })

test('rules of a bridge change without a new connection, other settings reconnect without losing a message, and a refused change has no effect', async (t) => {
  const { own, remote, wire } = await pair(t)
  const remoteListener = await Listener.at(t, remote.port, '#')
  const publisher = await client(t, own.port)
  const before = await bridgeOf(own)

  const refused = await put(own, { ...before, forwards: [{ local_topic: 'a', remote_topic: 'b/+' }] })
  assert.deepEqual([refused.status, refused.json.code], [400, 108])
  assert.match(refused.json.message, /bridges\.mqtt\.up\.forwards\.0\.remote_topic has more \+/)
  const missing = await put(own, {
    ...before,
    tls: { enable: true, cacertfile: join(own.dataDirectory, 'none', 'ca.pem') },
  })
  assert.deepEqual([missing.status, missing.json.code], [400, 108])
  assert.match(missing.json.message, /cacertfile: cannot read \/.*\/none\/ca\.pem/)
  assert.equal((await bridgeOf(own)).status.since, before.status.since)
  await remoteListener.until(await publishNumbered(publisher, 'up/first', { qos: 1, from: 0, count: 3 }))

  const body = { data: { subscription: [{ remote_topic: 'more/#', local_topic: '', qos: 1 }] } }
  assert.equal((await own.request('/api/v4/bridges/sub/up', { method: 'POST', body })).status, 200)
  const localListener = await Listener.at(t, own.port, 'more/#')
  const commander = await client(t, remote.port)
  for (let number = 0; localListener.received.length === 0; number += 1) {
    await publishNumbered(commander, 'more/1', { qos: 1, from: number, count: 1 })
  }
  assert.equal((await bridgeOf(own)).status.counters.connects, 1, 'a change of rules needs no new connection')

  const stream = publishNumbered(publisher, 'up/stream', { qos: 2, from: 0, count: 200 })
  const other = await startBrokerWithApi(t, { set: oneShard })
  const otherListener = await Listener.at(t, other.port, 'up/#')
  wire.target = other.port
  const changed = await put(own, { ...(await bridgeOf(own)), clean_start: true })
  assert.equal(changed.status, 200, changed.text)
  const texts = await stream
  await untilBridge(own, ({ counters, spool_depth: depth }) => counters.connects === 2 && depth === 0)
  // Each message arrives at one of the two brokers, once.
  await eventually(() => {
    const received = [...remoteListener.received, ...otherListener.received].filter(
      ({ topic }) => topic === 'up/stream',
    )
    assert.deepEqual(received.map(({ text }) => text).toSorted(), texts.toSorted())
  })
})

// Daily: both in memory in test/bridges/rules.test.ts.
longTest('a disabled bridge has no connection, and a removed bridge leaves no session', async (t) => {
  const { own, wire } = await pair(t)
  const turn = (bridge_switch: boolean) =>
    own.request('/api/v4/bridges/switch/up', { method: 'POST', body: { data: { bridge_switch } } })
  assert.equal((await turn(false)).status, 200)
  await untilBridge(own, ({ state }) => state === 'off')
  while (wire.connections > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal((await turn(true)).status, 200)
  await untilConnected(own)
  await own.process.stop()
  await writeFile(join(own.dataDirectory, 'godwit.conf'), '')
  await writeFile(join(own.dataDirectory, 'changed-settings.conf'), '')
  const again = await startAgain(t, own, oneShard)
  for (;;) {
    const response = await again.request('/api/v4/clients')
    if (!response.text.includes('$bridge/')) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})

// Daily: brokers with bridges are killed in test/e2e/bridges-killed.test.ts, shards with sessions fail in test/e2e/faults.test.ts.
longTest('a shard that fails continues its bridge after its restart, with all queued messages', async (t) => {
  const remote = await startBrokerWithApi(t, { set: oneShard })
  const wire = await Wire.to(t, remote.port)
  const dataDir = await temporaryFolder(t)
  const text = `bridges.mqtt.up {\nenable = true\n${bridgeOver(wire)}\n}\n`
  const overrides = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', 'log.to=[file]', 'node.shards=1']
  const loaded = loadConfig({ text, file: 'test.conf', overrides })
  assert.ok('config' in loaded)
  const { config, warnings } = loaded
  const { startNode } = await importNode()
  const started = await startNode({
    config: { ...config, node: { ...config.node, dataDir } },
    warnings,
    installation: { root: dataDir, isCheckout: true },
    shardEntry: new URL('./crashing-shard.ts', import.meta.url),
  })
  assert.ok('node' in started, JSON.stringify(started))
  const { node } = started
  atEnd(t, () => node.stop())
  const remoteListener = await Listener.at(t, remote.port, 'up/#')
  const publisher = await client(t, node.listeners[0].port, { reconnectPeriod: 20, reconnectOnConnackError: true })
  await remoteListener.until(await publishNumbered(publisher, 'up/before', { qos: 1, from: 0, count: 3 }))
  wire.target = undefined
  wire.cut()
  const texts = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 40 })
  const isBack = new Promise<void>((resolve) => publisher.once('connect', () => resolve()))
  await writeFile(join(dataDir, 'break-now'), '')
  await isBack
  await rm(join(dataDir, 'break-now'))
  wire.target = remote.port
  await remoteListener.until(texts)
  const more = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 40, count: 5 })
  await remoteListener.until(more)
  assert.deepEqual(
    remoteListener.texts.filter((each) => each.startsWith('up/exactly')),
    [...texts, ...more],
  )
})
