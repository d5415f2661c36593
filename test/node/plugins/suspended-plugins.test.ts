// An enabled plugin that cannot start with the broker: its hooks fail, so that no client is let in for lack of an answer.

import assert from 'node:assert/strict'
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { PluginLibrary } from '../../../src/plugins/index.ts'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { receivePayloads } from '../../e2e/mqtt-client.ts'
import { inPieces, packPlugin } from '../../plugins/plugin-packages.ts'
import { client, type NodeInTest, startInTest } from '../backup/nodes.ts'

interface Damage {
  readonly hook: string
  readonly source?: string
  /** Changes the installed files. */
  readonly change?: (directory: string) => Promise<void>
  readonly set?: readonly string[]
}

/** Starts a node whose data directory has the enabled plugin `guard`. */
async function startWithPlugin(t: TestContext, { hook, source, change, set = [] }: Damage): Promise<NodeInTest> {
  const folder = await temporaryFolder(t)
  const opened = await PluginLibrary.open(join(folder, 'plugins'), new Set())
  assert.ok('library' in opened, 'problem' in opened ? opened.problem : '')
  const { library } = opened
  const packed = packPlugin(
    { name: 'guard', godwit: { api: 1, hooks: [hook] } },
    { 'index.js': source ?? `export default () => ({ '${hook}': () => undefined })` },
  )
  const unpacked = await library.unpack(inPieces(packed), 1_048_576)
  assert.ok('manifest' in unpacked, 'problem' in unpacked ? unpacked.problem : '')
  const prepared = await library.prepare(unpacked, { allowedSha256: undefined, isUpgrade: false, nowMs: 1 })
  assert.ok('plugin' in prepared, 'problem' in prepared ? prepared.problem : '')
  const { directory } = await prepared.commit(true)
  await change?.(directory)
  return startInTest(t, { folder, set })
}

function assertSuspended({ node }: NodeInTest, problem: RegExp): void {
  const [state] = node.plugins.states()
  assert.deepEqual([state.name, state.status, state.processId], ['guard', 'suspended', 0])
  assert.match(state.problem ?? '', problem)
}

const addLine = (directory: string): Promise<void> => appendFile(join(directory, 'index.js'), '\n// changed\n')
const throwing = `throw new Error('no service')`

const damages: Readonly<Record<string, Omit<Damage, 'hook'> & { readonly problem: RegExp }>> = {
  'whose files were changed': { change: addLine, problem: /were changed after the installation/ },
  'whose directory is missing': {
    change: (directory) => rm(directory, { recursive: true }),
    problem: /cannot be read/,
  },
  'that throws at its start': { source: throwing, problem: /no service/ },
}

for (const [name, { problem, ...damage }] of Object.entries(damages)) {
  test(`an enabled plugin ${name} lets no client in`, async (t) => {
    const on = await startWithPlugin(t, { ...damage, hook: 'client.authenticate' })
    assertSuspended(on, problem)
    await assert.rejects(client(t, on.port), { code: 0x88 })
    await assert.rejects(client(t, on.port, { protocolVersion: 4 }), { code: 3 })
  })
}

test('an enabled plugin that cannot start denies what it would authorize', async (t) => {
  const on = await startWithPlugin(t, { hook: 'client.authorize', change: addLine })
  const denied = await client(t, on.port)
  await assert.rejects(denied.publishAsync('plant/1', 'x', { qos: 1 }), { code: 0x87 })
})

test('messages pass a publish hook that cannot start if on_failure is ignore, and are denied if it is deny', async (t) => {
  const damage = { hook: 'message.publish', change: addLine }
  const ignoring = await startWithPlugin(t, { ...damage, set: ['plugins.guard.on_failure=ignore'] })
  assertSuspended(ignoring, /were changed/)
  const passed = await client(t, ignoring.port)
  await passed.subscribeAsync('plant/1', { qos: 1 })
  const received = receivePayloads(passed, 1)
  await passed.publishAsync('plant/1', 'x', { qos: 1 })
  assert.deepEqual(await received, ['x'])
  const denying = await startWithPlugin(t, { ...damage, set: ['plugins.guard.on_failure=deny'] })
  const refused = await client(t, denying.port)
  await assert.rejects(refused.publishAsync('plant/1', 'x', { qos: 1 }), { code: 0x83 })
})
