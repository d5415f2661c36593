import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { shareBrokerWithApi, startBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('status is one page about the broker: what it is, what it holds, what troubles it', async (t) => {
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
  const page = await ctlDone(broker, ['status'], { asPeople: true })
  assert.match(page, /^uptime +\d+ Hours/m)
  assert.match(page, /^memory +\d+ MiB of \d+ MiB\ncpu +[\d.]+%\nbridges +none\nalarms +none\n$/m)
})

test('status of a broker in trouble says what is wrong, since when, and what is to be done', async (t) => {
  const bridge = 'bridges.mqtt.north { server = "mqtt-tcp://127.0.0.1:1", enable = true }'
  const broker = await startBrokerWithApi(t)
  await ctlDone(broker, ['api', 'call', 'update_config', '--body', bridge])
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
  assert.equal(await ctlDone(broker, ['alarms', '--end', 'bridge:north']), 'bridge:north is over\n')
  assert.match(await ctlRefused(broker, 1, ['alarms', '--end', 'bridge:south']), /no alarm 'bridge:south' holds/)
})

test('alarms are a list, which is empty where nothing is wrong', async () => {
  const broker = await sharedBroker()
  assert.equal(await ctlDone(broker, ['alarms']), '')
  assert.deepEqual(JSON.parse(await ctlDone(broker, ['alarms', '--all', '--json'])), [])
})

test('listeners are listed and reopened', async (t) => {
  const broker = await sharedBroker()
  // The client of the test before may have left a moment ago.
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
  const bridge = 'bridges.mqtt.north { server = "mqtt-tcp://127.0.0.1:1", enable = true }'
  const broker = await startBrokerWithApi(t)
  await ctlDone(broker, ['api', 'call', 'update_config', '--body', bridge])
  assert.match(await ctlDone(broker, ['bridges', 'list']), /^north\ttrue\t\w+\tmqtt-tcp:\/\/127\.0\.0\.1:1\t/m)
  await ctlDone(broker, ['bridges', 'off', 'north'])
  assert.match(await ctlDone(broker, ['bridges', 'show', 'north']), /^enable +false$/m)
  await ctlDone(broker, ['bridges', 'on', 'north'])
  assert.match(await ctlRefused(broker, 1, ['bridges', 'on', 'south']), /\(code 108\)/)
})
