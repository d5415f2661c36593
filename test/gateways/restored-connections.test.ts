// Devices that are restored while the broker refuses connections for the time being: the shard of a session is still starting, or the limit of new
// connections is reached. Their registrations, sleeps and sessions must not end. By sections F1 and F3 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway } from '../../src/gateways/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'
import { Lwm2mStage } from './lwm2m-stage.ts'

const post = 2
const firstRetryMs = 500

class SnStage extends GatewayStage {
  readonly gateway = new MqttSnGateway(snSettings, this.dependencies)

  receive(...parts: readonly (number | string)[]): void {
    const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
    const peer = { address: '127.0.0.7', port: 4_000 }
    this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), peer)
  }

  wait(ms: number): void {
    this.nowMs += ms
    this.gateway.tick()
  }

  taken(): readonly string[] {
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }
}

function refuse(stage: GatewayStage, reasonCode: number): void {
  const connection = stage.connections.at(-1) ?? assert.fail('no connection')
  connection.callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode, properties: undefined })
}

const forTheTimeBeing: readonly (readonly [title: string, refuse: (stage: GatewayStage) => void])[] = [
  ['its shard is starting', (stage) => refuse(stage, reasonCodes.serverUnavailable)],
  ['the broker is busy', (stage) => refuse(stage, reasonCodes.serverBusy)],
  ['too many clients connect', (stage) => refuse(stage, reasonCodes.connectionRateExceeded)],
  ['a limit of connections is reached', (stage) => refuse(stage, reasonCodes.quotaExceeded)],
  ['it closes the connection without CONNACK', (stage) => stage.connections.at(-1)?.callbacks.handleClosed()],
]

function isOpened(stage: GatewayStage, count: number): void {
  assert.equal(stage.connections.length, count)
  assert.equal(stage.connections.at(-1)?.packets[0]?.type, 'connect')
}

function restoredDevice(): readonly [stage: Lwm2mStage, location: string] {
  const first = new Lwm2mStage()
  const location = first.registered(first.device(), 'ep=dev&lt=600&lwm2m=1.0')
  const stage = new Lwm2mStage()
  for (const [name, value] of first.stored) stage.stored.set(name, value)
  stage.gateway.restore(new Map(stage.stored))
  return [stage, location]
}

describe('[F1] LwM2M: a registration remains while the broker refuses it', () => {
  for (const [title, refuseOnce] of forTheTimeBeing) {
    test(`because ${title}`, () => {
      const [stage, location] = restoredDevice()
      isOpened(stage, 1)
      refuseOnce(stage)
      assert.deepEqual([...stage.stored.keys()], [location])
      stage.wait(firstRetryMs - 1)
      assert.equal(stage.connections.length, 1)
      stage.wait(1)
      isOpened(stage, 2)
      refuseOnce(stage)
      // The interval doubles.
      stage.wait(firstRetryMs)
      assert.equal(stage.connections.length, 2)
      stage.wait(firstRetryMs)
      isOpened(stage, 3)
      stage.acceptAll()
      stage.command({ reqID: 7, msgType: 'read', data: { path: '/3/0/0' } })
      const device = stage.device()
      assert.equal(device.takeLast()?.path, '/3/0/0')
      device.request(post, `rd/${location}`, '', '')
      assert.equal(device.takeLast()?.code, '2.04', 'the location has not changed')
    })
  }

  test('until its lifetime ends', () => {
    const [stage] = restoredDevice()
    refuse(stage, reasonCodes.serverUnavailable)
    stage.wait(600_000)
    assert.deepEqual([...stage.stored.keys()], [])
    const { length } = stage.connections
    stage.wait(60_000)
    assert.equal(stage.connections.length, length, 'no further attempt')
  })

  test('but not when the broker refuses it for good', () => {
    const [stage] = restoredDevice()
    refuse(stage, reasonCodes.notAuthorized)
    assert.deepEqual([...stage.stored.keys()], [])
    stage.wait(60_000)
    assert.equal(stage.connections.length, 1)
  })

  test('a registration that is new gets the refusal', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    device.request(post, 'rd', 'ep=dev&lt=600&lwm2m=1.0', '</3/0>')
    refuse(stage, reasonCodes.serverUnavailable)
    assert.match(device.takeLast()?.code ?? '', /^[45]/)
    assert.equal(stage.gateway.clients, 0)
  })
})

function sleepingClient(): SnStage {
  const first = new SnStage()
  first.receive(0x04, 0, 1, 0, 60, 'dev')
  first.acceptAll()
  first.receive(0x18, 0x0e, 0x10)
  const stage = new SnStage()
  for (const [name, value] of first.stored) stage.stored.set(name, value)
  assert.ok(stage.stored.size > 0)
  stage.gateway.restore(new Map(stage.stored))
  return stage
}

describe('[F1] [F3] MQTT-SN: a client sleeps on while the broker refuses it', () => {
  for (const [title, refuseOnce] of forTheTimeBeing) {
    test(`because ${title}`, () => {
      const stage = sleepingClient()
      const before = [...stage.stored]
      isOpened(stage, 1)
      refuseOnce(stage)
      assert.deepEqual([...stage.stored], before)
      assert.deepEqual(stage.taken(), [], 'a sleeping client gets nothing')
      stage.wait(firstRetryMs)
      isOpened(stage, 2)
      stage.acceptAll()
      assert.deepEqual([...stage.stored], before)
      stage.receive(0x04, 0, 1, 0, 60, 'dev')
      assert.deepEqual(stage.taken(), ['030500'])
    })
  }

  test('and another CONNECT replaces the attempts', () => {
    const stage = sleepingClient()
    refuse(stage, reasonCodes.serverUnavailable)
    stage.receive(0x04, 0x04, 1, 0, 60, 'dev')
    isOpened(stage, 2)
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['030500'])
    stage.wait(60_000)
    assert.equal(stage.connections.length, 2)
  })
})
