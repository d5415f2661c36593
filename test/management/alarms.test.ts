import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { alarmEndpoints } from '../../src/api/alarms/endpoints.ts'
import { compileShape } from '../../src/contract/index.ts'
import { ctlDone } from '../cli/ctl/ctl.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'
import { shareConfigurableBroker } from './api.ts'

const configuredBroker = shareConfigurableBroker(['node.name="godwit@plant"'])

test('without a problem, the lists of active and of ended alarms are empty', async () => {
  const broker = await configuredBroker()
  for (const path of ['', '/activated', '/deactivated']) {
    const ofNodes = await broker.request(`/api/v4/alarms${path}`)
    assert.equal(compileShape(alarmEndpoints.list_alarms.reply).findFault(ofNodes.json), undefined)
    assert.deepEqual(ofNodes.json.data, [{ node: 'godwit@plant', alarms: [] }], path)
    const ofNode = await broker.request(`/api/v4/nodes/godwit%40plant/alarms${path}`)
    assert.deepEqual(ofNode.json, { code: 0, data: [] })
    const unknownNode = await broker.request(`/api/v4/nodes/elsewhere/alarms${path}`)
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108])
  }
})

test('the paths /alarms/present and /alarms/history of EMQX 4 list alarms', async () => {
  const broker = await configuredBroker()
  for (const list of ['present', 'history']) {
    assert.deepEqual((await broker.request(`/api/v4/alarms/${list}`)).json, {
      code: 0,
      data: [{ node: 'godwit@plant', alarms: [] }],
    })
    assert.deepEqual((await broker.request(`/api/v4/alarms/${list}/godwit%40plant`)).json, { code: 0, data: [] })
    const unknownNode = await broker.request(`/api/v4/alarms/${list}/there`)
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108])
  }
  const forget = (node: string) => broker.request(`/api/v4/nodes/${node}/alarms/deactivated`, { method: 'DELETE' })
  assert.deepEqual((await forget('godwit%40plant')).json, { code: 0 })
  assert.equal((await forget('there')).status, 404)
})

test('a request to end an alarm is refused with 404 if the alarm is not active, and with 400 if the name or the JSON is invalid', async () => {
  const broker = await configuredBroker()
  const post = async (body: unknown) => {
    const { status, json } = await broker.request('/api/v4/alarms/deactivated', { method: 'POST', body })
    return [status, json.code]
  }
  assert.deepEqual(await post({ name: 'overload' }), [404, 108])
  assert.deepEqual(await post({ name: 'overload', node: 'elsewhere' }), [404, 108])
  assert.deepEqual(await post({ name: 7 }), [400, 108])
  assert.deepEqual(await post({}), [400, 107])
  assert.deepEqual(await post('no json'), [400, 109])
  const forgotten = await broker.request('/api/v4/alarms/deactivated', { method: 'DELETE' })
  assert.deepEqual(forgotten.json, { code: 0 })
})

test('an active alarm is shown by the API, in $SYS topics and on the command line until it ends', async (t) => {
  const folder = await temporaryFolder(t)
  const authority = new Authority('plant')
  const [certfile, keyfile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const renew = async (days: number): Promise<void> => {
    const { certificate, key } = authority.issue('broker', { until: new Date(Date.now() + days * 86_400_000) })
    await writeFile(certfile, certificate)
    await writeFile(keyfile, key)
  }
  await renew(365)
  const ssl = { bind: '127.0.0.1:0', certfile, keyfile }
  const set = Object.entries(ssl).map(([key, value]) => `listeners.ssl.${key}=${JSON.stringify(value)}`)
  const broker = await configuredBroker(set)
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  await client.subscribeAsync('$SYS/brokers/godwit@plant/alarms/#')
  /** Makes the broker check the files, and returns the next alarm message. */
  const nextAlarmAfter = async (
    by: 'signal' | 'command',
  ): Promise<{ topic: string; name: string; message: string }> => {
    const next = new Promise<[string, Buffer]>((resolve) =>
      client.once('message', (topic, payload) => resolve([topic, payload])),
    )
    if (by === 'signal') broker.process.child.kill('SIGHUP')
    else await ctlDone(broker, ['reload'])
    const [topic, payload] = await next
    return { topic, ...JSON.parse(String(payload)) }
  }
  await renew(7)
  const raised = await nextAlarmAfter('signal')
  assert.deepEqual([raised.topic, raised.name], ['$SYS/brokers/godwit@plant/alarms/activate', 'certificate-ends'])
  const [{ alarms }] = (await broker.request('/api/v4/alarms/activated')).json.data
  assert.deepEqual(
    alarms.map(({ name, message }: { name: string; message: string }) => [name, message]),
    [['certificate-ends', raised.message]],
  )
  assert.match(raised.message, /cert\.pem ends in \d days: renew it/)
  assert.match(await ctlDone(broker, ['alarms']), /^godwit@plant\tcertificate-ends\t/)
  assert.match(await ctlDone(broker, ['status']), /^alarms +certificate-ends$/m)
  await renew(365)
  assert.equal((await nextAlarmAfter('command')).topic, '$SYS/brokers/godwit@plant/alarms/deactivate')
  assert.equal(await ctlDone(broker, ['alarms']), '')
  assert.match(await ctlDone(broker, ['alarms', '--all']), /certificate-ends/)
  await broker.request('/api/v4/alarms/deactivated', { method: 'DELETE' })
})
