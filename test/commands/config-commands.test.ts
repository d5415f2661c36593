import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { checkConfig, printConfigDocs, printConfigExample, printConfigSchema } from '../../src/cli/config-commands.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { writeExampleFile, writeJsonSchema, writeReferencePage } from '../../src/config/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

interface TerminalOutput {
  readonly exitCode: number
  readonly output: string
  readonly errors: string
}

async function listen(command: (terminal: Terminal) => number | Promise<number>): Promise<TerminalOutput> {
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (text) => (written.output += text) },
    { write: (text) => (written.errors += text) },
  )
  const exitCode = await command(terminal)
  return { exitCode, ...written }
}

/** Writes the files into a folder of their own and checks the first of them. `FOLDER` stands for its path. */
async function check(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  environment = {},
): Promise<TerminalOutput> {
  const folder = join(await temporaryFolder(t), 'etc')
  await mkdir(join(folder, 'parts', 'deep'), { recursive: true })
  const names = Object.keys(files)
  for (const name of names) await writeFile(join(folder, name), files[name].replaceAll('FOLDER', folder))
  const written = await listen((terminal) =>
    checkConfig({ file: join(folder, names[0]), environment, asJson: false }, terminal),
  )
  return {
    ...written,
    output: written.output.replaceAll(folder, 'FOLDER'),
    errors: written.errors.replaceAll(folder, 'FOLDER'),
  }
}

test('config check reports that a valid file is valid', async (t) => {
  assert.deepEqual(await check(t, { 'a.conf': 'mqtt.receive_maximum = 5' }), {
    exitCode: 0,
    output: 'FOLDER/a.conf: the configuration is good\n',
    errors: '',
  })
})

test('config check warns about settings without effect, with the reason', async (t) => {
  const { exitCode, output } = await check(t, { 'a.conf': 'listeners.tcp {}\n\ndds.domain_id = 0' })
  assert.equal(exitCode, 0)
  assert.match(output, /^warning: FOLDER\/a\.conf:3:\d+: dds: accepted without effect: Godwit has no such gateway/)
})

test('config check prints one line for each error, with file, line and key', async (t) => {
  const { exitCode, output, errors } = await check(t, {
    'a.conf': 'log.level = loud\nmqtt { include "parts/mqtt.conf" }\nnonsense = 1',
    'parts/mqtt.conf': '\nreceive_maximum = 0',
  })
  assert.equal(exitCode, 1)
  assert.equal(output, '')
  assert.deepEqual(
    errors.split('\n').map((line) => line.split(': ').slice(0, 3).join(' ')),
    [
      'godwit FOLDER/a.conf:1:13 log.level',
      'godwit FOLDER/a.conf:3:12 nonsense',
      'godwit FOLDER/parts/mqtt.conf:2:19 mqtt.receive_maximum',
      '',
    ],
  )
})

test('the path of an include is relative to the including file, at any depth', async (t) => {
  const { errors, exitCode } = await check(t, {
    'a.conf': 'include "parts/b.conf"',
    'parts/b.conf': 'include "deep/c.conf"\ninclude "FOLDER/parts/d.conf"',
    'parts/deep/c.conf': 'include "../e.conf"',
    'parts/d.conf': 'log.level = info',
    'parts/e.conf': 'node.shards = 2',
  })
  assert.equal(errors, '')
  assert.equal(exitCode, 0)
})

test('files that include each other are an error', async (t) => {
  const { exitCode, errors } = await check(t, {
    'a.conf': 'include "parts/b.conf"',
    'parts/b.conf': 'include "../a.conf"',
  })
  assert.equal(exitCode, 1)
  assert.match(errors, /includes itself|include each other more than 10 deep/)
})

test('an include of a file outside of the folder is an error that shows no content of that file', async (t) => {
  const { exitCode, errors } = await check(t, { 'a.conf': 'auth.password { include "/etc/passwd" }' })
  assert.equal(exitCode, 1)
  assert.match(
    errors,
    /a\.conf:1:17: auth\.password: cannot include "\/etc\/passwd": only files below FOLDER can be included/,
  )
  assert.ok(!errors.includes('root:'))
})

test('a file can refer to environment variables', async (t) => {
  const { exitCode } = await check(t, { 'a.conf': 'node.shards = ${SHARDS}' }, { SHARDS: '3' })
  assert.equal(exitCode, 0)
  assert.match((await check(t, { 'a.conf': 'node.shards = ${SHARDS}' })).errors, /\$\{SHARDS\} is not set anywhere/)
})

test('config check reports what start refuses: missing files, readable password files, keys that do not match the certificate', async (t) => {
  const { exitCode, errors } = await check(t, {
    'a.conf': [
      'http_server { ip_addr = "0.0.0.0", password = public }',
      'listeners.tcp.bind = 1883',
      'listeners.ssl { bind = 8883, certfile = "FOLDER/none.pem", keyfile = "FOLDER/none.key" }',
    ].join('\n'),
  })
  assert.equal(exitCode, 1)
  const lines = errors.trimEnd().split('\n')
  assert.match(
    lines.find((line) => line.includes('listeners.ssl')) ?? '',
    /a\.conf:3:\d+: .*certfile: cannot read FOLDER\/none\.pem: there is no such file/,
  )
  assert.match(errors, /http_server\.password/)
})

test('config check reports every unreadable file, not only the first one', async (t) => {
  const { exitCode, errors } = await check(t, {
    'a.conf': [
      'listeners.ssl { certfile = "FOLDER/a.pem", keyfile = "FOLDER/a.key", cacertfile = "FOLDER/ca.pem" }',
      'listeners.ssl.sni.b { server_name = b, certfile = "FOLDER/b.pem", keyfile = "FOLDER/b.key" }',
      'gateway.stomp.listeners.ssl.c { bind = "127.0.0.1:0", certfile = "FOLDER/c.pem", keyfile = "FOLDER/c.key" }',
      'gateway.coap.listeners.dtls.d.bind = "127.0.0.1:0"',
      'gateway.coap.listeners.dtls.d.dtls_options { certfile = "FOLDER/d.pem", keyfile = "FOLDER/d.key" }',
      'gateway.lwm2m.xml_dir = "FOLDER/objects"',
    ].join('\n'),
  })
  assert.equal(exitCode, 1)
  const missing = [...errors.matchAll(/conf:(\d+):\d+: ([a-z0-9_.]+): .*there is no such file/g)]
  assert.deepEqual(
    missing.map(([, line, key]) => `${line} ${key}`),
    [
      '1 listeners.ssl.certfile',
      '1 listeners.ssl.keyfile',
      '2 listeners.ssl.sni.b.certfile',
      '2 listeners.ssl.sni.b.keyfile',
      '1 listeners.ssl.cacertfile',
      '6 gateway.lwm2m.xml_dir',
      '5 gateway.coap.listeners.dtls.d.dtls_options.certfile',
      '5 gateway.coap.listeners.dtls.d.dtls_options.keyfile',
      '3 gateway.stomp.listeners.ssl.c.certfile',
      '3 gateway.stomp.listeners.ssl.c.keyfile',
    ],
  )
})

for (const [what, directory, reason] of [
  ['is a file', 'FOLDER/file', 'it is not a directory'],
  ['is below a file', 'FOLDER/file/below', 'a part of the path is not a directory'],
  ['cannot be created', '/proc/godwit/below', 'no directory can be made there'],
] as const) {
  test(`config check refuses a data or log directory that ${what}, as start does`, async (t) => {
    const conf = `node.data_dir = "${directory}"\nlog { to = [file], dir = "${directory}" }`
    const { exitCode, errors } = await check(t, { 'a.conf': conf, file: '' })
    assert.equal(exitCode, 1)
    const written = errors
      .replaceAll(/:\d+: /g, ': ')
      .trimEnd()
      .split('\n')
    assert.deepEqual(written, [
      `godwit: FOLDER/a.conf:1: node.data_dir: ${directory}: ${reason}; choose another directory`,
      `godwit: FOLDER/a.conf:2: log.dir: cannot write godwit.log in ${directory}: ${reason}; choose another directory`,
    ])
  })
}

test('config check creates no directory, because the service may run as another account', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'a.conf')
  await writeFile(file, `node.data_dir = "${folder}/data"\nlog { to = [file], dir = log }`)
  assert.equal((await checkOf(file, false)).exitCode, 0)
  assert.deepEqual(await readdir(folder), ['a.conf'])
})

test('config check refuses a log file that is a directory', async (t) => {
  const { errors } = await check(t, { 'a.conf': 'log { to = [file], dir = "FOLDER", file = parts }' })
  assert.match(errors, /a\.conf:1:\d+: log\.dir: cannot write parts in FOLDER: FOLDER\/parts is not a file/)
})

test('config check reports a missing or invalid key for API tokens with the line of the setting', async (t) => {
  const missing = await check(t, { 'a.conf': 'http_server.auth_type = jwt' })
  assert.equal(missing.exitCode, 1)
  assert.match(missing.errors, /^godwit: FOLDER\/a\.conf: http_server\.jwt\.public\.keyfile: .*name its file\n$/)
  const conf = 'http_server {\nauth_type = jwt\njwt.public.keyfile = "FOLDER/a.key"\n}'
  const unusable = await check(t, { 'a.conf': conf, 'a.key': 'no key' })
  assert.match(
    unusable.errors,
    /^godwit: FOLDER\/a\.conf:3:\d+: http_server\.jwt\.public\.keyfile: the file has no key that can verify tokens: [^\n]*\n$/,
  )
})

test('config check reports a gateway with the address of an MQTT listener or of another gateway, which start refuses', async (t) => {
  const { errors } = await check(t, {
    'a.conf': [
      'listeners.tcp.bind = "127.0.0.1:21996"',
      'gateway.stomp.listeners.tcp.a.bind = 21996',
      'gateway.stomp.listeners.tcp.b.bind = "127.0.0.1:21997"',
      'gateway.stomp.listeners.tcp.c.bind = "127.0.0.1:21997"',
      'gateway.coap.listeners.udp.d.bind = "127.0.0.1:21996"',
    ].join('\n'),
  })
  assert.deepEqual(
    errors
      .replaceAll(/:\d+: g/g, ': g')
      .trimEnd()
      .split('\n'),
    [
      'godwit: FOLDER/a.conf:2: gateway.stomp.listeners.tcp.a.bind: 127.0.0.1:21996 is that of listeners.tcp.default; choose another one',
      'godwit: FOLDER/a.conf:4: gateway.stomp.listeners.tcp.c.bind: 127.0.0.1:21997 is that of gateway.stomp.listeners.tcp.b; choose another one',
    ],
  )
})

test('config check reports if the API or the dashboard has the port of a listener', async (t) => {
  const { errors } = await check(t, {
    'a.conf': [
      'listeners.tcp.bind = "0.0.0.0:21996"',
      'http_server.port = 21996',
      'dashboard.bind = "127.0.0.1:21996"',
    ].join('\n'),
  })
  assert.match(errors, /http_server\.port: 127\.0\.0\.1:21996 is that of listeners\.tcp\.default; choose another one/)
  assert.match(errors, /dashboard\.bind: 127\.0\.0\.1:21996 is that of listeners\.tcp\.default; choose another one/)
})

test('config check --ports reports ports that are in use', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const file = join(await temporaryFolder(t), 'a.conf')
  await writeFile(file, `http_server.enable = false\nlisteners.tcp.bind = "127.0.0.1:${port}"\n`)
  const options = { file, environment: {}, asJson: false }
  assert.equal((await listen((terminal) => checkConfig(options, terminal))).exitCode, 0)
  const { exitCode, errors } = await listen((terminal) => checkConfig({ ...options, checksPorts: true }, terminal))
  assert.equal(exitCode, 1)
  await writeFile(file, `http_server.port = 0\ndashboard.bind = "127.0.0.1:${port}"\n`)
  const dashboard = await listen((terminal) => checkConfig({ ...options, checksPorts: true }, terminal))
  assert.match(
    dashboard.errors,
    new RegExp(`a\\.conf:2:\\d+: dashboard\\.bind: port ${port} on 127\\.0\\.0\\.1 is in use`),
  )
  assert.match(errors, new RegExp(`a\\.conf:2:\\d+: listeners\\.tcp\\.bind: port ${port} on 127\\.0\\.0\\.1 is in use`))
})

function checkOf(file: string, asJson: boolean): Promise<TerminalOutput> {
  return listen((terminal) => checkConfig({ file, environment: {}, asJson }, terminal))
}

test('config check of a missing file, or of a folder, fails with a message', async () => {
  const { exitCode, errors } = await checkOf('/nowhere/a.conf', false)
  assert.equal(exitCode, 1)
  assert.equal(errors, 'godwit: /nowhere/a.conf: there is no such file; name a configuration file\n')
  assert.match((await checkOf('/', false)).errors, /it is not a file/)
})

test('config check --json prints the same errors as JSON', async (t) => {
  const file = join(await temporaryFolder(t), 'a.conf')
  await writeFile(file, 'dds.domain_id = 0\nlog.level = loud')
  const { exitCode, output, errors } = await checkOf(file, true)
  assert.equal(exitCode, 1)
  assert.equal(errors, '')
  const [fault] = JSON.parse(output).faults
  const hint = 'the default is info if the console is a terminal, so that connections are shown; otherwise warn'
  const message = '"loud" is not one of trace, debug, info, warn, error, fatal, or auto'
  assert.deepEqual(fault, { file, line: 2, column: 13, key: 'log.level', message, hint })

  await writeFile(file, 'listeners.tcp {}\ndds.domain_id = 0')
  const good = await checkOf(file, true)
  assert.equal(good.exitCode, 0)
  const { isGood, faults, warnings } = JSON.parse(good.output)
  assert.deepEqual([isGood, faults, warnings[0].key], [true, [], 'dds'])
  assert.equal(JSON.parse((await checkOf('/nowhere/a.conf', true)).output).faults.length, 1)
})

test('config example, docs and schema print texts that are generated from the settings', async () => {
  assert.deepEqual(await listen(printConfigExample), { exitCode: 0, output: writeExampleFile(), errors: '' })
  assert.deepEqual(await listen(printConfigDocs), { exitCode: 0, output: writeReferencePage(), errors: '' })
  assert.deepEqual(await listen(printConfigSchema), { exitCode: 0, output: writeJsonSchema(), errors: '' })
})
