// Which exceptions are those of a client library alone.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { createLibraryReporter } from '../../src/node/rules/library-reporter.ts'
import { libraryPackages } from '../../src/sinks/failed-library.ts'
import { findFailedLibrary } from '../../src/sinks/index.ts'

/** Compiles a function as if its source were in this file. */
function compileIn(file: string, source: string): (...values: unknown[]) => unknown {
  return runInThisContext(`(${source})`, { filename: file }) as (...values: unknown[]) => unknown
}

/** Runs `work` below frames of Node.js only, in a timer, and resolves with its exception. */
function catchInTimer(work: () => unknown): Promise<unknown> {
  // The frame of this function has no file.
  const caught = compileIn('node:test', '(work, resolve) => { try { work() } catch (error) { resolve(error) } }')
  return new Promise((resolve) => setTimeout(caught, 0, work, resolve))
}

const thrower = (file: string) => compileIn(file, `() => { throw new TypeError('of the library') }`) as () => never
const caller = (file: string, work: () => unknown) => compileIn(file, '(work) => () => work()')(work) as () => unknown

test('an exception whose frames are all of one client library and of Node.js is one of this library', async () => {
  for (const [file, library] of [
    ['/app/node_modules/pg/lib/client.js', 'pg'],
    ['/app/node_modules/godwit/node_modules/undici/lib/x.js', 'undici'],
    ['file:///app/node_modules/@nats-io/nats-core/lib/x.js', 'nats'],
    [String.raw`C:\app\node_modules\@redis\client\dist\x.js`, 'redis'],
  ] as const)
    assert.equal(findFailedLibrary(await catchInTimer(thrower(file))), library, file)
  const dependency = caller('/app/node_modules/pg/lib/client.js', thrower('/app/node_modules/pg-protocol/dist/x.js'))
  assert.equal(findFailedLibrary(await catchInTimer(dependency)), 'pg')
})

test('the main thread reports an exception of a client library, and takes any other one as its own', async () => {
  const lines: unknown[] = []
  const report = createLibraryReporter({ warn: (event, fields) => void lines.push({ event, ...fields }) })
  assert.equal(report(await catchInTimer(thrower('/app/node_modules/redis/x.js'))), true)
  assert.equal(report(new Error('of the node')), false)
  assert.deepEqual(lines, [{ event: 'library failed', library: 'redis', reason: 'of the library' }])
})

test('an exception with a frame of the broker, of another package or of two libraries is not one of a library', async () => {
  const ofPg = thrower('/app/node_modules/pg/lib/client.js')
  for (const file of [
    '/app/src/core/broker-core.ts',
    '/app/node_modules/godwit/dist/cli/worker.js',
    '/app/node_modules/fastify/fastify.js',
    '/app/node_modules/mysql2/lib/x.js',
    '/app/pg/lib/client.js',
  ])
    assert.equal(findFailedLibrary(await catchInTimer(caller(file, ofPg))), undefined, file)
  assert.equal(findFailedLibrary(await catchInTimer(thrower('/app/src/core/x.ts'))), undefined)
  for (const other of [undefined, 'text', { stack: '    at x (/node_modules/pg/x.js:1:1)' }])
    assert.equal(findFailedLibrary(other), undefined)
})

test('an asynchronous frame of the broker counts like any other', async () => {
  const ofPg = compileIn('/app/node_modules/pg/lib/x.js', `async () => { await 1; throw new Error('late') }`)
  const ofBroker = compileIn('/app/src/x.ts', 'async (work) => { await work() }')
  const errors: unknown[] = []
  await Promise.resolve(ofBroker(ofPg)).catch((error: unknown) => errors.push(error))
  assert.match((errors[0] as Error).stack ?? '', /at async \S* ?\(?\/app\/src/)
  assert.equal(findFailedLibrary(errors[0]), undefined)
})

test('frames that a service writes into the message do not count', async () => {
  const text = JSON.stringify('x\n    at y (/app/node_modules/pg/x.js:1:1)')
  const ofBroker = compileIn('/app/src/x.ts', `() => { throw new Error(${text}) }`)
  assert.equal(findFailedLibrary(await catchInTimer(ofBroker)), undefined)
  const foreign = JSON.stringify('x\n    at y (/app/src/x.ts:1:1)')
  const ofPg = compileIn('/app/node_modules/pg/x.js', `() => { throw new Error(${foreign}) }`)
  assert.equal(findFailedLibrary(await catchInTimer(ofPg)), 'pg')
})

test('a stack that may continue below the recorded frames is not one of a library', async () => {
  const deep = compileIn(
    '/app/node_modules/pg/x.js',
    `function deep(n) { if (n === 0) throw new Error('deep'); deep(n - 1) }`,
  )
  const broker = compileIn('/app/src/x.ts', '(work) => () => work(200)')
  assert.equal(findFailedLibrary(await catchInTimer(broker(deep) as () => unknown)), undefined)
})

test('the packages of each library are those that it depends on', () => {
  const roots = { ...libraryPackages, nats: ['@nats-io/transport-node', '@nats-io/jetstream'] }
  for (const [library, packages] of Object.entries(libraryPackages)) {
    const found = new Set<string>()
    const add = (name: string): void => {
      // Types have no code.
      if (found.has(name) || name.startsWith('@types/')) return
      found.add(name)
      const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies?: object }
      Object.keys(dependencies).forEach(add)
    }
    for (const root of library === 'nats' ? roots.nats : [library]) add(root)
    found.delete(library)
    assert.deepEqual([...found].toSorted(), packages, library)
  }
})
