// Devices of gateways while the broker is killed: sections F1 ("Durable") and F3 ("All stands a restart") of the gateway requirements.
// Sleeping devices of MQTT-SN are in kills.test.ts as well.

import assert from 'node:assert/strict'
import { SnDevice } from '../gateways/sn-device.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { longTest } from '../test-length.ts'
import { reservePort } from './reserve-port.ts'
import { clientOf, connectWithWill, listener, registrationsSurvive, until } from './restarts/gateways.ts'
import { shareRestart } from './restarts/share-restart.ts'

// With the same number of shards, unlike kills.test.ts.
registrationsSurvive(shareRestart({ signal: 'SIGKILL', shards: [2, 2] }), 2)

// Daily: restarts in the scenarios of test/simulator/gateways.
longTest(
  '[F1] [F3] MQTT-SN: a sleeping device whose sleep expired while the broker was stopped counts as lost, and its will is published',
  async (t) => {
    const port = await reservePort(t)
    const set = ['node.shards=2', `gateway.mqttsn.listeners.udp.default.bind="127.0.0.1:${port}"`]
    const broker = await startBrokerWithApi(t, { set })
    // The watcher has a persistent session, so the will is queued until it reconnects.
    const { client: watcher } = await listener(t, broker, 'gateway-wills/#', 'watcher')
    await watcher.endAsync()
    const device = await SnDevice.at(t, port)
    await connectWithWill(device, 'meter')
    device.send(0x18, [0, 4])
    await device.expect('disconnect')
    await broker.process.stop('SIGKILL')
    const again = await startBrokerWithApi(t, { set, dataDirectory: broker.dataDirectory })
    const wills = await listener(t, again, 'gateway-wills/#', 'watcher')
    assert.equal(await wills.next(), 'gateway-wills/meter gone')
    await until(async () => (await clientOf(again, 'meter'))?.['conn_state'] === 'disconnected')
  },
)
