// The LwM2M gateway in memory, with a simulated clock.

import assert from 'node:assert/strict'
import {
  type GatewayDependencies,
  Lwm2mGateway,
  type Lwm2mSettings,
  ObjectDefinitions,
} from '../../src/gateways/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice, type CoapMessage } from './coap-device.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
const post = 2
const settings: Lwm2mSettings = {
  lifetimeMinSeconds: 15,
  lifetimeMaxSeconds: 86_400,
  queueModeWindowMs: 22_000,
  observesAll: false,
  publishesAllUpdates: false,
  mountpoint: 'lwm2m/${endpoint_name}/',
  translators: {
    command: { topic: 'dn/#', qos: 1 },
    response: { topic: 'up/resp', qos: 0 },
    notify: { topic: 'up/notify', qos: 0 },
    register: { topic: 'up/resp', qos: 0 },
    update: { topic: 'up/update', qos: 0 },
  },
  objects: new ObjectDefinitions(),
  maxClients: 16,
  override: { clientId: undefined, username: undefined, password: undefined },
}

export class Lwm2mStage extends GatewayStage {
  readonly gateway: Lwm2mGateway
  readonly acknowledged: number[] = []

  constructor(more: Partial<Lwm2mSettings> = {}, place?: GatewayDependencies['place']) {
    super(place)
    this.gateway = new Lwm2mGateway({ ...settings, ...more }, this.dependencies)
    this.onAcknowledge = (_, packetId) => void this.acknowledged.push(packetId)
  }

  device(port = 5_000): CoapDevice {
    const peer = { address: '192.0.2.7', port }
    return new CoapDevice(
      (bytes) => this.gateway.handleDatagram(bytes, peer),
      () => this.sent.splice(0).flatMap((one) => (one.peer.port === port ? [one.bytes] : [])),
    )
  }

  /** Registers the device and returns its location. */
  registered(device: CoapDevice, query = 'ep=dev&lt=300&lwm2m=1.0', body = '</1/0>,</3/0>'): string {
    device.request(post, 'rd', query, body)
    this.acceptAll()
    const response = device.takeLast()
    assert.equal(response?.code, '2.01')
    assert.deepEqual(response.location.slice(0, 1), ['rd'])
    return response.location[1] ?? ''
  }

  /** The publications since the last call. */
  published(): readonly { readonly topic: string; readonly document: Record<string, unknown> }[] {
    return this.connections.flatMap(({ published }) =>
      published.splice(0).map(({ topic, chunk }) => ({ topic: topic.name, document: JSON.parse(chunk.toString()) })),
    )
  }

  /** `data` of the first publication since the last call. */
  publishedData(): Readonly<Record<string, unknown>> {
    const [first] = this.published()
    return (first ?? assert.fail('nothing was published')).document['data'] as Readonly<Record<string, unknown>>
  }

  command(document: unknown, packetId = 1, expirySeconds?: number, qos: 0 | 1 = 1): void {
    const payload = Buffer.from(JSON.stringify(document))
    const packet = new PublishPacket(
      topics.internName('lwm2m/dev/dn/x' as TopicName),
      { qos, retain: false, dup: false },
      payload,
    )
    packet.packetId = packetId
    packet.frameEnd = payload.length
    if (expirySeconds !== undefined) packet.properties = { messageExpiryIntervalSeconds: expirySeconds }
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  /** Another broker with the same data, or one shard of it. */
  restarted(place = this.place): Lwm2mStage {
    this.gateway.close()
    const stage = new Lwm2mStage({}, place)
    stage.nowMs = this.nowMs
    for (const [name, value] of this.stored) stage.stored.set(name, value)
    stage.gateway.restore(new Map(stage.stored))
    stage.acceptAll()
    return stage
  }

  wait(ms: number): void {
    this.nowMs += ms
    this.gateway.tick()
  }
}

/** A registered device, and the request that it gets for a command. */
export function withRequest(
  command: unknown,
  more: Partial<Lwm2mSettings> = {},
): readonly [Lwm2mStage, CoapDevice, CoapMessage] {
  const stage = new Lwm2mStage(more)
  const device = stage.device()
  stage.registered(device)
  stage.published()
  stage.command(command)
  const request = device.takeLast()
  assert.ok(request !== undefined, 'the device gets a request')
  return [stage, device, request]
}
