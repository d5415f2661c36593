import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type GodwitConfig, loadConfig } from '../../src/config/index.ts'
import type { NodeStart, RunningNode } from '../../src/boot/running-node.ts'
import { readCounters } from '../../src/telemetry/index.ts'
import { atEnd, temporaryFolder } from '../e2e/godwit-process.ts'
import { eventually } from '../e2e/eventually.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { importNode } from './built-node.ts'

const { startNode } = await importNode()
const doubleShard = new URL('./double-shard.ts', import.meta.url)
const quickRestarts = { firstDelayMs: 1, maxDelayMs: 4, forgivenAfterMs: 60_000, maxConsecutiveRestarts: 3 }

function configOf(dataDir: string, overrides: readonly string[] = []): GodwitConfig {
  const quiet = ['log.to=[file]', 'log.level=warn']
  const one = ['listeners.tcp.bind="127.0.0.1:0"', 'node.shards=1', 'http_server={enable=false,port=0}']
  const loaded = loadConfig({ overrides: [...one, ...quiet, ...overrides] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return { ...loaded.config, node: { ...loaded.config.node, dataDir } }
}

interface Surroundings {
  overrides?: readonly string[]
  behaviour?: string
  shardStopMs?: number
}

async function start(t: TestContext, folder: string, surroundings: Surroundings = {}): Promise<NodeStart> {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (surroundings.behaviour !== undefined) await writeFile(join(dataDir, 'behaviour'), surroundings.behaviour)
  const started = await startNode({
    config: configOf(dataDir, surroundings.overrides),
    warnings: [],
    installation: { root: folder, isCheckout: true },
    shardEntry: doubleShard,
    restarts: quickRestarts,
    ...(surroundings.shardStopMs === undefined ? {} : { shardStopMs: surroundings.shardStopMs }),
  })
  if ('node' in started) atEnd(t, () => started.node.stop())
  return started
}

async function running(t: TestContext, folder: string, surroundings: Surroundings = {}): Promise<RunningNode> {
  const started = await start(t, folder, surroundings)
  assert.ok('node' in started, 'problem' in started ? started.problem : '')
  return started.node
}

async function problem(t: TestContext, folder: string, surroundings: Surroundings = {}): Promise<string> {
  const started = await start(t, folder, surroundings)
  assert.ok('problem' in started, 'it started')
  assert.doesNotMatch(started.problem, /\n/, 'a problem is one line')
  return started.problem
}

async function logLines(node: RunningNode): Promise<{ event: string; lastWords?: string }[]> {
  const text = await readFile(join(node.dataDirectory, 'log', 'godwit.log'), 'utf8')
  // The last line may be incomplete, because it is being written.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

test('a node starts, reports its actual ports, and releases the data directory when it has stopped', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder)
  assert.equal(node.listeners.length, 1)
  const { host, port, name, isLoopback } = node.listeners[0]
  assert.deepEqual({ host, name, isLoopback }, { host: '127.0.0.1', name: 'default', isLoopback: true })
  assert.ok(port > 0)
  assert.equal(readCounters(node.counters).connectionsOpen, 1)

  await node.stop()
  assert.equal(await readFile(join(folder, 'data', 'stopped'), 'utf8'), 'shutdown requested\n')
  assert.deepEqual(
    (await readdir(join(folder, 'data'))).filter((file) => file.startsWith('node.lock')),
    [],
  )
  await running(t, folder)
})

test('only the system user of the broker can read a new data directory', async (t) => {
  const folder = await temporaryFolder(t)
  const dataDir = join(folder, 'deep', 'data')
  const started = await startNode({
    config: configOf(dataDir),
    warnings: [],
    installation: { root: folder, isCheckout: true },
    shardEntry: doubleShard,
  })
  assert.ok('node' in started)
  await started.node.stop()
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  for (const file of ['node-name', 'log/godwit.log']) {
    assert.equal((await stat(join(dataDir, file))).mode & 0o077, 0, file)
  }
})

test('a second node on the same data directory is refused, and the first node continues', async (t) => {
  const folder = await temporaryFolder(t)
  const first = await running(t, folder)
  assert.match(
    await problem(t, folder),
    new RegExp(`data: a node is running there already \\(process ${process.pid}\\)`),
  )
  assert.equal(readCounters(first.counters).connectionsOpen, 1)
  await first.stop()
  await running(t, folder)
})

const staleLocks = [
  { of: 'a process that is gone', content: JSON.stringify({ pid: 2 ** 30, startedAt: 'some boot 1' }) },
  {
    of: 'an earlier process with the number of a living one',
    content: JSON.stringify({ pid: 1, startedAt: 'some boot 1' }),
  },
  { of: 'a process that died while it wrote', content: '{"pid":1,"star' },
  { of: 'a process that died before it wrote', content: '' },
  { of: 'nobody', content: '{"pid":"x"}' },
]
// Only Linux shows whether another process has got the same process ID.
const knownStale = staleLocks.filter(({ content }) => process.platform === 'linux' || !content.includes('"pid":1,"'))
for (const stale of knownStale) {
  test(`the lock of ${stale.of} does not prevent a start`, async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    await writeFile(join(folder, 'data', 'node.lock'), stale.content)
    const node = await running(t, folder)
    assert.equal(JSON.parse(await readFile(join(node.dataDirectory, 'node.lock'), 'utf8')).pid, process.pid)
  })
}

test('of many simultaneous starts on one data directory with a stale lock, exactly one succeeds', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'data'), { mode: 0o700 })
  await writeFile(join(folder, 'data', 'node.lock'), staleLocks[0].content)
  const started = await Promise.all(Array.from({ length: 8 }, () => start(t, folder)))
  assert.equal(started.filter((each) => 'node' in each).length, 1)
})

test('the error for a port in use is one line with the port and the key of the setting', async (t) => {
  const folder = await temporaryFolder(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const message = await problem(t, folder, { overrides: [`listeners.tcp.bind="127.0.0.1:${port}"`] })
  assert.equal(
    message,
    `listeners.tcp.bind: port ${port} on 127.0.0.1 is in use by another program; stop that one or choose another port`,
  )
  other.close()
  await once(other, 'close')
  await running(t, folder)
})

test('the error for two listeners on the same port names both listeners', async (t) => {
  const folder = await temporaryFolder(t)
  const port = await reservePort(t)
  const overrides = [`listeners.tcp.bind=${port}`, `listeners.tcp.second.bind="127.0.0.1:${port}"`]
  const message = await problem(t, folder, { overrides })
  assert.match(message, /^listeners\.tcp\.second\.bind: port \d+ on 127\.0\.0\.1 is in use/)
})

test('the error for an address that this machine does not have names the address', async (t) => {
  const folder = await temporaryFolder(t)
  const message = await problem(t, folder, { overrides: ['listeners.tcp.bind="192.0.2.1:0"'] })
  assert.match(message, /^listeners\.tcp\.bind: this machine has no address 192\.0\.2\.1/)
})

test('the error for an unusable data directory is one line with its path', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  for (const dataDir of [join(folder, 'file'), join(folder, 'file', 'below'), '/proc/godwit']) {
    const started = await startNode({
      config: configOf(dataDir),
      warnings: [],
      installation: { root: folder, isCheckout: true },
      shardEntry: doubleShard,
    })
    assert.ok('problem' in started)
    assert.match(started.problem, /^data directory \/.*: .*; choose another with --data DIR or node\.data_dir$/)
  }
})

test('the error for a log that cannot be written names its path, and the start leaves no open resources', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  const message = await problem(t, folder, { overrides: [`log.dir=${JSON.stringify(join(folder, 'file'))}`] })
  assert.match(message, /^log\.dir: cannot write godwit\.log in .*file/)
  await running(t, folder)
})

test('a log directory that cannot be created prevents the start', async (t) => {
  const message = await problem(t, await temporaryFolder(t), { overrides: ['log.dir=/proc/godwit/log'] })
  assert.equal(
    message,
    'log.dir: cannot write godwit.log in /proc/godwit/log: no directory can be made there; choose another directory',
  )
})

test('if a shard cannot start, the start fails with its message, and leaves no open resources', async (t) => {
  const folder = await temporaryFolder(t)
  const message = await problem(t, folder, { behaviour: 'cannot start' })
  assert.equal(message, 'storage: another process holds the database')
  await running(t, folder, { behaviour: 'normal' })
})

test('if a shard throws while it starts, the start fails with one line', async (t) => {
  const folder = await temporaryFolder(t)
  const message = await problem(t, folder, { behaviour: 'fails at the start' })
  assert.equal(message, 'a shard did not start: Error: the double fails')
  const log = await readFile(join(folder, 'data', 'log', 'godwit.log'), 'utf8')
  assert.match(log, /shard did not start.*double-shard\.ts/, 'the log has the stack')
})

test('a shard that throws is restarted on the same ports, which is logged', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder, { behaviour: 'fails once' })
  await untilLogged(node, 'shard restarted')
  const failure = (await logLines(node)).find((line) => line.event === 'shard failed and is restarting')
  assert.match(String(failure?.lastWords), /the double fails/)
  const starts = (await readFile(join(node.dataDirectory, 'starts'), 'utf8')).trim().split('\n')
  assert.equal(starts.length, 2)
  assert.equal(starts[0], starts[1])
  assert.equal(readCounters(node.counters).connectionsOpen, 1, 'connections from before the restart are not counted')
})

test('a shard that fails repeatedly is not restarted any more, and the node reports it as failed', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder, { behaviour: 'fails always' })
  assert.equal(await node.broken, 'a shard failed 4 times in a row: Error: the double fails; the log has the stack')
  const starts = (await readFile(join(node.dataDirectory, 'starts'), 'utf8')).trim().split('\n')
  assert.equal(starts.length, 1 + quickRestarts.maxConsecutiveRestarts)
})

test('a shard that does not stop in time is terminated', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder, { behaviour: 'ignores stop', shardStopMs: 20 })
  await node.stop()
  assert.ok((await logLines(node)).some((line) => line.event === 'shard terminated: it did not stop in time'))
  await running(t, folder, { behaviour: 'normal' })
})

test('a listener with only a port is bound to loopback when hardened, to all addresses when legacy, and otherwise to its address', async (t) => {
  const folder = await temporaryFolder(t)
  const onlyPort = 'listeners.tcp.bind=0'
  const cases = [
    { overrides: [onlyPort], host: /^127\.0\.0\.1$/, isLoopback: true },
    { overrides: [onlyPort, 'node.security_profile=legacy'], host: /^(::|0\.0\.0\.0)$/, isLoopback: false },
    { overrides: [onlyPort, 'node.default_listener_address="0.0.0.0"'], host: /^0\.0\.0\.0$/, isLoopback: false },
  ]
  for (const { overrides, host, isLoopback } of cases) {
    const node = await running(t, folder, { overrides })
    await node.stop()
    assert.match(node.listeners[0].host, host)
    assert.equal(node.listeners[0].isLoopback, isLoopback)
  }
})

test('a node keeps its generated name, and uses a configured name', async (t) => {
  const folder = await temporaryFolder(t)
  const first = await running(t, folder)
  assert.match(first.name, /^godwit@./)
  await first.stop()
  await writeFile(join(folder, 'data', 'node-name'), 'godwit@where-it-was-before\n')
  const second = await running(t, folder)
  assert.equal(second.name, 'godwit@where-it-was-before')
  await second.stop()
  const third = await running(t, folder, { overrides: ['node.name="godwit@here"'] })
  await third.stop()
  const fourth = await running(t, folder)
  assert.equal(fourth.name, 'godwit@here')
})

test('each shard has a thread, a number, a link to each peer and all ports, and gets the request to stop', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder, { overrides: ['node.shards=3', 'http_server.enable=true'] })
  assert.equal(readCounters(node.counters).connectionsOpen, 3)
  const starts = await startsOf(node)
  assert.deepEqual(
    starts.map(({ shard, shards, peers }) => ({ shard, shards, peers })).sort((a, b) => a.shard - b.shard),
    [
      { shard: 0, shards: 3, peers: [1, 2] },
      { shard: 1, shards: 3, peers: [0, 2] },
      { shard: 2, shards: 3, peers: [0, 1] },
    ],
  )
  for (const { listeners } of starts) {
    assert.deepEqual(
      listeners.map(({ port, sharesPort }) => ({ port, sharesPort })),
      [
        { port: node.listeners[0].port, sharesPort: true },
        // The Unix socket of the dashboard: the first shard opens it, and each shard knows its path.
        { port: 0, sharesPort: false },
      ],
    )
  }
  await node.stop()
  assert.equal(await readFile(join(folder, 'data', 'stopped'), 'utf8'), 'shutdown requested\n'.repeat(3))
})

test('a message over a link arrives at the peer, also after one of the shards was restarted', async (t) => {
  const folder = await temporaryFolder(t)
  const node = await running(t, folder, { overrides: ['node.shards=3'], behaviour: 'shard 1 fails once' })
  await untilLogged(node, 'shard restarted')
  const pairs = [
    ['shard 0, start 1', 'shard 1, start 2'],
    ['shard 2, start 1', 'shard 1, start 2'],
    ['shard 0, start 1', 'shard 2, start 1'],
  ]
  for (const [one, other] of pairs) {
    await untilLogged(node, `${one} received from ${other}`)
    await untilLogged(node, `${other} received from ${one}`)
  }
})

test('without a configured number, there is one shard for each processor core', async (t) => {
  const folder = await temporaryFolder(t)
  const config = configOf(join(folder, 'data'))
  const started = await startNode({
    config: { ...config, node: { ...config.node, shards: undefined } },
    warnings: [],
    installation: { root: folder, isCheckout: true },
    shardEntry: doubleShard,
  })
  assert.ok('node' in started)
  atEnd(t, () => started.node.stop())
  assert.equal(readCounters(started.node.counters).connectionsOpen, availableParallelism())
})

test('if one shard cannot start, the start fails, and the other shards are stopped', async (t) => {
  const folder = await temporaryFolder(t)
  const message = await problem(t, folder, { overrides: ['node.shards=3'], behaviour: 'shard 2 cannot start' })
  assert.equal(message, 'storage: another process holds the database')
  await running(t, folder, { behaviour: 'normal' })
})

interface ShardStart {
  readonly shard: number
  readonly shards: number
  readonly peers: readonly number[]
  readonly listeners: readonly { readonly port: number; readonly sharesPort: boolean }[]
}

async function startsOf(node: RunningNode): Promise<ShardStart[]> {
  const text = await readFile(join(node.dataDirectory, 'starts'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Reads the log repeatedly, because other threads emit no events here. */
async function untilLogged(node: RunningNode, event: string): Promise<void> {
  await eventually(async () => assert.ok((await logLines(node)).some((line) => line.event === event)))
}
