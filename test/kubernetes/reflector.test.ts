// A reflector follows all changes, whatever happens to its watch.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  KubeClient,
  KubeRequestError,
  Reflector,
  type KubeResource,
  type WatchEvent,
} from '../../src/kubernetes/index.ts'
import { startKubeApi, type KubeApi } from '../kube/kube-api.ts'

const address = { kind: { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }, namespace: 'default' }

interface Stage {
  readonly api: KubeApi
  readonly reflector: Reflector
  readonly problems: string[]
  /** Resolves when the reflector has these objects: name and value. */
  readonly until: (expected: Readonly<Record<string, string>>) => Promise<void>
  readonly write: (name: string, value: string) => void
  readonly remove: (name: string) => void
}

async function startReflector(t: TestContext): Promise<Stage> {
  const api = await startKubeApi()
  t.after(() => api.close())
  const client = new KubeClient({
    server: api.url,
    authorities: undefined,
    clientCertificate: undefined,
    serverName: undefined,
    skipsVerification: false,
    readToken: () => undefined,
    namespace: 'default',
  })
  let onChange = doNothing
  const problems: string[] = []
  const reflector = new Reflector({
    client,
    address,
    onChange: () => onChange(),
    onProblem: (problem) => problems.push(problem),
  })
  const running = reflector.run()
  t.after(async () => {
    reflector.stop()
    client.close()
    await running
  })
  await reflector.synced
  const read = (): Record<string, unknown> =>
    Object.fromEntries(
      Array.from(reflector.list(), (object) => [object.metadata.name, (object['data'] as { v: string }).v]),
    )
  const until = (expected: Readonly<Record<string, string>>): Promise<void> =>
    new Promise((resolve) => {
      onChange = () => {
        if (isDeepStrictEqual(read(), expected)) resolve()
      }
      onChange()
    })
  const type = api.operations.getKind('ConfigMap')
  return {
    api,
    reflector,
    problems,
    until,
    write: (name, v) => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { v } }
      api.operations.apply({ type, namespace: 'default', name }, body, { manager: 'test', isForced: true })
    },
    remove: (name) => api.operations.delete({ type, namespace: 'default', name }),
  }
}

/** Waits until the reflector has opened its watch again. */
async function untilWatched(api: KubeApi): Promise<void> {
  while (api.watches.count === 0) await new Promise(setImmediate)
}

test('objects are added, changed and deleted as on the server', async (t) => {
  const { until, write, remove, reflector } = await startReflector(t)
  write('a', '1')
  write('b', '1')
  await until({ a: '1', b: '1' })
  write('a', '2')
  remove('b')
  await until({ a: '2' })
  assert.equal(reflector.get('default', 'a')?.metadata.name, 'a')
  assert.equal(reflector.get('default', 'b'), undefined)
})

test('a watch that the server ends goes on where it was, without another list', async (t) => {
  const { api, until, write, problems } = await startReflector(t)
  write('a', '1')
  await until({ a: '1' })
  const lists = (): number => api.requests.filter((request) => /configmaps\?limit/.test(request)).length
  assert.equal(lists(), 1)
  await untilWatched(api)
  api.watches.closeAll()
  write('a', '2')
  await until({ a: '2' })
  assert.equal(lists(), 1)
  assert.deepEqual(problems, [])
})

test('a bookmark moves the version, so that a compaction needs no list', async (t) => {
  const { api, until, write } = await startReflector(t)
  write('a', '1')
  await until({ a: '1' })
  const type = api.operations.getKind('Secret')
  api.operations.create(type, 'default', { metadata: { name: 's' } }, { manager: 'test' })
  await untilWatched(api)
  api.watches.sendBookmarks()
  api.operations.store.compact()
  api.watches.closeAll()
  write('a', '2')
  await until({ a: '2' })
  assert.equal(api.requests.filter((request) => /configmaps\?limit/.test(request)).length, 1)
})

test('an expired version makes it list again, and notice what was deleted meanwhile', async (t) => {
  const { api, until, write, remove } = await startReflector(t)
  write('a', '1')
  write('b', '1')
  await until({ a: '1', b: '1' })
  await untilWatched(api)
  api.watches.closeAll()
  remove('b')
  write('c', '1')
  api.operations.store.compact()
  await until({ a: '1', c: '1' })
})

test('failures are repeated after 1, 2, 4 and at most 30 seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const attempts: string[] = []
  let onAttempt = doNothing
  const client = {
    listPage: async () => {
      attempts.push('list')
      onAttempt()
      throw new Error('connection refused')
    },
    watch: async () => {},
  }
  const reflector = new Reflector({ client, address, onChange: () => {}, onProblem: () => {} })
  const running = reflector.run()
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    const count = attempts.length
    await new Promise(setImmediate)
    t.mock.timers.tick(seconds * 1_000 - 1)
    await new Promise(setImmediate)
    assert.equal(attempts.length, count)
    const next = new Promise<void>((resolve) => (onAttempt = resolve))
    t.mock.timers.tick(1)
    await next
  }
  reflector.stop()
  await running
})

test('a refused watch with status 410 lists again at once', async () => {
  const versions: string[] = []
  let lists = 0
  const object: KubeResource = { metadata: { name: 'a', namespace: 'default', uid: '1', resourceVersion: '7' } }
  const client = {
    listPage: async () => ({ items: [object], resourceVersion: String(++lists), next: undefined }),
    watch: async (_address: unknown, options: { resourceVersion: string }, onEvent: (event: WatchEvent) => void) => {
      versions.push(options.resourceVersion)
      if (versions.length === 1) throw new KubeRequestError('expired', { statusCode: 410, reason: 'Expired' })
      if (versions.length === 2) onEvent({ type: 'ERROR', object: { code: 410 } })
      reflector.stop()
    },
  }
  const reflector = new Reflector({ client, address, onChange: () => {}, onProblem: assert.fail })
  await reflector.run()
  assert.deepEqual(versions, ['1', '2', '3'])
})

function doNothing(): void {}
