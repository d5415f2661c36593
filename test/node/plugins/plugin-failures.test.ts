// What a plugin can do wrong: it costs its own hooks, and no acknowledged message.

import assert from 'node:assert/strict'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { MqttClient } from 'mqtt'
import type { PluginState } from '../../../src/plugins/index.ts'
import { eventually } from '../../e2e/eventually.ts'
import { receivePayloads } from '../../e2e/mqtt-client.ts'
import { client, type NodeInTest } from '../backup/nodes.ts'
import { startNodeWithPlugins, startPlugin } from './plugin-node.ts'

const hooks = ['message.publish'] as const

interface Stage {
  readonly on: NodeInTest
  readonly publisher: MqttClient
  readonly subscriber: MqttClient
}

async function prepareStage(t: TestContext, set: readonly string[] = []): Promise<Stage> {
  const on = await startNodeWithPlugins(t, set)
  const subscriber = await client(t, on.port, { clientId: 'subscriber' })
  await subscriber.subscribeAsync('plant/#', { qos: 1 })
  return { on, subscriber, publisher: await client(t, on.port, { clientId: 'publisher' }) }
}

function readState({ node }: NodeInTest): PluginState {
  const [state] = node.plugins.states()
  return state
}

/** Publishes one message, which `on_failure = ignore` lets pass. */
async function assertPasses({ publisher, subscriber }: Stage, payload = 'one'): Promise<void> {
  const received = receivePayloads(subscriber, 1)
  await publisher.publishAsync('plant/1', payload, { qos: 1 })
  assert.deepEqual(await received, [payload])
}

const failing = {
  throws: `() => { throw new Error('no luck') }`,
  rejects: `async () => { throw new Error('no luck') }`,
  'returns a number': `() => 5`,
  'returns an unknown field': `() => ({ colour: 'red' })`,
  'returns an invalid QoS': `() => ({ qos: 7 })`,
  'returns a topic filter': `() => ({ topic: 'plant/+' })`,
  'returns a topic of the broker': `() => ({ topic: '$SYS/a' })`,
  'returns a shared topic': `() => ({ topic: '$share/a/b' })`,
  'returns a payload that is no text': `() => ({ payload: 5 })`,
  'returns an unknown property': `() => ({ properties: { colour: 'red' } })`,
  'returns a reason code that PUBACK cannot have': `() => ({ drop: true, reasonCode: 0x8c })`,
  'hangs in a promise': `() => new Promise(() => {})`,
}

test('a call that fails is ignored, or denied with 0x83', async (t) => {
  const stage = await prepareStage(t)
  for (const [failure, hook] of Object.entries(failing)) {
    await t.test(failure, async () => {
      const source = `export default () => ({ 'message.publish': ${hook} })`
      const settings = { timeoutMs: 200 }
      await startPlugin(stage.on, { name: 'wrong', hooks, source, settings })
      await assertPasses(stage)
      assert.equal(readState(stage.on).failures, 1)
      await stage.on.node.plugins.stop('wrong')
      await startPlugin(stage.on, { name: 'wrong', hooks, source, settings: { ...settings, onFailure: 'deny' } })
      await assert.rejects(stage.publisher.publishAsync('plant/1', 'x', { qos: 1 }), { code: 0x83 })
      await assert.rejects(stage.publisher.publishAsync('plant/1', 'x', { qos: 2 }), { code: 0x83 })
      await stage.on.node.plugins.stop('wrong')
    })
  }
})

test('a 3.1.1 publisher is closed without an acknowledgement when a failure denies', async (t) => {
  const { on } = await prepareStage(t)
  const source = `export default () => ({ 'message.publish': () => { throw new Error('no luck') } })`
  await startPlugin(on, { name: 'wrong', hooks, source, settings: { onFailure: 'deny' } })
  const old = await client(t, on.port, { clientId: 'old', protocolVersion: 4 })
  const closed = new Promise<void>((resolve) => old.once('close', () => resolve()))
  let isAcknowledged = false
  old.publish('plant/1', 'x', { qos: 1 }, (error) => {
    isAcknowledged = error === undefined || error === null
  })
  await closed
  assert.equal(isAcknowledged, false)
})

test('a plugin that loops is killed and started again, and other clients are served meanwhile', async (t) => {
  const stage = await prepareStage(t)
  const source = `export default () => ({ 'message.publish': ({ message }) => { if (String.fromCharCode(...message.payload) === 'loop') for (;;); } })`
  await startPlugin(stage.on, { name: 'loop', hooks, source, topics: ['plant/#'], settings: { timeoutMs: 400 } })
  const other = await client(t, stage.on.port, { clientId: 'other' })
  await other.subscribeAsync('other')
  const first = readState(stage.on).processId
  const looped = stage.publisher.publishAsync('plant/1', 'loop', { qos: 1 })
  const served = receivePayloads(other, 20)
  for (let count = 0; count < 20; count++) await other.publishAsync('other', String(count), { qos: 1 })
  assert.equal((await served).length, 20)
  await looped
  await eventually(() => {
    const { status, processId, restarts, problem } = readState(stage.on)
    assert.deepEqual([status, restarts, problem], ['running', 1, undefined])
    assert.notEqual(processId, first)
  })
  await assertPasses(stage)
})

test('a plugin that exits is started again', async (t) => {
  const stage = await prepareStage(t)
  const source = `export default () => ({ 'message.publish': ({ message }) => { if (message.payload.length === 4) process.exit(3) } })`
  await startPlugin(stage.on, { name: 'exit', hooks, source })
  await assertPasses(stage, 'exit')
  await eventually(() => assert.match(readState(stage.on).problem ?? '', /exit code 3/))
  await eventually(() => assert.equal(readState(stage.on).status, 'running'))
  await assertPasses(stage)
})

test('a plugin that allocates without end is ended, and the reason says so', async (t) => {
  const stage = await prepareStage(t)
  const heap = `export default () => ({ 'message.publish': async () => { const all = []; for (;;) { all.push(new Array(10_000).fill(Math.random())); if (all.length % 100 === 0) await null } } })`
  await startPlugin(stage.on, {
    name: 'heap',
    hooks,
    source: heap,
    settings: { maxHeapBytes: 2 ** 25, timeoutMs: 10_000 },
  })
  await assertPasses(stage)
  await eventually(() => assert.match(readState(stage.on).problem ?? '', /heap|memory/i))
  await stage.on.node.plugins.stop('heap')
  const buffers = `export default () => { const all = []; return { 'message.publish': () => { setInterval(() => all.push(Buffer.alloc(2 ** 24, 1)), 20) } } }`
  await startPlugin(stage.on, { name: 'buffers', hooks, source: buffers, settings: { maxMemoryBytes: 2 ** 28 } })
  await assertPasses(stage)
  await eventually(() => assert.match(readState(stage.on).problem ?? '', /max_memory is 256 MB/))
})

test('a plugin that floods its log answers, and at most 100 lines in a second are written', async (t) => {
  const stage = await prepareStage(t, ['log.level=info'])
  const source = `export default () => ({ 'message.publish': () => { for (let n = 0; n < 50_000; n++) console.log('flood', n) } })`
  await startPlugin(stage.on, { name: 'flood', hooks, source, settings: { timeoutMs: 5_000 } })
  await assertPasses(stage)
  assert.equal(readState(stage.on).failures, 0)
  const lines = await eventually(async () => {
    const found = (await readLog(stage.on)).filter((line) => line.includes('"plugin":"flood"'))
    assert.ok(
      found.some((line) => line.includes('49900 lines of its log were dropped')),
      found.at(-1),
    )
    return found
  })
  assert.equal(lines.length, 101)
})

async function readLog({ folder }: NodeInTest): Promise<string[]> {
  const names = await readdir(join(folder, 'log'))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, 'log', name), 'utf8')))
  return texts.join('').split('\n')
}

test('after max_failures in a row the hook is not called, and an alarm has the reason; one call decides later', async (t) => {
  const stage = await prepareStage(t)
  const source = `let n = 0; export default () => ({ 'message.publish': () => { if (++n <= 3) throw new Error('no luck') } })`
  const settings = { maxFailures: 3, retryAfterMs: 300 }
  await startPlugin(stage.on, { name: 'wrong', hooks, source, settings })
  for (let count = 0; count < 6; count++) await assertPasses(stage)
  assert.equal(readState(stage.on).calls, 3)
  await eventually(async () => {
    const alarm = (await readLog(stage.on)).find((line) => line.includes('plugin_failed:wrong'))
    assert.match(alarm ?? '', /failed 3 times in a row: no luck/)
  })
  await eventually(async () => {
    await assertPasses(stage)
    assert.ok(readState(stage.on).calls > 4)
  })
})

test('an answer after the timeout changes nothing', async (t) => {
  const stage = await prepareStage(t)
  const source = `export default () => ({ 'message.publish': async ({ message }) => {
    if (message.payload.length === 4) await new Promise((resolve) => setTimeout(resolve, 400))
    return { payload: 'changed' } } })`
  await startPlugin(stage.on, { name: 'late', hooks, source, settings: { timeoutMs: 100 } })
  const received = receivePayloads(stage.subscriber, 2)
  await stage.publisher.publishAsync('plant/1', 'late', { qos: 1 })
  await stage.publisher.publishAsync('plant/1', 'in time', { qos: 1 })
  assert.deepEqual(await received, ['late', 'changed'])
})
