// Whatever happens to the texts that a start only shows: signals, commands, the first password and the service manager work.

import assert from 'node:assert/strict'
import { execFileSync, spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { runHere } from '../cli/run-here.ts'
import { eventually } from '../e2e/eventually.ts'
import { atEnd, brokerOptions, fastStart, godwitProgram, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const preload = `--import=${new URL('../cli/break-texts.ts', import.meta.url).href}`
const password = /log in as +admin with (\S+)/

/** The addresses with which a text failed, or could fail. */
const listeners = (folder: string): string => {
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  return `
    node { shards = 1, default_listener_address = "0.0.0.0" }
    http_server.port = 0
    http_server.ip_addr = "127.0.0.1"
    listeners.tcp.default.bind = 0
    listeners.tcp.named.bind = "localhost:0"
    listeners.ssl.all { bind = "0.0.0.0:0", ${files} }
    listeners.ssl.all6 { bind = "[::]:0", ${files} }
    listeners.ssl.mapped { bind = "[::ffff:127.0.0.1]:0", ${files} }
    listeners.ssl.named { bind = "localhost:0", ${files} }
    listeners.ssl.key { bind = "0.0.0.0:0", psk_file = "${folder}/keys.psk" }
    listeners.ws.all { bind = "0.0.0.0:0" }
    listeners.wss.all { bind = "0.0.0.0:0", ${files} }
    auth.psk.enable = true
  `
}

interface Stage {
  readonly folder: string
  readonly notifications: string
  readonly environment: NodeJS.ProcessEnv
  readonly words: readonly string[]
}

async function prepare(t: TestContext): Promise<Stage> {
  const folder = await temporaryFolder(t)
  const { certificate, key } = new Authority('authority').issue('', {
    subject: [],
    hostNames: ['*', '$(x)', '192.0.2.1'],
  })
  await writeFile(join(folder, 'cert.pem'), certificate)
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'keys.psk'), 'plant-7:00112233445566778899aabbccddeeff\n')
  await writeFile(join(folder, 'godwit.conf'), listeners(folder))
  const notifications = join(folder, 'notifications')
  await mkdir(join(folder, 'bin'))
  const notify = join(folder, 'bin', 'systemd-notify')
  await writeFile(notify, `#!/bin/sh\necho "$@" >> '${notifications}'\n`)
  await chmod(notify, 0o755)
  const environment = {
    ...process.env,
    ...fastStart,
    NODE_OPTIONS: `${fastStart.NODE_OPTIONS} ${preload}`,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    NOTIFY_SOCKET: '/dev/null',
  }
  const words = [godwitProgram, 'start', '--config', join(folder, 'godwit.conf'), '--data', join(folder, 'data')]
  return { folder, notifications, environment, words: [...brokerOptions, ...words] }
}

/** A pipe that takes nothing more, because its reader does not read. */
function openFullPipe(folder: string): number {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  try {
    for (;;) writeSync(pipe, 'x'.repeat(512))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
  }
  return pipe
}

interface Case {
  readonly breaks?: string
  /** Of stdout; default: a pipe that the test reads. */
  readonly stdout?: (folder: string) => number
  readonly closesStdout?: boolean
  /** Where the first password is; undefined: the reader of stdout reads nothing. */
  readonly passwordOn: 'stdout' | 'stderr' | undefined
  readonly logged?: RegExp
}

const cases: Readonly<Record<string, Case>> = {
  'nothing fails': { passwordOn: 'stdout' },
  'the names of a certificate cannot be checked': {
    breaks: 'certificates',
    passwordOn: 'stdout',
    logged: /"event":"start text not shown","part":"command for ssl all",.*broken on purpose/,
  },
  'stdout cannot be written': {
    breaks: 'stdout',
    passwordOn: undefined,
    logged: /"event":"first password not shown","username":"admin","remedy":"godwit ctl admins reset"/,
  },
  'the reader of stdout has gone': { closesStdout: true, passwordOn: 'stderr' },
  'the reader of stdout does not read': { stdout: openFullPipe, passwordOn: undefined },
}

for (const [name, { breaks = '', stdout, closesStdout = false, passwordOn, logged }] of Object.entries(cases)) {
  test(`a started broker is ready, and follows commands and signals, if ${name}`, async (t) => {
    const { folder, notifications, environment, words } = await prepare(t)
    const pipe = stdout?.(folder)
    const stdio: StdioOptions = ['ignore', pipe ?? 'pipe', 'pipe']
    const broker = spawn(process.execPath, words, { env: { ...environment, GODWIT_TEST_BREAKS: breaks }, stdio })
    atEnd(t, () => broker.kill('SIGKILL'))
    if (pipe !== undefined) closeSync(pipe)
    if (closesStdout) broker.stdout?.destroy()
    const ended = once(broker, 'exit')
    const output = closesStdout || broker.stdout === null ? Promise.resolve('') : text(broker.stdout)
    assert.ok(broker.stderr !== null)
    const errors = text(broker.stderr)
    const isReady = (times: number): Promise<void> =>
      eventually(async () => {
        const sent = await readFile(notifications, 'utf8').catch(() => '')
        assert.equal(sent.match(/READY=1/g)?.length, times)
      })
    await isReady(1)
    const status = await runHere(['ctl', 'status', '--data', join(folder, 'data')])
    assert.equal(status.code, 0, status.errors)
    broker.kill('SIGHUP')
    assert.equal((await runHere(['ctl', 'restart', '--data', join(folder, 'data')])).code, 0)
    await isReady(2)
    assert.equal((await runHere(['ctl', 'stop', '--data', join(folder, 'data')])).code, 0)
    assert.deepEqual(await ended, [0, null], await errors)
    assert.match(await readFile(notifications, 'utf8'), /STOPPING=1/)
    const shown = { stdout: await output, stderr: await errors }
    if (passwordOn !== undefined) assert.match(shown[passwordOn], password, JSON.stringify(shown))
    if (logged !== undefined) assert.match(shown.stderr, logged)
    if (name === 'nothing fails') assert.doesNotMatch(shown.stderr, /not shown/)
    if (passwordOn === 'stdout') assert.equal(shown.stdout.match(/^ {2}listening /gm)?.length, 18, shown.stdout)
  })
}
