// The program as a process: exit codes, and one line that says what failed and where.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, watch } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import { runGodwit, shared, startBroker, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { runHere } from './run-here.ts'
import { casesOf, longTest } from '../test-length.ts'

interface Ended {
  code: number | null
  output: string
  errors: string
}

/** With a setting of malloc, a broker does not execute itself again (see bin/godwit.js), which takes a third of the time of a start. */
const fastStart = { ...process.env, MALLOC_ARENA_MAX: '4' }

async function ended(
  t: TestContext,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = fastStart,
): Promise<Ended> {
  const godwit = runGodwit(t, words, environment)
  const code = await godwit.ended
  return { code, output: godwit.output, errors: godwit.errors }
}

/** Fails unless the command ended with this code and printed exactly one line to stderr, with the reason. */
async function refusal(t: TestContext, code: number, words: readonly string[]): Promise<string> {
  return refusalIn(await ended(t, words), code)
}

/** The same within this process, for what the program decides before a broker starts. */
async function refusalHere(code: number, words: readonly string[]): Promise<string> {
  return refusalIn(await runHere(words), code)
}

function refusalIn(result: Ended, code: number): string {
  assert.equal(result.code, code, result.errors)
  assert.equal(result.output, '')
  assert.match(result.errors, /^godwit: [^\n]+\n$/)
  return result.errors
}

const configuredBroker = shareConfigurableBroker(['node.shards=3'])

const quietly = [
  'listeners.tcp.bind="127.0.0.1:0"',
  'http_server.password="a-password-for-tests"',
  'node.shards=1',
].flatMap((setting) => ['--set', setting])

const preloads = ['print-memory-settings.ts', 'break-on-signal.ts'].map(
  (file) => `--import=${new URL(file, import.meta.url).href}`,
)
const nodeOptions = { NODE_OPTIONS: preloads.join(' ') }

const internalErrors = [
  ['SIGUSR2', 'thrown on purpose'],
  ['SIGWINCH', 'rejected on purpose'],
] as const

interface DefaultBroker {
  readonly dataDirectory: string
  readonly process: WatchedProcess
  /** What it has printed when it is started. */
  readonly text: string
  /** Earlier processes with the same data directory, each with the error that ended it. */
  readonly failed: readonly { readonly error: string; readonly ended: Ended }[]
}

/**
 * A broker with one shard that prints its memory settings. Internal errors ended the processes before it. The last test that uses it closes its
 * output.
 */
const defaultBroker = shared(async (scope): Promise<DefaultBroker> => {
  const dataDirectory = await temporaryFolder(scope)
  const words = ['start', '--data', dataDirectory, ...quietly, '--set', 'http_server.port=0']
  const failed = []
  for (const [signal, error] of casesOf<(typeof internalErrors)[number]>(internalErrors, 'SIGWINCH')) {
    const broken = runGodwit(scope, words, { ...fastStart, ...nodeOptions })
    await broken.until(/listening/)
    const code = await broken.stop(signal)
    failed.push({ error, ended: { code, output: broken.output, errors: broken.errors } })
  }
  const godwit = runGodwit(scope, [...words, '--set', 'log.level=info'], { ...process.env, ...nodeOptions })
  await godwit.until(/clients without a name and password/)
  await godwit.until(/"event":"node started"/)
  return { dataDirectory, process: godwit, text: godwit.soFar, failed }
})

const memorySettings = (text: string): string | undefined => [...text.matchAll(/memory: (.*)/g)].at(-1)?.[1]

test('a broker starts with settings that make the C library return memory and limit V8 to as many helper threads as there is memory for, in the same process', async () => {
  // Other systems do not have this library; there, a broker does not restart itself.
  const expected =
    process.platform === 'linux'
      ? `own from 32768, kept up to 1048576, heaps ${availableParallelism()}, helpers ${Math.max(1, Math.min(availableParallelism() - 1, 4))}`
      : 'own from unset, kept up to unset, heaps unset, helpers unset'
  const { process: godwit, text } = await defaultBroker()
  assert.equal(memorySettings(text), expected)
  assert.equal(godwit.child.exitCode, null)
})

test('memory settings of the C library in the environment are not changed', async (t) => {
  const environment = { ...process.env, ...nodeOptions, MALLOC_TRIM_THRESHOLD_: '16777216' }
  const { errors } = await ended(t, ['start', '--config', '/nowhere/godwit.conf'], environment)
  assert.equal(memorySettings(errors), 'own from unset, kept up to 16777216, heaps unset, helpers unset')
})

test('--version prints the version of the package', async (t) => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.deepEqual(await ended(t, ['--version']), { code: 0, output: `${version}\n`, errors: '' })
})

test('--help lists the commands, and the options of each', async () => {
  const help = await runHere(['--help'])
  assert.equal(help.code, 0)
  assert.match(help.output, /start/)
  assert.match(help.output, /config/)
  const startHelp = await runHere(['start', '--help'])
  assert.equal(startHelp.code, 0)
  for (const option of ['--config', '--data', '--set']) assert.ok(startHelp.output.includes(option), option)
})

test('an unknown command suggests the nearest one', async () => {
  assert.match(await refusalHere(2, ['strat']), /unknown command 'strat' \(Did you mean start\?\)/)
})

test('an unknown option suggests the nearest one', async () => {
  assert.match(await refusalHere(2, ['start', '--confg', 'x']), /unknown option '--confg' \(Did you mean --config\?\)/)
})

test('an option without its value, an extra argument, and a malformed --set are wrong usage', async () => {
  assert.match(await refusalHere(2, ['start', '--data']), /--data/)
  assert.match(await refusalHere(2, ['start', '--data', '']), /--data.*value is empty/)
  assert.match(await refusalHere(2, ['start', 'now']), /too many arguments/)
  assert.match(await refusalHere(2, ['start', '--set', 'node.shards']), /KEY=VALUE/)
})

test('without a command, the help is printed and the exit code is that of wrong usage', async () => {
  const { code, errors } = await runHere([])
  assert.equal(code, 2)
  assert.match(errors, /Usage: godwit/)
})

test('the message about a missing configuration file names the file', async () => {
  assert.match(
    await refusalHere(1, ['start', '--config', '/nowhere/godwit.conf']),
    /\/nowhere\/godwit\.conf: there is no such file/,
  )
})

test('an unknown key in the file is reported with file, line and the nearest key', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, 'mqtt {\n  max_packet_sise = 1MB\n}\n')
  const message = await refusalHere(1, ['start', '--config', file, '--data', join(folder, 'data'), ...quietly])
  assert.match(message, new RegExp(`${file}:2:\\d+: mqtt\\.max_packet_sise: .*max_packet_size`))
})

test('every error of the file is reported with its line', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, 'node.shards = many\nmqtt.max_qos_allowed = 7\n')
  const { code, errors } = await runHere(['start', '--config', file, '--data', join(folder, 'data')])
  assert.equal(code, 1)
  assert.match(errors, /^godwit: .*:1:.*node\.shards.*\ngodwit: .*:2:.*mqtt\.max_qos_allowed.*\n$/)
})

test('an unknown key in --set is wrong usage', async () => {
  assert.match(await refusalHere(2, ['start', '--set', 'node.shard=1']), /node\.shard.*node\.shards/)
})

test('a configuration can only include files below its folder', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, 'include required(file("/etc/hostname"))\n')
  const message = await refusalHere(1, ['start', '--config', file, '--data', join(folder, 'data'), ...quietly])
  assert.match(message, new RegExp(`${file}:1:.*only files below ${folder} can be included`))
})

test('a port in use is reported in one line', async (t) => {
  const folder = await temporaryFolder(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const start = ['start', '--data', folder, ...quietly, '--set']
  const inUse = `port ${port} on 127\\.0\\.0\\.1 is in use by another program; stop that one or choose another`
  const words = [...start, `listeners.tcp.bind="127.0.0.1:${port}"`]
  assert.match(await refusal(t, 1, words), new RegExp(`listeners\\.tcp\\.bind: ${inUse}`))
  const api = [...start, 'listeners.tcp.bind=127.0.0.1:0', '--set', `http_server.port=${port}`]
  assert.match(await refusal(t, 1, api), new RegExp(`http_server\\.port: ${inUse}`))
})

test('a data directory that cannot be created is reported in one line', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  const message = await refusal(t, 1, ['start', '--data', join(folder, 'file', 'data'), ...quietly])
  assert.match(message, /data directory .*: a part of the path is not a directory/)
})

test('the banner names version, profile, data directory, listener, dashboard, and the setting for access from other machines', async () => {
  const broker = await defaultBroker()
  const output = broker.text
  assert.match(output, /^Godwit \d+\.\d+\.\d+, node godwit@\S+, profile hardened\n/)
  assert.ok(output.includes(broker.dataDirectory))
  assert.match(output, /mqtt:\/\/127\.0\.0\.1:(\d+) \(tcp, default\)\n.*mosquitto_sub -h 127\.0\.0\.1 -p \1 /)
  assert.match(output, /management API +(http:\S+)\/api\/v4\n +dashboard +\1\/dashboard\/\n/)
  assert.match(output, /node\.default_listener_address/)
})

test('a second broker on the same data directory is refused, and the first continues', async (t) => {
  const broker = await configuredBroker()
  const message = await refusal(t, 1, ['start', '--data', broker.dataDirectory, ...quietly])
  assert.match(message, new RegExp(`a node is running there already \\(process ${broker.process.child.pid}\\)`))
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

// Daily: the locks of stopped processes in test/node/node.test.ts.
longTest('after a broker was killed, its lock does not prevent the next start', async (t) => {
  const broker = await startBroker(t)
  assert.equal(await broker.process.stop('SIGKILL'), null)
  const next = await startBroker(t, { dataDirectory: broker.dataDirectory, set: ['log.level=info'] })
  assert.equal(await next.process.stop(), 0)
  assert.match(next.process.errors, /"event":"previous run did not stop cleanly/)
  assert.match(next.process.errors, /"event":"node started","version":"[^"]+".*"listeners":"tcp 127\.0\.0\.1:\d+"/)
  assert.match(next.process.errors, /"event":"node stopping","why":"stopped"/)
  const again = await startBroker(t, { dataDirectory: broker.dataDirectory })
  assert.equal(await again.process.stop(), 0)
  assert.doesNotMatch(again.process.errors, /good order/)
})

test('a signal during the start stops the broker', async (t) => {
  const folder = await temporaryFolder(t)
  const locked = new Promise<void>((resolve) => {
    const watcher = watch(folder, (_, file) => {
      if (file === 'node.lock') resolve()
    })
    t.after(() => watcher.close())
  })
  const godwit = runGodwit(t, ['start', '--data', folder, ...quietly], fastStart)
  await locked
  assert.equal(await godwit.stop('SIGINT'), 0)
})

// Daily: test/cli has a stop with one signal, test/package one by npm.
longTest('a signal that npm repeats at once causes one graceful stop', async (t) => {
  let code: number | null
  do {
    const broker = await startBroker(t)
    const client = connect(broker.port, '127.0.0.1').on('error', () => {})
    await once(client, 'connect')
    const begunMs = performance.now()
    broker.process.child.kill('SIGINT')
    await broker.process.until(/stopping/)
    code = await broker.process.stop('SIGINT')
    client.destroy()
    // A second signal after one second is not a repetition by npm.
    assert.ok(code === 0 || performance.now() - begunMs > 1_000, `${code}`)
  } while (code !== 0)
})

test('an internal error on the main thread, thrown or rejected, is logged and ends the process with code 1', async () => {
  const { failed } = await defaultBroker()
  for (const { error, ended } of failed) {
    assert.equal(ended.code, 1)
    assert.match(ended.errors, new RegExp(`"event":"node failed","stack":"Error: ${error}`))
  }
})

test('SIGHUP reads the file again and reports the changes, and an invalid file changes nothing', async () => {
  const broker = await configuredBroker(['mqtt.max_packet_size = 1MB'])
  const { process: godwit } = broker
  await writeFile(broker.configFile, 'mqtt.max_packet_size = 2MB\n')
  godwit.child.kill('SIGHUP')
  await godwit.until(/configuration reloaded.*"by":"signal"/)
  await godwit.until(/setting changed.*mqtt\.max_packet_size.*2MB/)
  await writeFile(broker.configFile, 'mqtt.max_packet_size = \n]')
  godwit.child.kill('SIGHUP')
  await godwit.until(/configuration not loaded/)
  assert.match((await broker.request('/api/v4/configuration/mqtt')).text, /"max_packet_size":"2MB"/)
})

test('SIGHUP opens the log file again, so that logrotate can rename it', async () => {
  const broker = await configuredBroker(['log.to = [console, file]'])
  const file = join(broker.dataDirectory, 'log', 'godwit.log')
  await rename(file, `${file}-20261129`)
  broker.process.child.kill('SIGHUP')
  await eventually(() => assert.ok(existsSync(file)))
  // The lines of the first signal may be in the file that was renamed.
  await eventually(() => {
    broker.process.child.kill('SIGHUP')
    assert.match(readFileSync(file, 'utf8'), /configuration reloaded/)
  })
})

test('config example, docs and schema print their texts, and config check reports errors', async (t) => {
  const example = await runHere(['config', 'example'])
  assert.equal(example.code, 0)
  assert.match(example.output, /listeners/)
  assert.equal((await runHere(['config', 'docs'])).code, 0)
  const schema = await runHere(['config', 'schema'])
  assert.equal(schema.code, 0)
  assert.equal(typeof JSON.parse(schema.output), 'object')

  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, example.output)
  assert.equal((await runHere(['config', 'check', file])).code, 0)
  await writeFile(file, 'nonsense = 1\n')
  const checked = await runHere(['config', 'check', file])
  assert.equal(checked.code, 1)
  assert.match(checked.errors + checked.output, /godwit\.conf:1:\d+: nonsense/)
  assert.equal((await runHere(['config', 'check'])).code, 2)
  assert.match(await refusalHere(2, ['config', 'exmaple']), /Did you mean example\?/)
})

test(
  'the thread pool has one thread for each shard that writes and eight for all other work',
  { skip: process.platform === 'linux' ? false : 'only Linux shows threads by name' },
  async () => {
    const single = await defaultBroker()
    await eventually(() => assert.equal(poolThreadsOf(single.process.child.pid), 1 + 8))
    const broker = await configuredBroker()
    await eventually(() => assert.equal(poolThreadsOf(broker.process.child.pid), 3 + 8))
  },
)

function poolThreadsOf(pid: number | undefined): number {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).filter((task) => {
    // Another thread may have ended meanwhile.
    if (!existsSync(`${tasks}/${task}`)) return false
    return readFileSync(`${tasks}/${task}/comm`, 'utf8') === 'libuv-worker\n'
  }).length
}

test('the broker continues if the reader of its output closes the pipe', async () => {
  const broker = await defaultBroker()
  broker.process.child.stdout?.destroy()
  broker.process.child.stderr?.destroy()
  broker.process.child.kill('SIGHUP')
  broker.process.child.kill('SIGHUP')
  assert.equal(await broker.process.stop(), 0)
})
