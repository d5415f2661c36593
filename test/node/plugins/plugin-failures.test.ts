// What a plugin can do wrong: it costs its own hooks, and no acknowledged message.

import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { MqttClient } from 'mqtt'
import type { PluginState } from '../../../src/plugins/index.ts'
import { eventually } from '../../e2e/eventually.ts'
import { receivePayloads } from '../../e2e/mqtt-client.ts'
import { client, type NodeInTest } from '../backup/nodes.ts'
import { startNodeWithPlugins, startPlugin, writePlugin } from './plugin-node.ts'

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

/** Returns a plugin that publishes a message for each that it gets. */
function writeLoop(name: string): string {
  return `export default ({ publish, log }) => ({ 'message.publish': async () => {
    await publish({ topic: 'plant/loop', payload: '${name}', qos: 1 }).catch((error) => log.warn(error.message)) } })`
}

test('a plugin does not see what it publishes in its own hook; a loop of two ends after 8 publications', async (t) => {
  const stage = await prepareStage(t)
  const topics = ['plant/start', 'plant/loop']
  await startPlugin(stage.on, { name: 'one', hooks, source: writeLoop('one'), topics })
  await startPlugin(stage.on, { name: 'two', hooks, source: writeLoop('two'), topics: ['plant/loop'] })
  const received = receivePayloads(stage.subscriber, 9)
  await stage.publisher.publishAsync('plant/start', 'start', { qos: 1 })
  const counts = Map.groupBy(await received, (payload) => payload)
  assert.deepEqual(
    ['start', 'one', 'two'].map((payload) => counts.get(payload)?.length),
    [1, 4, 4],
  )
  await eventually(async () => {
    const refused = (await readLog(stage.on)).filter((line) => line.includes('descends from 8 publications'))
    assert.equal(refused.length, 1)
  })
})

test('a plugin is replaced while 10,000 calls are pending: no call fails, and no message is lost', async (t) => {
  const set = ['mqtt.receive_maximum=20000', 'mqtt.max_inflight_window=20000', 'mqtt.max_mqueue_len=30000']
  const stage = await prepareStage(t, set)
  const plugin = {
    name: 'slow',
    hooks,
    // It answers when its directory has the file `open`.
    source: `import { existsSync } from 'node:fs'
      const file = new URL('open', import.meta.url)
      const opened = new Promise((resolve) => setInterval(() => existsSync(file) && resolve(), 20))
      export default () => ({ 'message.publish': () => opened })`,
    settings: { timeoutMs: 60_000, maxPending: 20_000 },
  }
  const { directory } = await startPlugin(stage.on, { ...plugin, config: { version: 1 } })
  const first = readState(stage.on).processId
  const received = receivePayloads(stage.subscriber, 10_000)
  const payloads = Array.from({ length: 10_000 }, (_, number) => String(number))
  const published = payloads.map((payload) => stage.publisher.publishAsync('plant/1', payload, { qos: 1 }))
  await eventually(() => assert.equal(readState(stage.on).pending, 10_000))
  const replaced = stage.on.node.plugins.replace(await writePlugin(stage.on, { ...plugin, config: { version: 2 } }))
  await eventually(() => assert.notEqual(readState(stage.on).processId, first))
  await writeFile(join(directory, 'open'), '')
  assert.deepEqual(await replaced, { started: true })
  await Promise.all(published)
  assert.deepEqual(await received, payloads)
  assert.equal(readState(stage.on).failures, 0)
})

test('a plugin that is killed while in use loses no acknowledged message', async (t) => {
  const stage = await prepareStage(t)
  const source = `export default () => ({ 'message.publish': async ({ message }) => { await new Promise((resolve) => setTimeout(resolve, 5)); return { topic: message.topic } } })`
  await startPlugin(stage.on, { name: 'killed', hooks, source })
  const received = receivePayloads(stage.subscriber, 300)
  const published = Array.from({ length: 300 }, async (_, n) => {
    await stage.publisher.publishAsync('plant/1', String(n), { qos: n % 2 === 0 ? 1 : 2 })
    if (n === 100) process.kill(readState(stage.on).processId, 'SIGKILL')
  })
  await Promise.all(published)
  assert.deepEqual(
    await received,
    Array.from({ length: 300 }, (_, n) => String(n)),
  )
})

test('a plugin that does not start is not there, and the reason says why', async (t) => {
  const { on } = await prepareStage(t)
  const reasons = {
    [`export default () => ({})`]: /message.publish is in its manifest, but is no function/,
    [`export default () => ({ 'message.publish': 5 })`]: /is no function/,
    [`export default () => ({ 'message.publish': () => {}, 'client.connect': () => {} })`]: /manifest does not name/,
    [`export default 5`]: /no function as default export/,
    [`throw new Error('not today')`]: /not today/,
    [`export default () => { process.exit(4) }`]: /exit code 4/,
    [`import 'node:http'; export default () => ({})`]: /permission "net"/,
  }
  for (const [index, [source, reason]] of Object.entries(reasons).entries()) {
    const started = await on.node.plugins.start(await writePlugin(on, { name: `failing${index}`, hooks, source }))
    assert.equal(started.started, false)
    assert.match('reason' in started ? started.reason : '', reason)
  }
  assert.deepEqual(on.node.plugins.states(), [])
})
