// Stored credentials, bans and rules apply on each shard of a real node, at once and after a restart.

import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import mqtt, { type ErrorWithReasonCode, type MqttClient } from 'mqtt'
import { hashPassword } from '../../src/access/index.ts'
import { loadConfig, parseHocon } from '../../src/config/index.ts'
import { computeOwnerShard } from '../../src/core/index.ts'
import type { RunningNode } from '../../src/boot/running-node.ts'
import type { BanRecord, CredentialRecord, RuleRecord } from '../../src/records/index.ts'
import { atEnd, temporaryFolder } from '../e2e/godwit-process.ts'
import { importNode } from './built-node.ts'

const { startNode } = await importNode()
const shards = 2
/** Client IDs of which each shard owns one. */
const clientIds = Array.from({ length: shards }, (_, shard) => {
  let number = 0
  while (computeOwnerShard(`client-${number}`, shards) !== shard) number++
  return `client-${number}`
})

async function start(t: TestContext, dataDir: string, shardEntry?: URL): Promise<RunningNode> {
  const settings = [`node.shards=${shards}`, 'listeners.tcp.bind="127.0.0.1:0"', 'log.to=[file]', 'log.level=error']
  const loaded = loadConfig({ overrides: settings })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  const config = { ...loaded.config, node: { ...loaded.config.node, dataDir } }
  const started = await startNode({
    config,
    warnings: [],
    installation: { root: dataDir, isCheckout: true },
    ...(shardEntry === undefined ? {} : { shardEntry }),
  })
  assert.ok('node' in started, JSON.stringify(started))
  atEnd(t, () => started.node.stop())
  return started.node
}

async function connect(t: TestContext, node: RunningNode, clientId: string, password?: string): Promise<MqttClient> {
  const { port } = node.listeners[0]
  const logIn = password === undefined ? {} : { username: 'somebody', password }
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    clientId,
    protocolVersion: 5,
    reconnectPeriod: 0,
    ...logIn,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Retries until the shards have restarted. */
async function reconnect(t: TestContext, node: RunningNode, clientId: string): Promise<MqttClient> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${node.listeners[0].port}`, {
    clientId,
    protocolVersion: 5,
    reconnectPeriod: 20,
    // Retries also after a refusal: the owner shard of the session may be restarting.
    reconnectOnConnackError: true,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  await new Promise<void>((resolve) => client.once('connect', () => resolve()))
  return client
}

async function refusal(t: TestContext, node: RunningNode, clientId: string, password?: string): Promise<number> {
  try {
    await connect(t, node, clientId, password)
  } catch (error) {
    return (error as ErrorWithReasonCode).code
  }
  return assert.fail(`${clientId} was let in`)
}

async function publishes(client: MqttClient, topic: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  client.publish(topic, 'x', { qos: 1 }, (error, packet) => {
    const { code } = (error ?? {}) as { code?: number }
    resolve(code ?? (packet as { reasonCode?: number } | undefined)?.reasonCode ?? 0)
  })
  return promise
}

const banned = 0x8a
const badUserNameOrPassword = 0x86
const notAuthorized = 0x87

const ban = (who: string): BanRecord => ({
  kind: 'ban',
  as: 'clientid',
  who,
  reason: 'a test',
  by: 'user',
  atMs: 0,
  untilMs: undefined,
})
const denial: RuleRecord = {
  kind: 'rule',
  about: 'all',
  who: '',
  topic: 'shut/#',
  action: 'publish',
  permit: 'deny',
  createdAtMs: 1,
}
const credential: CredentialRecord = {
  kind: 'credential',
  by: 'username',
  id: 'somebody',
  isSuperuser: false,
  createdAtMs: 1,
  ...hashPassword('secret'),
}

test('a change of access records applies on each shard when its promise resolves, and after a restart', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await start(t, folder)
  const clients = await Promise.all(clientIds.map((clientId) => connect(t, node, clientId)))
  for (const client of clients) assert.equal((await publishes(client, 'shut/a')) & 0x80, 0)

  await node.accessRecords.change({ put: [denial, credential], delete: [] })
  for (const client of clients) assert.equal(await publishes(client, 'shut/a'), notAuthorized)
  for (const client of clients) assert.equal((await publishes(client, 'open/a')) & 0x80, 0)
  for (const clientId of clientIds) {
    assert.equal(await refusal(t, node, `${clientId}-x`, 'wrong'), badUserNameOrPassword)
    await connect(t, node, `${clientId}-y`, 'secret')
  }

  const closed = clients.map((client) => once(client as unknown as EventEmitter, 'close'))
  await node.accessRecords.change({ put: clientIds.map(ban), delete: [] })
  await Promise.all(closed)
  for (const clientId of clientIds) assert.equal(await refusal(t, node, clientId), banned)
  await node.stop()

  const again = await start(t, folder)
  for (const clientId of clientIds) assert.equal(await refusal(t, again, clientId), banned)
  await again.accessRecords.change({
    put: [],
    delete: clientIds.map((who) => ({ kind: 'ban', as: 'clientid', who })),
  })
  for (const clientId of clientIds) {
    const client = await connect(t, again, clientId)
    assert.equal(await publishes(client, 'shut/a'), notAuthorized)
  }
})

test('restarted shards have the stored access records and the latest rules of the configuration', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await start(t, folder, new URL('../e2e/crashing-shard.ts', import.meta.url))
  const [banished = '', received = ''] = clientIds
  await node.accessRecords.change({ put: [denial, ban(banished)], delete: [] })
  const rules = 'auth.acl.rules=[{permit = deny, action = publish, topics = ["closed/#"]}, {permit = allow}]'
  const parsed = parseHocon(rules, { file: 'rules' })
  assert.ok('value' in parsed)
  const author = { name: 'admin', by: 'account', address: '' } as const
  const outcome = await node.configuration.change(parsed.value, { author, persists: false, name: 'reload' })
  assert.ok(outcome.isDone, JSON.stringify(outcome))
  const client = await connect(t, node, received)
  const broken = once(client as unknown as EventEmitter, 'close')
  await writeFile(join(folder, 'break-now'), '')
  await broken
  const again = await reconnect(t, node, received)
  assert.equal(await publishes(again, 'shut/a'), notAuthorized)
  assert.equal(await publishes(again, 'closed/a'), notAuthorized)
  assert.equal((await publishes(again, 'open/a')) & 0x80, 0)
  // The owner shard may still be starting. Until then, it refuses clients with a reason.
  let reason
  do reason = await refusal(t, node, banished)
  while (reason !== banned)
})
