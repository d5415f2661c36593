// Datagrams reach the owner shard of their client, in memory: two gateways, each of one shard. By section F8 of the gateway
// requirements, "Shards".

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CoapGateway,
  type DatagramGateway,
  Lwm2mGateway,
  MqttSnGateway,
  ObjectDefinitions,
  findOwnerShard,
} from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { CoapDevice } from './coap-device.ts'
import { coapSettings, snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const shards = 2
const post = 2
const override = { clientId: undefined, username: undefined, password: undefined }

/** Names; shard 0 owns the first and shard 1 the second. */
const [own, other] = [0, 1].map((shard) => {
  for (let number = 0; ; number++)
    if (findOwnerShard(`device-${number}`, { own: 0, shards }) === shard) return `device-${number}`
}) as [string, string]

class Shards {
  readonly stages: readonly GatewayStage[]
  readonly gateways: readonly DatagramGateway[]

  constructor(create: (stage: GatewayStage) => DatagramGateway) {
    this.stages = [0, 1].map((shard) => new GatewayStage({ own: shard, shards }))
    this.gateways = this.stages.map(create)
  }

  /** The system delivers the datagram to shard 0. */
  receive(bytes: Buffer, peer: PeerAddress): void {
    this.gateways[0]?.handleDatagram(bytes, peer)
    for (const { shard, bytes: passed, peer: from } of this.stages[0]?.forwarded.splice(0) ?? [])
      this.gateways[shard]?.handleDatagram(passed, from, true)
  }

  acceptAll(): void {
    for (const stage of this.stages) stage.acceptAll()
  }

  /** The datagrams that each shard has sent since the last call. */
  sent(): readonly (readonly string[])[] {
    return this.stages.map((stage) => stage.sent.splice(0).map(({ bytes }) => bytes.toString('hex')))
  }

  device(port: number): CoapDevice {
    const peer = { address: '127.0.0.1', port }
    return new CoapDevice(
      (bytes) => this.receive(bytes, peer),
      () => this.stages.flatMap((stage) => stage.sent.splice(0).map(({ bytes }) => bytes)),
    )
  }

  get clients(): readonly number[] {
    return this.gateways.map(({ clients }) => clients)
  }
}

function at(port: number): PeerAddress {
  return { address: '192.0.2.7', port }
}

function sn(...octets: readonly (number | string)[]): Buffer {
  const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
  return Buffer.concat([Buffer.of(body.length + 1), body])
}

const createSn = (stage: GatewayStage) => new MqttSnGateway(snSettings, stage.dependencies)

const createCoap = (stage: GatewayStage) =>
  new CoapGateway({ ...coapSettings, requiresConnection: true, notifyType: 'con' }, stage.dependencies)

const translator = { topic: 'up', qos: 0 } as const
const createLwm2m = (stage: GatewayStage) =>
  new Lwm2mGateway(
    {
      lifetimeMinSeconds: 15,
      lifetimeMaxSeconds: 86_400,
      queueModeWindowMs: 22_000,
      observesAll: false,
      publishesAllUpdates: false,
      mountpoint: '',
      translators: {
        command: { topic: 'dn/#', qos: 1 },
        response: translator,
        notify: translator,
        register: translator,
        update: translator,
      },
      objects: new ObjectDefinitions(),
      maxClients: 16,
      override,
    },
    stage.dependencies,
  )

describe('[F8] MQTT-SN: with two shards', () => {
  test('the owner shard of a client ID has the client, with all datagrams from its port', () => {
    const both = new Shards(createSn)
    both.receive(sn(0x04, 0x04, 1, 0, 60, own), at(1))
    both.receive(sn(0x04, 0x04, 1, 0, 60, other), at(2))
    both.acceptAll()
    assert.deepEqual(both.sent(), [['030500'], ['030500']])
    both.receive(sn(0x0a, 0, 0, 0, 1, 'a/long/name'), at(2))
    both.receive(sn(0x16), at(1))
    assert.deepEqual(both.sent(), [['0217'], ['070b0001000100']])
    both.receive(sn(0x01, 0), at(3))
    assert.deepEqual(both.sent(), [['030201'], []], 'the shard that receives SEARCHGW responds')
  })

  test('a sleeping client is found by a PINGREQ with its client ID from another port', () => {
    const both = new Shards(createSn)
    both.receive(sn(0x04, 0x00, 1, 0, 60, other), at(2))
    both.acceptAll()
    both.receive(sn(0x18, 0, 60), at(2))
    both.sent()
    both.receive(sn(0x16, other), at(9))
    const { packets } = both.stages[1]?.connections[0] ?? assert.fail()
    assert.deepEqual(
      packets.map(({ type }) => type),
      ['pingreq'],
    )
    both.stages[1]?.connections[0]?.callbacks.handlePacket({ type: 'pingresp' })
    assert.deepEqual(both.sent(), [[], ['0217']])
  })

  test('messages of QoS -1 are published by one client, whichever shard receives them', () => {
    const both = new Shards(createSn)
    const owner = findOwnerShard('NegQoS-Client', { own: 0, shards })
    both.receive(sn(0x0c, 0x61, 0, 5, 0, 0, 'x'), at(1))
    assert.deepEqual(
      both.stages.map(({ connections }) => connections.length),
      owner === 0 ? [1, 0] : [0, 1],
    )
  })
})

describe('[F8] CoAP: with two shards', () => {
  test('a token is valid from every port, and an acknowledgement reaches the shard that has sent the message', async () => {
    const both = new Shards(createCoap)
    const device = both.device(1)
    device.request(post, 'mqtt/connection', `clientid=${other}`, '')
    both.acceptAll()
    const token = device.takeLast()?.payload.toString() ?? ''
    assert.deepEqual(both.clients, [0, 1])
    const moved = both.device(2)
    moved.request(post, 'ps/a', `clientid=${other}&token=${token}&qos=0`, 'x')
    assert.equal(moved.takeLast()?.code, '2.04')
    const coapRequest = {
      kind: 'coap-request',
      method: 'get',
      token: 't',
      format: undefined,
      payload: Buffer.alloc(0),
    } as const
    const response = both.gateways[1]?.request?.(other, { ...coapRequest, timeoutMs: 10_000 })
    const request = moved.takeLast() ?? assert.fail()
    assert.equal(request.messageId % shards, 1)
    moved.respond(request, '2.05', { payload: 'on' })
    const result = await response
    assert.ok(result?.kind === 'coap-response')
    assert.equal(Buffer.from(result.payload).toString(), 'on')
  })
})

describe('[F8] LwM2M: with two shards', () => {
  test('a registration location and the token of a notification lead to the shard of their device', () => {
    const both = new Shards(createLwm2m)
    const device = both.device(1)
    device.request(post, 'rd', `ep=${other}&lt=300`, '</3/0>')
    both.acceptAll()
    const location = device.takeLast()?.location[1] ?? ''
    assert.deepEqual(both.clients, [0, 1])
    const moved = both.device(2)
    moved.request(post, `rd/${location}`, '', '')
    assert.equal(moved.takeLast()?.code, '2.04')
    void both.gateways[1]?.request?.(other, {
      kind: 'lwm2m-command',
      command: { reqID: 1, msgType: 'read', data: { path: '/3/0/0' } },
    })
    const request = moved.takeLast() ?? assert.fail()
    moved.acknowledge(request)
    const published = both.stages[1]?.connections[0]?.published ?? []
    const before = published.length
    moved.respondLater(request, '2.05', { format: 0, payload: 'maker' })
    assert.equal(published.length, before + 1)
  })
})
