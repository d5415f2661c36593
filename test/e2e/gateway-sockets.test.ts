// Sockets of gateways: one for each shard, over IPv6, in a multicast group, and limits of clients: sections F2, F3 and F8 of the
// gateway contract.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { endWith, godwitProgram, temporaryFolder, WatchedProcess } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'
import { shardNumbers } from '../test-length.ts'

const devices = 40

/** One broker for each number of shards. */
const configuredBrokers = {
  1: shareConfigurableBroker(['node.shards=1']),
  2: shareConfigurableBroker(['node.shards=2']),
  3: shareConfigurableBroker(['node.shards=3']),
} as const

const bindOf = (port: number, host = '127.0.0.1'): string =>
  `gateway.mqttsn.listeners.udp.default.bind="${host}:${port}"`

/** Starts a gateway on a free port. */
async function open(t: TestContext, shards: 1 | 2 | 3, more: readonly string[], host?: string) {
  const port = await reservePort(t)
  return { broker: await configuredBrokers[shards]([bindOf(port, host), ...more]), port }
}

test('[F8] devices on many ports are served by all shards, and sleeping devices are recognized on new ports', async (t) => {
  const port = await reservePort(t)
  const broker = await startBrokerWithApi(t, { set: ['node.shards=3', bindOf(port)] })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync(true))
  const values = new Set<string>()
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  client.on('message', (topic) => {
    values.add(topic)
    if (values.size === devices) resolve()
  })
  await client.subscribeAsync('values/+')
  const names = Array.from({ length: devices }, (_, number) => `meter-${number}`)
  await Promise.all(
    names.map(async (name) => {
      const device = await SnDevice.at(t, port)
      await device.connected(name, { flags: 0 })
      const topicId = await device.register(`values/${name}`)
      device.publish(0x20, topicId, 9, '1')
      assert.equal((await device.expect('puback'))[4], 0)
      await device.subscribe(`commands/${name}`)
      device.send(0x18, [0x0e, 0x10])
      await device.expect('disconnect')
    }),
  )
  await complete
  for (const name of names) await client.publishAsync(`commands/${name}`, name, { qos: 1 })
  await Promise.all(
    names.map(async (name) => {
      const moved = await SnDevice.at(t, port)
      moved.send(0x16, name)
      const publish = await moved.expect('publish')
      assert.equal(publish.subarray(5).toString(), name)
      moved.send(0x0d, [...publish.subarray(1, 5), 0])
      await moved.expect('pingresp')
    }),
  )
  await eventually(async () => {
    const [gateway] = (await broker.request('/api/v5/gateways?status=running')).json
    assert.equal(gateway.current_connections, devices)
    assert.equal(gateway.listeners[0].running, true)
  })
})

test('[F7, F8] one shard opens a DTLS socket, also beside a UDP socket of the same name', async (t) => {
  const dtlsPort = await reservePort(t)
  const socket = 'gateway.mqttsn.listeners.dtls.default'
  const key = '7369787465656e2d627974652d6b6579'
  const secure = [`${socket}.bind="127.0.0.1:${dtlsPort}"`, `${socket}.dtls_options.psk=["meter:${key}"]`]
  const { broker } = await open(t, 3, secure)
  const [gateway] = (await broker.request('/api/v5/gateways?status=running')).json
  const states = gateway.listeners.map(({ type, running }: { type: string; running: boolean }) => `${type} ${running}`)
  assert.deepEqual(states.toSorted(), ['dtls true', 'udp true'])
})

test('[F3] SEARCHGW to a multicast group gets GWINFO', async (t) => {
  const group = '239.255.18.84'
  const { port } = await open(t, 2, [`gateway.mqttsn.multicast="${group}"`])
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.setMulticastInterface('127.0.0.1')
  socket.send(Buffer.of(3, 1, 0), port, group)
  const [response] = (await once(socket, 'message')) as [Buffer]
  assert.equal(response.toString('hex'), '030201')
})

test('[F3] with broadcast, ADVERTISE is sent to all hosts of the network at each advertise_interval', async (t) => {
  const settings = ['gateway.mqttsn.broadcast=true', 'gateway.mqttsn.advertise_interval="1s"']
  const { port } = await open(t, 2, settings)
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.bind(port, '127.255.255.255')
  for (let times = 0; times < 2; times++) {
    const [advertise] = (await once(socket, 'message')) as [Buffer]
    assert.equal(advertise.toString('hex'), '0500010001')
  }
})

test('[F2] access_rules of a UDP listener decide which addresses get a response', async (t) => {
  const rules = 'gateway.mqttsn.listeners.udp.default.access_rules=["deny 127.0.0.2","allow all"]'
  const { port } = await open(t, 1, [rules])
  const [denied, allowed] = await Promise.all(
    ['127.0.0.2', '127.0.0.1'].map(async (address) => {
      const socket = createSocket('udp4')
      t.after(() => socket.close())
      socket.bind(0, address)
      await once(socket, 'listening')
      return socket
    }),
  )
  let hasDeniedResponse = false
  denied.on('message', () => (hasDeniedResponse = true))
  denied.send(Buffer.of(3, 1, 0), port, '127.0.0.1')
  // One socket of the broker receives all datagrams in this order, so a response to the denied one would arrive before the last response.
  for (let times = 0; times < 3; times++) {
    allowed.send(Buffer.of(3, 1, 0), port, '127.0.0.1')
    const [response] = (await once(allowed, 'message')) as [Buffer]
    assert.equal(response.toString('hex'), '030201')
  }
  assert.equal(hasDeniedResponse, false)
})

test('[F8] a gateway receives over IPv6', async (t) => {
  const { port } = await open(t, 2, [], '[::1]')
  const socket = createSocket('udp6')
  t.after(() => socket.close())
  socket.send(Buffer.concat([Buffer.of(9, 4, 4, 1, 0, 60), Buffer.from('dev')]), port, '::1')
  const [response] = (await once(socket, 'message')) as [Buffer]
  assert.equal(response.toString('hex'), '030500')
})

/** The code of CONNACK. */
async function codeOf(device: SnDevice, clientId: string): Promise<number | undefined> {
  device.connect(clientId)
  return (await device.expect('connack'))[0]
}

test('[F2] clients above max_connections are refused with the reason congestion', async (t) => {
  const { port } = await open(t, 1, ['gateway.mqttsn.listeners.udp.default.max_connections=2'])
  const codes: (number | undefined)[] = []
  for (const name of ['one', 'two', 'three']) codes.push(await codeOf(await SnDevice.at(t, port), name))
  assert.deepEqual(codes, [0, 0, 1])
})

test('[F2] clients above max_conn_rate are refused with the reason congestion', async (t) => {
  const { port } = await open(t, 1, ['gateway.mqttsn.listeners.udp.default.max_conn_rate="2/s"'])
  const codes: (number | undefined)[] = []
  const begunMs = performance.now()
  // On a slow machine, the rate may allow more than two of the first three connections.
  while (!codes.includes(1)) {
    const three = await Promise.all([1, 2, 3].map(() => SnDevice.at(t, port)))
    codes.push(...(await Promise.all(three.map((device, at) => codeOf(device, `device-${codes.length + at}`)))))
  }
  const most = 2 + 2 * ((performance.now() - begunMs) / 1_000)
  const accepted = codes.filter((code) => code === 0).length
  assert.ok(accepted >= 2 && accepted <= most, `${accepted} of at most ${most} are accepted`)
})

const openFileLimit = 300

/** CONNECT of the wireless node `number` behind a forwarder [MQTT-SN 5.4.20]. */
function connectOfNode(number: number): Buffer {
  const name = Buffer.from(`node-${number}`)
  const head = Buffer.from([7, 0xfe, 0, 0, 0, 0, 0, name.length + 6, 4, 4, 1, 0, 60])
  head.writeUInt32BE(number, 3)
  return Buffer.concat([head, name])
}

for (const shards of shardNumbers(1, 2)) {
  test(`[F8] the limit of open files does not limit clients over UDP (${shards} shards)`, async (t) => {
    const port = await reservePort(t)
    const settings = [
      'listeners.tcp.bind="127.0.0.1:0"',
      'http_server.port=0',
      `node.shards=${shards}`,
      `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${port}`,
    ]
    const words = ['start', '--data', await temporaryFolder(t), ...settings.flatMap((setting) => ['--set', setting])]
    const limited = ['-c', `ulimit -n ${openFileLimit}; exec "$0" "$@"`, process.execPath, godwitProgram, ...words]
    const godwit = new WatchedProcess('sh', limited)
    endWith(t, godwit)
    const [, mqttPort] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
    const socket = createSocket('udp4')
    t.after(() => socket.close())
    for (let node = 0; node < openFileLimit * 2; node++) {
      socket.send(connectOfNode(node), port, '127.0.0.1')
      const [response] = (await once(socket, 'message')) as [Buffer]
      assert.equal(response.toString('hex', 7), '030500', `node ${node}`)
    }
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${mqttPort}`, { reconnectPeriod: 0 })
    t.after(() => client.end(true))
    await client.publishAsync('still', 'served', { qos: 1 })
  })
}

for (const shards of shardNumbers(1, 3)) {
  test(`[2.0] clients of MQTT-SN 2.0 and 1.2 share a socket (${shards} shards)`, async (t) => {
    const { broker, port } = await open(t, shards, ['gateway.mqttsn.protocol_2=true'])
    const old = await SnDevice.at(t, port)
    await old.connected('old')
    await old.subscribe('plant/value', { flags: 0x20 })
    // In sequence, because each shard may have one of the clients.
    for (const name of ['new-1', 'new-2', 'new-3', 'new-4']) {
      const socket = createSocket('udp4')
      t.after(() => socket.close())
      const exchange = async (hex: string): Promise<string> => {
        const bytes = Buffer.from(hex, 'hex')
        socket.send(Buffer.concat([Buffer.of(bytes.length + 1), bytes]), port, '127.0.0.1')
        const [response] = (await once(socket, 'message')) as [Buffer]
        return response.toString('hex')
      }
      const clientId = Buffer.from(name).toString('hex')
      assert.equal(await exchange(`0101000702003c0000${clientId}`), '060200000700')
      assert.equal(await exchange(`03230009000b${Buffer.from('plant/value').toString('hex')}31`), '0504000900')
      const publish = await old.expect('publish')
      assert.equal(publish.subarray(5).toString(), '1')
      old.send(0x0d, [...publish.subarray(1, 5), 0])
      assert.equal(await exchange('0c0001'), '040d0001')
      const shown = (await broker.request(`/api/v5/gateways/mqttsn/clients/${name}`)).json
      assert.deepEqual([shown.proto_name, shown.proto_ver], ['MQTT-SN', 2])
    }
    const { data } = (await broker.request('/api/v5/gateways/mqttsn/clients?proto_ver=1')).json
    assert.deepEqual(
      data.map(({ clientid }: { clientid: string }) => clientid),
      ['old'],
    )
  })
}
