import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createLogger, type LoggerOptions } from '../../src/telemetry/index.ts'
import { anyCharacter, fc } from '../properties.ts'

class MemoryConsole {
  readonly isTTY: boolean
  readonly lines: string[] = []

  constructor(isTTY = false) {
    this.isTTY = isTTY
  }

  write(line: string): void {
    this.lines.push(line)
  }
}

const onConsole: LoggerOptions = {
  to: ['console'],
  level: 'info',
  dir: '/nowhere',
  file: 'godwit.log',
  rotationSizeBytes: 1_024,
  rotationCount: 2,
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-log-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('a line is one JSON object with time, level, event and fields', async () => {
  const console = new MemoryConsole()
  const log = await createLogger(onConsole, console)
  log.warn('a client was refused', { clientId: 'sensor-1', reason: 135 })
  assert.equal(console.lines.length, 1)
  const { time, ...rest } = JSON.parse(console.lines[0])
  assert.deepEqual(rest, { level: 'warn', event: 'a client was refused', clientId: 'sensor-1', reason: 135 })
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('lines below the level are not written, except lines that other threads have filtered already', async () => {
  const console = new MemoryConsole()
  const log = await createLogger({ ...onConsole, level: 'warn' }, console)
  log.debug('unheard')
  log.info('unheard')
  log.write('fatal', 'written', undefined)
  assert.deepEqual(
    console.lines.map((line) => JSON.parse(line).event),
    ['written'],
  )
})

const nasty = fc.string({ unit: anyCharacter, maxLength: 40 })
// Characters that must not be written unchanged: controls, all kinds of line ends, marks of the reading direction.
const steering = /(?!\n)[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

test('no client ID can forge a JSON line', async () => {
  const console = new MemoryConsole()
  const log = await createLogger(onConsole, console)
  fc.assert(
    fc.property(nasty, (clientId) => {
      console.lines.length = 0
      log.info('connected', { clientId })
      assert.equal(console.lines.length, 1)
      const line = console.lines[0]
      assert.equal(line.indexOf('\n'), line.length - 1)
      assert.doesNotMatch(line, steering)
      assert.equal(JSON.parse(line).clientId.toWellFormed(), clientId.toWellFormed())
    }),
    { examples: [['\u001b[2J\n{"level":"error"}'], ['\u009b31m'], ['\u2028x'], ['\u202edrow']] },
  )
})

test('no client ID can control the terminal', async () => {
  const console = new MemoryConsole(true)
  const log = await createLogger(onConsole, console)
  fc.assert(
    fc.property(nasty, (clientId) => {
      console.lines.length = 0
      log.info('connected', { clientId })
      const line = console.lines[0]
      assert.equal(console.lines.length, 1)
      assert.equal(line.indexOf('\n'), line.length - 1)
      assert.doesNotMatch(line, steering)
    }),
    { examples: [['\u001b[2J\nERROR'], ['\u009b31m'], ['\u2028x'], ['\u202edrow']] },
  )
})

test('a shell that runs a log file or copied log lines as a script executes no command of a client ID', async (t) => {
  const folder = await temporaryFolder(t)
  const mark = join(folder, 'mark')
  const touch = `touch ${mark}`
  const names = [
    `$(${touch})`,
    `\`${touch}\``,
    `\\$(${touch})`,
    `\\\`${touch}\``,
    `\\\\$(${touch})`,
    `$\{x:=$(${touch})}`.replace('\\', ''),
    `$[a[$(${touch})]]`,
    `";${touch};"`,
    `'";${touch};'`,
    `\n${touch}\n`,
    `\r${touch}`,
    `$'\\x22';${touch}`,
    `x\n$(${touch})`,
    `\u2028${touch}`,
  ]
  for (const isTTY of [false, true]) {
    const console = new MemoryConsole(isTTY)
    const log = await createLogger(
      { ...onConsole, to: ['console', 'file'], dir: folder, rotationSizeBytes: 65_536 },
      console,
    )
    for (const name of names) log.warn('a client was refused', { clientId: name })
    await log.close()
    await writeFile(join(folder, 'console.log'), console.lines.join(''))
    for (const shell of ['sh', 'bash']) {
      for (const file of ['godwit.log', 'console.log']) spawnSync(shell, [join(folder, file)], { stdio: 'ignore' })
    }
    await assert.rejects(stat(mark), `a shell ran a command${isTTY ? ' of terminal lines' : ''}`)
  }
})

test('lines for a terminal are readable text instead of JSON', async () => {
  const console = new MemoryConsole(true)
  const log = await createLogger(onConsole, console)
  log.info('connected', { clientId: 'sensor 7', address: '10.0.0.7', port: 1883 })
  assert.match(
    console.lines[0],
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}connected {2}clientId="sensor 7" {2}address=10\.0\.0\.7 {2}port=1883\n$/,
  )
})

test('a long value is shortened, with its original length', async () => {
  const console = new MemoryConsole()
  const log = await createLogger(onConsole, console)
  log.info('connected', { clientId: 'x'.repeat(65_535) })
  assert.equal(JSON.parse(console.lines[0]).clientId, `${'x'.repeat(1_024)}… (65535 characters)`)
})

test('files are rotated by size, exceed it by less than a line, and at most the configured number is kept', async (t) => {
  const dir = await temporaryFolder(t)
  const console = new MemoryConsole()
  const log = await createLogger(
    { ...onConsole, to: ['file'], dir, rotationSizeBytes: 2_000, rotationCount: 3 },
    console,
  )
  for (let line = 0; line < 200; line += 1) log.info('line', { number: line, filling: 'x'.repeat(line % 50) })
  await log.close()

  assert.deepEqual((await readdir(dir)).sort(), ['godwit.log', 'godwit.log.1', 'godwit.log.2', 'godwit.log.3'])
  const newestFirst = ['godwit.log', 'godwit.log.1', 'godwit.log.2', 'godwit.log.3']
  const numbers: number[] = []
  for (const name of newestFirst.toReversed()) {
    const text = await readFile(join(dir, name), 'utf8')
    const lines = text.split('\n').slice(0, -1)
    for (const line of lines) numbers.push(JSON.parse(line).number)
    const lastLineBytes = lines.at(-1)!.length + 1
    if (name === 'godwit.log') assert.ok(text.length < 2_000)
    else assert.ok(text.length >= 2_000 && text.length - lastLineBytes < 2_000, `${name} has ${text.length} bytes`)
  }
  const first = numbers[0]
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => first + index),
    'no line is missing between the first stored line and the last',
  )
  assert.equal(numbers.at(-1), 199)
  assert.deepEqual(console.lines, [])
})

test('an existing file is appended to', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'godwit.log'), 'older\n')
  const log = await createLogger({ ...onConsole, to: ['file'], dir }, new MemoryConsole())
  log.info('newer')
  await log.close()
  assert.match(await readFile(join(dir, 'godwit.log'), 'utf8'), /^older\n\{.*"newer".*\}\n$/)
})

test('the log directory is created, and other system users cannot read the file', async (t) => {
  const dir = join(await temporaryFolder(t), 'deep', 'down')
  const log = await createLogger({ ...onConsole, to: ['file'], dir }, new MemoryConsole())
  await log.close()
  assert.equal((await stat(join(dir, 'godwit.log'))).mode & 0o007, 0)
})

test('a file that cannot be opened is an error at the start, with its path', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'not-a-folder'), '')
  await assert.rejects(
    createLogger({ ...onConsole, to: ['file'], dir: join(folder, 'not-a-folder') }, new MemoryConsole()),
    /not-a-folder/,
  )
})

test('with the targets console and file, lines are written to both', async (t) => {
  const dir = await temporaryFolder(t)
  const console = new MemoryConsole()
  const log = await createLogger({ ...onConsole, to: ['console', 'file'], dir }, console)
  log.error('both')
  await log.close()
  assert.equal(await readFile(join(dir, 'godwit.log'), 'utf8'), console.lines.join(''))
})

function eventsOf(lines: readonly string[]): unknown[] {
  return lines.map((line) => JSON.parse(line).event)
}

test('changed targets apply to later lines, and are not changed if the new file cannot be opened', async (t) => {
  const dir = await temporaryFolder(t)
  const console = new MemoryConsole()
  const first: LoggerOptions = { ...onConsole, to: ['file'], dir }
  const log = await createLogger(first, console)
  log.warn('one')
  await log.changeTargets({ ...first, file: 'other.log', to: ['file', 'console'] })
  log.warn('two')
  await writeFile(join(dir, 'no-folder'), '')
  await assert.rejects(log.changeTargets({ ...first, dir: join(dir, 'no-folder') }))
  log.warn('three')
  await log.changeTargets({ ...first, to: ['console'] })
  log.warn('four')
  const inFile = async (file: string): Promise<unknown[]> =>
    eventsOf((await readFile(join(dir, file), 'utf8')).trim().split('\n'))
  assert.deepEqual(await inFile('godwit.log'), ['one'])
  assert.deepEqual(await inFile('other.log'), ['two', 'three'])
  assert.deepEqual(eventsOf(console.lines), ['two', 'three', 'four'])
  await log.close()
})

test('a file that another program has renamed is opened again under its name, also while the targets change', async (t) => {
  const dir = await temporaryFolder(t)
  const console = new MemoryConsole()
  const options: LoggerOptions = { ...onConsole, to: ['file'], dir }
  const log = await createLogger(options, console)
  log.warn('one')
  await rename(join(dir, 'godwit.log'), join(dir, 'godwit.log-20261129'))
  await log.reopen()
  log.warn('two')
  const changed = log.changeTargets({ ...options, file: 'other.log' })
  await Promise.all([log.reopen(), changed, log.reopen()])
  log.warn('three')
  await log.close()
  const inFile = async (file: string): Promise<unknown[]> =>
    eventsOf((await readFile(join(dir, file), 'utf8')).trim().split('\n'))
  assert.deepEqual(await inFile('godwit.log-20261129'), ['one'])
  assert.deepEqual(await inFile('godwit.log'), ['two'])
  assert.deepEqual(await inFile('other.log'), ['three'])
  assert.deepEqual(console.lines, [])
})

test('after the file is closed, lines are written to the console', async (t) => {
  const dir = await temporaryFolder(t)
  const console = new MemoryConsole()
  const log = await createLogger({ ...onConsole, to: ['file'], dir }, console)
  await log.close()
  log.error('late')
  assert.equal(JSON.parse(console.lines[0]).event, 'late')
})

test('a console whose reader does not read gets no further lines, and the number of missing lines when it reads again', async () => {
  const console = Object.assign(new MemoryConsole(), { writableLength: 0 })
  const log = await createLogger(onConsole, console)
  console.writableLength = 2 ** 20 + 1
  for (const number of [1, 2, 3]) log.error('not written', { number })
  assert.deepEqual(console.lines, [])
  console.writableLength = 0
  log.error('written')
  const [missing, written] = console.lines.map((line) => JSON.parse(line))
  assert.deepEqual([missing?.event, missing?.lines], ['log lines not written to the console', 3])
  assert.equal(written?.event, 'written')
})
