import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { shareConfigurableBroker } from '../../management/api.ts'
import { startBroker, temporaryFolder } from '../../e2e/godwit-process.ts'
import { Authority, type Named } from '../../transports/certificates.ts'
import { ctl, ctlDone, ctlRefused, runCtl, runCtlHere } from './ctl.ts'

const configuredBroker = shareConfigurableBroker()

test('a configuration is applied, listed, compared and reverted', async () => {
  const broker = await configuredBroker()
  const historyOf = async () => JSON.parse(await ctlDone(broker, ['config', 'history', '--json']))
  const before = await historyOf()
  const file = join(broker.dataDirectory, 'new.conf')
  await writeFile(file, 'mqtt.max_packet_size = 2MB\n')
  assert.match(await ctlDone(broker, ['config', 'update', file, '--yes']), /^changed\tmqtt\.max_packet_size\t/m)
  assert.match(await ctlDone(broker, ['config', 'show', 'mqtt']), /max_packet_size/)
  const history = await historyOf()
  const [newest, oldest] = history
  assert.deepEqual(history.slice(1), before.slice(0, history.length - 1))
  assert.deepEqual(newest.changed, ['mqtt.max_packet_size'])
  assert.match(await ctlDone(broker, ['config', 'diff', String(oldest.number)]), /^mqtt\.max_packet_size\t/)
  await ctlDone(broker, ['config', 'rollback', String(oldest.number)])
  assert.equal(await ctlDone(broker, ['config', 'diff', String(oldest.number)]), '')
})

test('an invalid configuration is refused, and so is a text that is not a configuration', async () => {
  const broker = await configuredBroker()
  const file = join(broker.dataDirectory, 'bad.conf')
  await writeFile(file, 'mqtt {')
  assert.match(await ctlRefused(broker, 1, ['config', 'update', file, '--yes']), /\(code 117\)/)
  await writeFile(file, 'mqtt.max_packet_sise = 1MB')
  assert.match(await ctlRefused(broker, 1, ['config', 'update', file, '--yes']), /max_packet_sise.*\(code 108\)/)
  assert.match(await ctlRefused(broker, 1, ['config', 'update', '/nowhere', '--yes']), /\/nowhere/)
  assert.match(await ctlRefused(broker, 2, ['config', 'diff', '1', 'two']), /two/)
})

test('reload reads the files again', async () => {
  const broker = await configuredBroker()
  assert.match(await ctlDone(broker, ['reload']), /^nothing has changed\n$|^/)
})

test('reload prints the certificates in use and their expiry dates, and fails if one cannot be used', async (t) => {
  const folder = await temporaryFolder(t)
  const authority = new Authority('The test authority')
  const until = new Date('2040-02-03T04:05:06Z')
  const write = async ({ certificate, key }: Named): Promise<void> => {
    await writeFile(join(folder, 'cert.pem'), certificate)
    await writeFile(join(folder, 'key.pem'), key)
  }
  await write(authority.issue('localhost', { until: new Date('2039-01-01T00:00:00Z') }))
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  const set = [`listeners.ssl.plant={ bind = "127.0.0.1:0", ${files} }`]
  const broker = await configuredBroker(set)
  await write(authority.issue('localhost', { until }))
  assert.equal(
    await ctlDone(broker, ['reload']),
    `certificate in force\tssl:plant\t${folder}/cert.pem\tuntil 2040-02-03T04:05:06.000Z\n`,
  )
  const inForce = { state: 'certificate in force', listener: 'ssl:plant', file: `${folder}/cert.pem` }
  assert.deepEqual(JSON.parse(await ctlDone(broker, ['reload', '--json'])), [
    { ...inForce, ends: '2040-02-03T04:05:06.000Z' },
  ])
  await writeFile(join(folder, 'key.pem'), authority.issue('another').key)
  const [{ problem, ...unused }] = JSON.parse((await ctl(broker, ['reload', '--json'])).output)
  assert.deepEqual(unused, { ...inForce, state: 'certificate not used' })
  assert.match(problem, /^\S+key\.pem is not the key of the certificate in \S+cert\.pem \(/)
  const { code, output } = await ctl(broker, ['reload'])
  assert.equal(code, 1)
  assert.match(output, /^certificate not used\tssl:plant\t.*key\.pem is not the key of the certificate in .*cert\.pem/)
  assert.doesNotMatch(output, /error:/)
})

test('config update and replace show the difference, require a confirmation, and change nothing without it', async () => {
  const broker = await configuredBroker()
  const file = join(broker.dataDirectory, 'one-line.conf')
  await writeFile(file, 'mqtt.max_topic_levels = 9\n')
  await ctlDone(broker, ['config', 'set', 'mqtt.receive_maximum=77', 'mqtt.retry_interval=5s'])
  const levels = async (): Promise<string> => ctlDone(broker, ['config', 'get', 'mqtt.max_topic_levels'])
  assert.match(
    await ctlDone(broker, ['config', 'update', file, '--dry-run']),
    /^would change\tmqtt\.max_topic_levels\t128\t9$/m,
  )
  assert.match(await ctlRefused(broker, 2, ['config', 'update', file]), /nothing was changed: add --yes/)
  assert.equal(await levels(), '128\n')
  await ctlDone(broker, ['config', 'update', file, '--yes'])
  assert.equal(await levels(), '9\n')
  assert.equal(await ctlDone(broker, ['config', 'get', 'mqtt.receive_maximum']), '77\n', 'other settings stay')
  const whole = await ctlDone(broker, ['config', 'replace', file, '--dry-run'])
  assert.match(whole, /^would change\tmqtt\.receive_maximum\t77\t1024$/m)
  await ctlDone(broker, ['config', 'replace', file, '--yes'])
  assert.equal(await ctlDone(broker, ['config', 'get', 'mqtt.receive_maximum']), '1024\n', 'only replace replaces')
  assert.equal(await levels(), '9\n')
  assert.match(await ctlDone(broker, ['config', 'replace', file, '--yes']), /nothing would change/)
})

test('config set, get and unset change single settings, and leave the comments of the file', async () => {
  const broker = await configuredBroker()
  const text = '# a comment of mine\nmqtt.max_topic_levels = 9 # because\n'
  const file = join(broker.dataDirectory, 'mine.conf')
  await writeFile(file, text)
  await ctlDone(broker, ['config', 'replace', file, '--yes'])
  assert.match(
    await ctlDone(broker, ['config', 'set', 'mqtt.receive_maximum=77']),
    /^changed\tmqtt\.receive_maximum\t1024\t77$/m,
  )
  // As after --set, a value needs no quotes.
  const address = 'gateway.coap.listeners.udp.default.bind=127.0.0.1:0'
  await ctlDone(broker, ['config', 'set', address])
  assert.match(await ctlDone(broker, ['config', 'get', 'gateway.coap.listeners.udp.default.bind']), /127\.0\.0\.1:0/)
  await ctlDone(broker, ['config', 'unset', 'gateway.coap'])
  const bridge = 'bridges.mqtt.hill={ server = "mqtt-tcp://127.0.0.1:1", enable = false }'
  await ctlDone(broker, ['config', 'set', bridge])
  assert.match(await ctlDone(broker, ['config', 'get', 'bridges.mqtt.hill']), /127\.0\.0\.1:1/)
  await ctlDone(broker, ['config', 'unset', 'mqtt.receive_maximum', 'bridges.mqtt.hill'])
  assert.equal(await ctlDone(broker, ['config', 'get', 'mqtt.receive_maximum']), '1024\n')
  assert.match(await ctlRefused(broker, 1, ['config', 'get', 'bridges.mqtt.hill']), /unknown setting/)
  assert.equal(await readFile(broker.configFile, 'utf8'), text)
  assert.match(await ctlRefused(broker, 1, ['config', 'set', 'mqtt.receive_maximum=many']), /whole number/)
  assert.match(await ctlRefused(broker, 2, ['config', 'set', 'mqtt.receive_maximum']), /KEY=VALUE/)
  assert.match(
    await ctlRefused(broker, 2, ['config', 'get', 'mqtt', 'auth']),
    /: mqtt, auth; "godwit ctl config get --help" lists/,
  )
})

test('config unset drops the stored change, so that later edits of the file count; an entry of the file is removed', async () => {
  const broker = await configuredBroker()
  const changes = async (): Promise<unknown> =>
    JSON.parse(await readFile(join(broker.dataDirectory, 'changed-settings.conf'), 'utf8'))
  const bridge = 'bridges.mqtt.west { server = "mqtt-tcp://127.0.0.1:1", enable = false }\n'
  const file = join(broker.dataDirectory, 'west.conf')
  await writeFile(file, `mqtt.max_topic_levels = 9\n${bridge}`)
  await ctlDone(broker, ['config', 'replace', file, '--yes'])
  const unset = (...words: string[]): Promise<string> => ctlDone(broker, ['config', 'unset', ...words])

  await ctlDone(broker, ['config', 'set', 'mqtt.max_topic_levels=12', 'bridges.mqtt.west.keepalive=9s'])
  assert.equal(await unset('mqtt.max_topic_levels', '--dry-run'), 'would change\tmqtt.max_topic_levels\t12\t9\n')
  assert.equal(await unset('mqtt.max_topic_levels'), 'changed\tmqtt.max_topic_levels\t12\t9\n')
  await writeFile(broker.configFile, `mqtt.max_topic_levels = 7\n${bridge}`)
  assert.match(await ctlDone(broker, ['reload']), /^changed\tmqtt\.max_topic_levels\t9\t7$/m)
  const onlyInFile = await unset('mqtt.max_topic_levels')
  assert.match(
    onlyInFile,
    /^warning\t.*conf:1:25: mqtt\.max_topic_levels: the configuration file sets this value; edit/,
  )
  assert.deepEqual(await changes(), { bridges: { mqtt: { west: { keepalive: '9s' } } } })

  assert.match(await unset('bridges.mqtt.west'), /^changed\tbridges\.mqtt\.west\.server\t/m)
  assert.deepEqual(await changes(), { bridges: { mqtt: { west: null } } })
  assert.doesNotMatch(await ctlDone(broker, ['reload']), /west/)
  assert.equal(await unset('bridges.mqtt.west'), 'nothing has changed\n')
  await ctlDone(broker, ['config', 'replace', file, '--yes'])
  assert.deepEqual(await changes(), {})
})

test('an error in a change refers to the text of the user, not to a line of the file of the broker', async () => {
  const broker = await configuredBroker()
  assert.match(
    await ctlRefused(broker, 1, ['config', 'set', 'mqtt.receive_maximum=1', 'mqtt.receive_maximun=7']),
    /^godwit: mqtt\.receive_maximun: there is no such setting; did you mean mqtt\.receive_maximum\?/,
  )
  const warned = await ctlDone(broker, ['config', 'set', 'bridges.mqtt.hill={ server = "mqtt-tcp://127.0.0.1:1" }'])
  assert.match(warned, /^warning\tbridges\.mqtt\.hill\.enable: /m)
  const inJson = await ctlDone(broker, ['config', 'set', 'bridges.mqtt.hill.keepalive=9s', '--json'])
  const [warning] = JSON.parse(inJson).filter(({ state }: { state: string }) => state === 'warning')
  assert.match(warning.message, /^bridges\.mqtt\.hill\.enable: /)
  assert.match(
    await ctlRefused(broker, 1, ['config', 'unset', 'mqtt.nothing']),
    /^godwit: mqtt\.nothing: there is no such/,
  )
  const file = join(broker.dataDirectory, 'wrong.conf')
  await writeFile(file, '\nmqtt.receive_maximum = many\n')
  for (const command of ['update', 'replace'])
    assert.ok(
      (await ctlRefused(broker, 1, ['config', command, file])).startsWith(
        `godwit: ${file}:2:24: mqtt.receive_maximum: `,
      ),
    )
  await writeFile(file, 'mqtt {')
  assert.ok((await ctlRefused(broker, 1, ['config', 'update', file])).startsWith(`godwit: ${file}:1:6: mqtt: `))
  const sent = await broker.request('/api/v4/config_update', { method: 'POST', body: '\nmqtt.nothing = 1' })
  assert.match(sent.json.message, /^request:2:\d+: mqtt\.nothing: /)
})

test('changes that end with the next restart are not in backups', async () => {
  const broker = await configuredBroker()
  await broker.request('/api/v4/reload', { method: 'POST', body: { data: { msq_len: 55 } } })
  const exported = await ctlDone(broker, ['data', 'export'])
  const [, name = ''] = /exported to (\S+)\.$/m.exec(exported) ?? []
  const archive = gunzipSync(await readFile(join(broker.dataDirectory, 'backup', name))).toString('latin1')
  assert.ok(archive.includes('cluster.hocon') && !archive.includes('max_mqueue_len'))
})

test('a lost password can be reset over the local socket only', async (t) => {
  const broker = await startBroker(t, { generatesPassword: true })
  const reset = ['admins', 'reset', 'admin', '--data', broker.dataDirectory]
  const { code, output, errors } = await runCtl(t, reset)
  assert.equal(code, 0, errors)
  const [, password = ''] = /^new password of admin: (\S+)$/m.exec(output) ?? []
  const [, url = ''] = await broker.process.until(/management API +(http:\/\/127\.0\.0\.1:\d+)\/api\/v4/)
  const requestAs = (secret: string, path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Basic ${btoa(`admin:${secret}`)}` } })
  assert.equal((await requestAs(password, '/api/v4/brokers')).status, 200)
  const body = JSON.stringify({ new_pwd: 'another-password' })
  assert.equal((await requestAs(password, '/api/v4/change_pwd/admin', { method: 'PUT', body })).status, 400)
  const unknown = await runCtlHere(['admins', 'reset', 'unknown', '--data', broker.dataDirectory])
  assert.deepEqual([unknown.code, unknown.errors], [1, 'godwit: there is no account "unknown" (code 105)\n'])
  assert.equal((await runCtlHere(['admins', 'reset', 'admin', '--url', url])).code, 2)
})
