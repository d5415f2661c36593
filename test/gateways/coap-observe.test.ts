// Observations of clients of the CoAP gateway, in memory. By sections F4 and F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOnlyEnd, readOnlySubscription } from '../../src/core/index.ts'
import { CoapGateway } from '../../src/gateways/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice } from './coap-device.ts'
import { coapSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const put = 3
const topics = new TopicTable(16)

class Stage extends GatewayStage {
  readonly gateway = new CoapGateway(coapSettings, this.dependencies)

  device(address = '127.0.0.1'): CoapDevice {
    const peer = { address, port: 4_000 }
    return new CoapDevice(
      (bytes) => this.gateway.handleDatagram(bytes, peer),
      () => this.sent.splice(0).map(({ bytes }) => bytes),
    )
  }

  deliver(topic: string, payload: string, subscriptionIdentifiers: readonly number[], retain = false): void {
    const bytes = Buffer.from(payload)
    const packet = new PublishPacket(topics.internName(topic as TopicName), { qos: 0, retain, dup: false }, bytes)
    packet.frameEnd = bytes.length
    packet.properties = { subscriptionIdentifiers: [...subscriptionIdentifiers] }
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  /** Identifiers of the requested subscriptions. */
  subscribed(): readonly (number | undefined)[] {
    return (this.connections.at(-1)?.packets ?? []).flatMap((packet) =>
      packet.type === 'subscribe' ? [packet.properties?.subscriptionIdentifier] : [],
    )
  }
}

test('[F4] a topic that is observed with two tokens is sent with both, and each observation is cancelled separately', () => {
  const stage = new Stage()
  const device = stage.device()
  device.get('ps/a', 'c=dev', { token: 1, observe: 0 })
  stage.acceptAll()
  stage.acceptAll()
  device.get('ps/a', 'c=dev', { token: 2, observe: 0 })
  assert.deepEqual(stage.subscribed(), [1])
  stage.acceptAll()
  device.all()
  stage.deliver('a', 'x', [1])
  assert.deepEqual(
    device.all().map(({ token, payload }) => [token, payload.toString()]),
    [
      ['01', 'x'],
      ['02', 'x'],
    ],
  )
  device.get('ps/a', 'c=dev', { token: 1, observe: 1 })
  assert.equal(device.takeLast()?.code, '2.07')
  stage.deliver('a', 'y', [1])
  assert.deepEqual(
    device.all().map(({ token }) => token),
    ['02'],
  )
})

test('[F4] the same token again replaces its observation', () => {
  const stage = new Stage()
  const device = stage.device()
  device.get('ps/a', 'c=dev', { token: 1, observe: 0 })
  stage.acceptAll()
  stage.acceptAll()
  device.get('ps/b', 'c=dev', { token: 1, observe: 0 })
  const packets = stage.connections.at(-1)?.packets ?? []
  assert.deepEqual(
    packets.map(({ type }) => type),
    ['unsubscribe', 'subscribe'],
  )
  assert.deepEqual(stage.subscribed(), [2])
})

test('[F4] methods that a resource does not have get 4.05', () => {
  const stage = new Stage()
  const device = stage.device()
  device.request(put, '.well-known/core', '', '')
  assert.equal(device.takeLast()?.code, '4.05')
  device.request(1, 'mqtt/connection', 'clientid=c', '')
  assert.equal(device.takeLast()?.code, '4.05')
})

test('[F8] an unverified address gets at most 64 octets for a large notification until it responds, and then all of it', () => {
  const stage = new Stage()
  const device = stage.device('192.0.2.9')
  device.get('ps/a', 'c=dev', { token: 1, observe: 0 })
  stage.acceptAll()
  stage.acceptAll()
  device.all()
  // A client without block-wise transfer gets whole messages too.
  const texts = ['x', 'y', 'z'].map((letter) => letter.repeat(500))
  for (const text of texts) stage.deliver('a', text, [1])
  const octets = stage.sent.reduce((sum, { bytes }) => sum + bytes.length, 0)
  assert.ok(octets <= 64, `${octets} octets`)
  const ping = device.takeLast()
  assert.deepEqual([ping?.type, ping?.code], ['con', '0.00'])
  device.reset(ping ?? assert.fail())
  const received: string[] = []
  for (let message = device.takeLast(); message !== undefined; message = device.takeLast()) {
    assert.equal(message.type, 'con')
    received.push(message.payload.toString())
    device.acknowledge(message)
  }
  assert.deepEqual(received, texts)
  stage.deliver('a', 'later', [1])
  assert.equal(device.takeLast()?.type, 'non')
})

test('[F8] an unverified address that does not acknowledge gets no more notifications', () => {
  const stage = new Stage()
  const device = stage.device('192.0.2.9')
  device.get('ps/a', 'c=dev', { token: 1, observe: 0 })
  stage.acceptAll()
  stage.acceptAll()
  device.all()
  stage.deliver('a', 'x', [1])
  for (let seconds = 0; seconds < 100; seconds += 1) {
    stage.nowMs += 1_000
    stage.gateway.tick()
  }
  assert.ok(device.all().length <= 5)
  stage.deliver('a', 'y', [1])
  assert.deepEqual(device.all(), [])
})

test('[F4] a GET of a topic that the client observes reads it, and its observation continues', () => {
  const stage = new Stage()
  const device = stage.device()
  device.get('ps/a', 'c=dev', { token: 1, observe: 0 })
  stage.acceptAll()
  stage.acceptAll()
  device.all()
  device.get('ps/a', 'c=dev', { token: 2 })
  const [request] = stage.connections.at(-1)?.packets ?? []
  assert.ok(request?.type === 'subscribe')
  assert.deepEqual(request.properties, readOnlySubscription)
  stage.acceptAll()
  stage.deliver('a', 'kept', [1], true)
  assert.deepEqual(
    device.all().map(({ token, payload }) => [token, payload.toString()]),
    [['02', 'kept']],
    'the retained message is for the GET only',
  )
  stage.deliver('a', 'next', [1])
  assert.deepEqual(
    device.all().map(({ token, payload }) => [token, payload.toString()]),
    [['01', 'next']],
  )
  for (const packet of stage.connections.at(-1)?.packets ?? [])
    if (packet.type === 'unsubscribe') assert.deepEqual(packet.properties, readOnlyEnd)
})

test('[F4] several GETs of a topic at one time get the same message', () => {
  const stage = new Stage()
  const device = stage.device()
  for (const token of [1, 2, 3]) device.get('ps/a', 'c=dev', { token })
  stage.acceptAll()
  stage.acceptAll()
  stage.deliver('a', 'kept', [], true)
  assert.deepEqual(
    device.all().map(({ code, token, payload }) => [code, token, payload.toString()]),
    [1, 2, 3].map((token) => ['2.05', `0${token}`, 'kept']),
  )
})
