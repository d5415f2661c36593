// Commands for the broker, its data and its accounts, for clients and messages, and the ways to connect to the broker. The tests share it.

import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { archiveOf, folder } from '../../backup/crafted.ts'
import { eventually } from '../../e2e/eventually.ts'
import { startBroker, temporaryFolder } from '../../e2e/godwit-process.ts'
import { type BrokerWithApi, shareBrokerWithApi } from '../../management/api.ts'
import { runOverHttp, ctl, ctlDone, ctlRefused, runCtl, runCtlHere } from './ctl.ts'

const sharedBroker = shareBrokerWithApi({ set: ['retainer.max_payload_size=10B'] })

/** Adds a bridge that cannot connect, until the end of the test. */
async function bridgedBroker(t: TestContext): Promise<BrokerWithApi> {
  const broker = await sharedBroker()
  t.after(async () => {
    await broker.request('/api/v4/bridges/north', { method: 'DELETE' })
    await eventually(async () => assert.equal(await ctlDone(broker, ['alarms']), ''))
    await broker.request('/api/v4/alarms/deactivated', { method: 'DELETE' })
  })
  const bridge = 'bridges.mqtt.north { server = "mqtt-tcp://127.0.0.1:1", enable = true }'
  await ctlDone(broker, ['api', 'call', 'update_config', '--body', bridge])
  return broker
}

test('status prints version, numbers and alarms of the broker on one page', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const status = JSON.parse(await ctlDone(broker, ['status', '--json']))
  assert.equal(status.node_status, 'Running')
  assert.equal(status.connections, 1)
  assert.equal(status.profile, 'hardened')
  assert.ok(status.shards >= 1)
  assert.deepEqual([status.alarms, status.bridges], [[], []])
  assert.match(status['messages.received.rate'], /^\d+\/s$/)
  const page = await ctlDone(broker, ['status'], { isTerminal: true })
  assert.match(page, /^uptime +\d+ Hours/m)
  assert.match(page, /^memory +\d+ MiB of \d+ MiB\ncpu +[\d.]+%\nbridges +none\nalarms +none\n$/m)
})

test('status prints each active alarm with its start time and what to do', async (t) => {
  const broker = await bridgedBroker(t)
  let page = await ctlDone(broker, ['status'])
  while (!/^alarms +bridge:north$/m.test(page)) page = await ctlDone(broker, ['status'])
  assert.match(
    page,
    /^alarm bridge:north +since \d{4}-\d\d-\d\d [\d:]+: the bridge north is not connected to .+the connection is refused/m,
  )
  assert.match(page, /^bridges +0 of 1 connected: north is \w+$/m)
  const status = JSON.parse(await ctlDone(broker, ['status', '--json']))
  assert.equal(status.alarms[0].name, 'bridge:north')
  assert.equal(status.bridges[0].name, 'north')
  assert.equal(await ctlDone(broker, ['alarms', '--end', 'bridge:north']), 'bridge:north is ended\n')
  assert.match(await ctlRefused(broker, 1, ['alarms', '--end', 'bridge:south']), /no alarm 'bridge:south' is active/)
})

test('alarms prints a list, which is empty without active alarms', async () => {
  const broker = await sharedBroker()
  assert.equal(await ctlDone(broker, ['alarms']), '')
  assert.deepEqual(JSON.parse(await ctlDone(broker, ['alarms', '--all', '--json'])), [])
})

test('listeners are listed and reopened', async (t) => {
  const broker = await sharedBroker()
  // The client of the previous test may have disconnected just now.
  await eventually(async () =>
    assert.match(
      await ctlDone(broker, ['listeners', 'list']),
      new RegExp(`\tmqtt:tcp:default\t127\\.0\\.0\\.1:${broker.port}\t0\t`),
    ),
  )
  await ctlDone(broker, ['listeners', 'restart', 'mqtt:tcp:default'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  assert.match(await ctlRefused(broker, 1, ['listeners', 'restart', 'mqtt:tcp:other']), /\(code \d+\)/)
})

test('bridges are listed, shown, and turned off and on', async (t) => {
  const broker = await bridgedBroker(t)
  assert.match(await ctlDone(broker, ['bridges', 'list']), /^north\ttrue\t\w+\tmqtt-tcp:\/\/127\.0\.0\.1:1\t/m)
  await ctlDone(broker, ['bridges', 'off', 'north'])
  assert.match(await ctlDone(broker, ['bridges', 'show', 'north']), /^enable +false$/m)
  await ctlDone(broker, ['bridges', 'on', 'north'])
  assert.match(await ctlRefused(broker, 1, ['bridges', 'on', 'south']), /\(code 108\)/)
})

test('a process that can read the data directory needs no password', async (t) => {
  const { dataDirectory } = await sharedBroker()
  const status = await runCtl(t, ['status', '--data', dataDirectory, '--json'])
  assert.deepEqual([status.code, status.errors], [0, ''])
  assert.equal(JSON.parse(status.output).node_status, 'Running')
})

test('`status --wait` waits for a broker that starts, also if the path of its data directory is too long for a socket', async (t) => {
  const dataDirectory = join(await temporaryFolder(t), 'a-long-name-of-a-folder-'.repeat(5))
  const waiting = runCtlHere(['status', '--data', dataDirectory, '--wait', '60'])
  await startBroker(t, { dataDirectory })
  const { code, output, errors } = await waiting
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /^node_status\s+Running$/m)
})

test('`status --wait` ends with the reason if no broker starts in time', async (t) => {
  const folder = await temporaryFolder(t)
  const { code, errors } = await runCtlHere(['status', '--data', folder, '--wait', '0.3'])
  assert.equal(code, 1)
  assert.match(errors, /no broker runs in/)
  const wrong = await runCtlHere(['status', '--data', folder, '--wait', 'long'])
  assert.deepEqual([wrong.code, wrong.errors], [2, 'godwit: --wait long: use a number of seconds, such as 30\n'])
})

test('options that select the broker are accepted before the command and between its words', async () => {
  const { dataDirectory } = await sharedBroker()
  for (const words of [
    ['--data', dataDirectory, '--json', 'status'],
    [`--data=${dataDirectory}`, 'status', '--json'],
  ]) {
    const status = await runCtlHere(words)
    assert.deepEqual([status.code, status.errors], [0, ''])
    assert.equal(JSON.parse(status.output).node_status, 'Running')
  }
  const list = await runCtlHere(['clients', '--data', dataDirectory, 'list'])
  assert.deepEqual([list.code, list.output, list.errors], [0, '', ''])
  const unknown = await runCtlHere(['--data', dataDirectory, 'statsu'])
  assert.deepEqual([unknown.code, unknown.errors.includes('Did you mean status?')], [2, true])
})

test('accounts are added and deleted, with passwords from stdin', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['admins', 'add', 'anna', '--viewer'], { lines: ['correct-horse'] })
  assert.match(await ctlDone(broker, ['admins', 'list']), /^anna\tviewer$/m)
  const asAnna = (path: string): Promise<{ status: number }> => broker.request(path, { as: 'anna:correct-horse' })
  assert.equal((await asAnna('/api/v4/brokers')).status, 200)
  assert.equal((await asAnna('/api/v4/users')).status, 403)
  await ctlDone(broker, ['admins', 'password', 'anna'], { lines: ['correct-horse', 'battery-staple'] })
  assert.equal((await asAnna('/api/v4/brokers')).status, 401)
  await ctlDone(broker, ['admins', 'del', 'anna'])
  assert.match(await ctlRefused(broker, 1, ['admins', 'del', 'anna']), /\(code 105\)/)
  assert.match(await ctlRefused(broker, 1, ['admins', 'del', 'admin']), /\(code 106\)/)
  assert.match(await ctlRefused(broker, 2, ['admins', 'add', 'bert']), /password of bert: stdin is empty/)
})

test('an API key has a secret that is printed once and authenticates at the API', async () => {
  const broker = await sharedBroker()
  const secret = (await ctlDone(broker, ['api-key', 'add', 'grafana', '--viewer'])).trim()
  assert.equal((await broker.request('/api/v4/brokers', { as: `grafana:${secret}` })).status, 200)
  assert.match(await ctlDone(broker, ['api-key', 'list']), /^grafana\t/m)
  const shown = await ctlDone(broker, ['api-key', 'show', 'grafana', '--json'])
  assert.ok(!shown.includes(secret))
  await ctlDone(broker, ['api-key', 'del', 'grafana'])
  assert.equal((await broker.request('/api/v4/brokers', { as: `grafana:${secret}` })).status, 401)
})

const secrets = {
  user: 'a-password',
  clientid: 'a-password',
  scram: 'a-password',
  psk: '00112233445566778899aabbccddeeff',
}

for (const [group, secret] of Object.entries(secrets)) {
  test(`ctl ${group}: entries are added and deleted, and the secret is read from stdin`, async () => {
    const broker = await sharedBroker()
    const lines = [secret]
    await ctlDone(broker, [group, 'add', 'an/na'], { lines })
    assert.match(await ctlRefused(broker, 1, [group, 'add', 'an/na'], lines), /\(code 113\)/)
    await ctlDone(broker, [group, 'update', 'an/na'], { lines: [secret] })
    const listed = await ctlDone(broker, [group, 'list'])
    assert.match(listed, /^an\/na(\t|$)/m)
    assert.ok(!listed.includes(secret))
    await ctlDone(broker, [group, 'del', 'an/na'])
    assert.match(await ctlRefused(broker, 1, [group, 'del', 'an/na']), /\(code 105\)/)
    assert.match(await ctlRefused(broker, 2, [group, 'add', 'bert']), /of bert: stdin is empty/)
  })
}

test('an unknown name is reported as such, not as an internal error of the broker', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlRefused(broker, 1, ['scram', 'update', 'an\u0001na'], ['a-password']), /\(code 105\)/)
})

test('a client can connect with a password as soon as it is stored', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['user', 'add', 'anna'], { lines: ['right'] })
  const at = `mqtt://127.0.0.1:${broker.port}`
  const client = await connectAsync(at, { username: 'anna', password: 'right' })
  await client.endAsync()
  await assert.rejects(connectAsync(at, { username: 'anna', password: 'wrong', reconnectPeriod: 0 }))
  await ctlDone(broker, ['user', 'del', 'anna'])
})

test('an archive is created, listed, shown, compared and restored by name and by path', async (t) => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['user', 'add', 'carol'], { lines: ['of carol'] })
  const printed = await ctlDone(broker, ['data', 'export'])
  const [, filename = ''] = /successfully exported to (\S+\.tar\.gz)\.$/m.exec(printed) ?? []
  assert.match(printed, /^Exporting cluster configuration\.\.\.$/m)
  assert.match(printed, /^Exporting credentials database table\.\.\.$/m)
  assert.match(await ctlDone(broker, ['data', 'list']), new RegExp(`^${filename}\t`, 'm'))
  assert.match(await ctlDone(broker, ['data', 'verify', filename]), /credentials 1/)
  assert.match(await ctlDone(broker, ['data', 'diff', filename]), /no difference/)
  await ctlDone(broker, ['user', 'del', 'carol'])
  assert.match(await ctlDone(broker, ['data', 'diff', filename]), /credentials: 1 only in the first/)

  const elsewhere = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  t.after(() => rm(elsewhere, { recursive: true, force: true }))
  const path = join(elsewhere, filename)
  await copyFile(join(broker.dataDirectory, 'backup', filename), path)
  const here = async (...words: string[]): Promise<string> => {
    const { code, output, errors } = await runCtlHere(['data', ...words, '--data', broker.dataDirectory])
    return code === 0 ? output : `${code}: ${errors}`
  }
  const [, whole = ''] = /exported to (\S+)\.$/m.exec(await here('export', '--table-sets', 'banned')) ?? []
  assert.equal(dirname(whole), join(broker.dataDirectory, 'backup'), 'a user of this machine gets its path')
  const dry = await here('import', path, '--dry-run')
  assert.match(dry, /credentials: 1 new, 0 replaced, 0 unchanged/)
  assert.match(dry, /Nothing has been changed\./)
  const imported = await here('import', path)
  assert.match(imported, /^Importing data from/m)
  assert.match(imported, /^Importing credentials database table\.\.\.$/m)
  assert.match(await here('import', whole), /^No backup file for credentials database table\.\.\.$/m)
  assert.match(imported, /Data has been imported successfully\./)
  const outcome = JSON.parse(await ctlDone(broker, ['data', 'import', filename, '--json']))
  assert.equal(outcome.tables.find((each: { table: string }) => each.table === 'credentials').unchanged, 1)

  const renamed = join(elsewhere, 'mine.tar.gz')
  await writeFile(renamed, await readFile(path))
  assert.match(await here('import', renamed), /^1: .*give the file its original name/)
  assert.match(await ctlRefused(broker, 1, ['data', 'import', 'none.tar.gz']), /no backup file/)
  const legacy = `${folder}.tar.gz`
  await writeFile(join(elsewhere, legacy), archiveOf({}, { profile: 'legacy' }))
  assert.match(await here('import', join(elsewhere, legacy)), /Allow it with --allow-security-profile-mismatch/)
  await ctlDone(broker, ['data', 'delete', filename])
  assert.match(await ctlRefused(broker, 1, ['data', 'verify', filename]), /no backup file/)
})

test('a command prints the response of a broker over HTTP, in lines or as JSON', async (t) => {
  const broker = await sharedBroker()
  const status = await runOverHttp(t, broker, ['status'])
  assert.deepEqual([status.code, status.errors], [0, ''])
  assert.match(status.output, /^node_status +Running$/m)
  const asJson = await ctl(broker, ['status', '--json'])
  assert.equal(JSON.parse(asJson.output).node_status, 'Running')
})

test('without a terminal, a list is printed as lines with cells separated by tabs', async () => {
  const broker = await sharedBroker()
  const listed = await ctl(broker, ['api', 'list'])
  assert.match(listed.output, /^list_brokers\tGET\t\/brokers\t/m)
})

test('any operation can be called by its name', async () => {
  const broker = await sharedBroker()
  const nodes = await ctl(broker, ['api', 'call', 'list_nodes'])
  assert.equal(JSON.parse(nodes.output).data.length, 1)
  const unknown = await ctl(broker, ['api', 'call', 'list_nods'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.errors, /^godwit: list_nods: no such operation[^\n]*\n$/)
})

test('a wrong password is reported in one line, which does not contain the password', async () => {
  const broker = await sharedBroker()
  const words = ['status', '--url', broker.url, '--username', 'admin', '--password-stdin']
  const wrong = await runCtlHere(words, ['not-the-password'])
  assert.equal(wrong.code, 1)
  assert.match(wrong.errors, /^godwit: [^\n]+\(code 103\)\n$/)
  assert.ok(!wrong.errors.includes('not-the-password'))
})

test('if the broker is not running, one line says so and what to do', async (t) => {
  const folder = await temporaryFolder(t)
  const nobody = await runCtlHere(['status', '--data', folder])
  assert.equal(nobody.code, 1)
  assert.match(nobody.errors, /^godwit: no broker runs in [^\n]+godwit start --data[^\n]+\n$/)
  const nowhere = await runCtlHere(['status', '--url', 'http://127.0.0.1:1'])
  assert.equal(nowhere.code, 1)
  assert.match(nowhere.errors, /^godwit: no broker responds at http:\/\/127\.0\.0\.1:1: [^\n]+\n$/)
})

for (const [what, words, hint] of [
  ['an unknown command', ['statsu'], /Did you mean status\?/],
  ['an unknown word of a group', ['api', 'cal'], /Did you mean call\?/],
  ['an unknown option', ['status', '--jsn'], /Did you mean --json\?/],
  ['a URL that is none', ['status', '--url', 'localhost:8081'], /use a URL such as http:/],
  ['a name without a URL', ['status', '--username', 'admin'], /--url URL/],
  ['a password without a user', ['status', '--url', 'http://127.0.0.1:1', '--password-stdin'], /needs --username/],
  [
    'a password that is not there',
    ['status', '--url', 'http://127.0.0.1:1', '--username', 'a', '--password-stdin'],
    /stdin is empty/,
  ],
] as const) {
  test(`${what} is reported as wrong usage, in one line`, async () => {
    const { code, errors } = await runCtlHere(words)
    assert.equal(code, 2)
    assert.match(errors, /^godwit: [^\n]+\n$/)
    assert.match(errors, hint)
  })
}

test('clients are listed, with and without filters, shown and disconnected', async (t) => {
  const broker = await sharedBroker()
  const anna = await connected(t, broker, 'phone-of-anna', 'anna')
  await connected(t, broker, 'phone-of-bert', 'bert')
  // The clients of earlier tests may have disconnected just now.
  const all = async (): Promise<string[]> => (await ctlDone(broker, ['clients', 'list'])).trim().split('\n')
  await eventually(async () => assert.equal((await all()).length, 2))
  const listed = await ctlDone(broker, ['clients', 'list', 'username=anna', 'conn_state=connected'])
  assert.match(listed, /^phone-of-anna\tanna\tconnected\t127\.0\.0\.1\t/)
  assert.match(await ctlDone(broker, ['clients', 'list'], { isTerminal: true }), /^clientid +username +conn_state/)
  assert.match(await ctlDone(broker, ['clients', 'show', 'phone-of-anna']), /^username +anna$/m)
  const gone = new Promise((resolve) => anna.once('close', () => resolve(undefined)))
  await ctlDone(broker, ['clients', 'kick', 'phone-of-anna'])
  await gone
  assert.match(await ctlRefused(broker, 1, ['clients', 'kick', 'phone-of-anna']), /\(code 112\)/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'show', 'nobody']), /client not found: nobody/)
  assert.match(await ctlRefused(broker, 2, ['clients', 'list', 'user=anna']), /user: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'list', 'conn_state=perhaps']), /\(code 108\)/)
})

test('subscriptions are printed as a list, as a tree and as a list of topics', async (t) => {
  const broker = await sharedBroker()
  const client = await connected(t, broker, 'gardener', 'anna')
  await client.subscribeAsync(['garden/+/water', 'garden/rose', 'house/#'], { qos: 1 })
  const listed = await ctlDone(broker, ['subscriptions', 'list', 'topic=garden/rose'])
  assert.equal(listed, 'gardener\tgarden/rose\t1\n')
  const tree = await ctlDone(broker, ['topics', 'tree'])
  const lines = tree.trimEnd().split('\n')
  assert.equal(lines.length, 6)
  assert.ok(lines.includes('garden'), tree)
  assert.ok(lines.includes('  rose  (gardener)'), tree)
  assert.equal(lines[lines.indexOf('  +') + 1], '    water  (gardener)')
  assert.equal(lines[lines.indexOf('house') + 1], '  #  (gardener)')
  assert.match(await ctlDone(broker, ['topics', 'list']), /^garden\/rose\t/m)
})

async function connected(
  t: TestContext,
  { port }: BrokerWithApi,
  clientId: string,
  username: string,
): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, username, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  return client
}

test('a message from the command line or from a file reaches the subscribers, and the output has their number', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  await client.subscribeAsync('birds/#', { qos: 1 })
  const first = nextMessage(client)
  assert.equal(await ctlDone(broker, ['publish', 'birds/a', '-m', 'landed', '-q', '1']), 'published to birds/a\n')
  const [topic, payload] = await first
  assert.deepEqual([topic, String(payload)], ['birds/a', 'landed'])
  const file = join(broker.dataDirectory, 'bytes')
  await writeFile(file, Buffer.from([0, 255, 254, 10]))
  const second = nextMessage(client)
  const receipt = await ctlDone(broker, ['publish', 'birds/b', '--file', file, '--receipt', '--json'])
  const [, bytes] = await second
  assert.deepEqual([...bytes], [0, 255, 254, 10])
  assert.equal(JSON.parse(receipt).matched, 1)
})

test('a retained message is published and deleted', async (t) => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['publish', 'birds/last', '-m', 'x', '-r'])
  assert.match(await ctlDone(broker, ['retained', 'list', 'birds/#']), /^birds\/last\t0\t1\t/)
  await ctlDone(broker, ['retained', 'delete', 'birds/last'])
  assert.equal(await ctlDone(broker, ['retained', 'list']), '')
  await ctlDone(broker, ['publish', 'birds/other', '-m', 'y', '-r'])
  t.after(() => ctlDone(broker, ['retained', 'delete', 'birds/other']))
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const retained = nextMessage(client)
  await client.subscribeAsync('birds/+')
  const [topic] = await retained
  assert.equal(topic, 'birds/other')
})

test('an existing client is subscribed and unsubscribed; an unknown client gives code 112', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'sensor' })
  t.after(() => client.endAsync())
  await ctlDone(broker, ['subscribe', 'sensor', 'orders/#', '-q', '1'])
  const received = nextMessage(client)
  await ctlDone(broker, ['publish', 'orders/a', '-m', 'x'])
  assert.equal((await received)[0], 'orders/a')
  await ctlDone(broker, ['unsubscribe', 'sensor', 'orders/#'])
  assert.match(await ctlRefused(broker, 1, ['subscribe', 'nobody', 'orders/#']), /\(code 112\)/)
})

test('a message that cannot be published is reported', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlRefused(broker, 2, ['publish', 'a']), /-m TEXT or --file FILE/)
  assert.match(await ctlRefused(broker, 2, ['publish', 'a', '-m', 'x', '-q', '3']), /--qos/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a', '--file', '/nowhere']), /\/nowhere/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a/#', '-m', 'x']), /\(code 115\)/)
})

function nextMessage(client: MqttClient): Promise<readonly [topic: string, payload: Buffer]> {
  return new Promise((resolve) => client.once('message', (topic, payload) => resolve([topic, payload])))
}

test('dropped messages are listed with reasons, and the events of a client are listed', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  await client.publishAsync('a/b', 'more than ten bytes', { retain: true, qos: 1 })
  assert.match(await ctlDone(broker, ['clients', 'timeline', 'talker']), /Z\tconnected\t1\t/)
  assert.equal(await ctlDone(broker, ['dropped', 'topic=nowhere']), '')
  const dropped = JSON.parse(await ctlDone(broker, ['dropped', 'clientid=talker', '--json']))
  assert.equal(dropped[0]?.topic, 'a/b')
  assert.equal(dropped[0]?.count, 1)
  assert.equal(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '2999-01-01']), '')
  assert.notEqual(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '1h', '--limit', '5']), '')
  await client.publishAsync('a/b', 'more than ten bytes', { retain: true, qos: 1 })
  await client.publishAsync('a/c', 'more than ten bytes', { retain: true, qos: 1 })
  const rows = async (limit: string): Promise<unknown[]> =>
    JSON.parse(await ctlDone(broker, ['dropped', 'clientid=talker', '--limit', limit, '--json']))
  const [newest, ...more] = (await rows('2')).map((row) => (row as { count: number }).count)
  assert.deepEqual([newest, more], [1, [2]], 'a limit of rows leaves their counts as they are')
  assert.equal((await rows('1')).length, 1)
  assert.match(await ctlRefused(broker, 2, ['dropped', '--since', 'yesterday']), /--since yesterday: give/)
  assert.match(
    await ctlRefused(broker, 1, ['clients', 'timeline', 'nosuch']),
    /no events of the client nosuch are recorded/,
  )
  assert.match(await ctlRefused(broker, 2, ['dropped', 'reson=expired']), /reson: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['dropped', 'reason=mood']), /\(code 108\)/)
})

test('the command explains why a client is allowed to publish', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  assert.match(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b']), /^result +allow$/m)
  const all = JSON.parse(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b', '--json']))
  assert.equal(all.client.connected, true)
  assert.match(await ctlRefused(broker, 2, ['explain', 'talker', 'read', 'a/b']), /use publish or subscribe/)
})

test('a rule for a client, a user or all clients is stored and deleted', async () => {
  const broker = await sharedBroker()
  for (const whose of [['--client', 'sensor'], ['--user', 'anna'], []]) {
    await ctlDone(broker, ['acl', 'add', 'deny', whose.length === 0 ? 'publish' : 'pub', 'secret/#', ...whose])
    assert.match(await ctlDone(broker, ['acl', 'list', ...whose]), /^(?=.*\bpub\b).*secret\/#/)
    await ctlDone(broker, ['acl', 'del', 'secret/#', ...whose])
    assert.equal(await ctlDone(broker, ['acl', 'list', ...whose]), '')
  }
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'perhaps', 'pub', 'a']), /use allow or deny/)
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'deny', 'read', 'a']), /use pub, sub or pubsub/)
})

test('a banned client is disconnected and refused until the ban is deleted', async () => {
  const broker = await sharedBroker()
  const at = `mqtt://127.0.0.1:${broker.port}`
  const client = await connectAsync(at, { clientId: 'pest', reconnectPeriod: 0 })
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  await ctlDone(broker, ['ban', 'add', 'clientid', 'pest', '--for-ever', '--reason', 'noise'])
  await closed
  assert.match(await ctlDone(broker, ['ban', 'list']), /^pest\tclientid\tnoise\tctl\t/)
  await ctlDone(broker, ['ban', 'del', 'clientid', 'pest'])
  await (await connectAsync(at, { clientId: 'pest' })).endAsync()
  assert.match(await ctlRefused(broker, 2, ['ban', 'add', 'shoe', 'size']), /peerhost/)
  assert.match(await ctlRefused(broker, 2, ['ban', 'add', 'username', 'a', '--seconds', 'long']), /--seconds/)
})

test('a trace is started, listed, shown and deleted', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['trace', 'start', 'one', 'clientid', 'talker'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  await client.endAsync()
  assert.match(await ctlDone(broker, ['trace', 'list']), /^one\tclientid\t/)
  await eventually(async () => assert.notEqual(await ctlDone(broker, ['trace', 'show', 'one']), ''))
  await ctlDone(broker, ['trace', 'del', 'one'])
  assert.equal(await ctlDone(broker, ['trace', 'list']), '')
  assert.match(await ctlRefused(broker, 2, ['trace', 'start', 'one', 'mood', 'x']), /ip_address/)
})
