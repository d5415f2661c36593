// Responses of the CoAP gateway to ordinary GETs: an unverified address gets at most three times the size of its datagram, or 64 bytes [F8].

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoapGateway } from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice, type CoapMessage } from './coap-device.ts'
import { coapSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
const retained = Buffer.from('0123456789abcdef'.repeat(256))
const post = 2

class Stage extends GatewayStage {
  readonly gateway = new CoapGateway(coapSettings, this.dependencies)
  /** Size of the last datagram, and of all responses since then. */
  cameBytes = 0
  sentBytes = 0

  device(peer: PeerAddress): CoapDevice {
    return new CoapDevice(
      (bytes) => {
        this.cameBytes = bytes.length
        this.gateway.handleDatagram(bytes, peer)
      },
      () => {
        this.sentBytes = this.sent.reduce((sum, { bytes }) => sum + bytes.length, 0)
        return this.sent.splice(0).map(({ bytes }) => bytes)
      },
    )
  }

  /** The broker sends CONNACK, SUBACK and the retained message. */
  respondToRead(): void {
    this.acceptAll()
    this.acceptAll()
    const packet = new PublishPacket(
      topics.internName('a' as TopicName),
      { qos: 0, retain: true, dup: false },
      retained,
    )
    packet.frameEnd = retained.length
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }
}

/** Reads the retained message in blocks of the size of the first. */
function readWhole(stage: Stage, device: CoapDevice, query = 'c=dev') {
  const received: CoapMessage[] = []
  const largest: number[] = []
  const take = (): CoapMessage => {
    const response = device.takeLast()
    assert.ok(response !== undefined)
    received.push(response)
    largest.push(stage.sentBytes - Math.max(64, 3 * stage.cameBytes))
    return response
  }
  device.get('ps/a', query, { token: 1 })
  stage.respondToRead()
  let response = take()
  let at = response.payload.length
  while (response.block2?.[1] === true) {
    const size = response.block2[2]
    device.get('ps/a', query, { token: 1, block2: [at / (16 << size), true, size] })
    response = take()
    assert.equal(
      (response.block2?.[0] ?? 0) * (16 << (response.block2?.[2] ?? 0)),
      at,
      'the block begins where the last ended',
    )
    at += response.payload.length
  }
  return {
    body: Buffer.concat(received.map(({ payload }) => payload)),
    aboveLimit: Math.max(...largest),
    responses: received.length,
  }
}

test('[F8] the response to a GET of a large retained message has small blocks, and later blocks are as small', () => {
  const stage = new Stage()
  const device = stage.device({ address: '192.0.2.1', port: 4_000 })
  const { body, aboveLimit } = readWhole(stage, device)
  assert.deepEqual(body, retained)
  assert.ok(aboveLimit <= 0, `${aboveLimit} bytes too many`)
})

test('[F8] an unverified address that requests a later block in a larger size gets a small one', () => {
  const stage = new Stage()
  const device = stage.device({ address: '192.0.2.1', port: 4_000 })
  device.get('ps/a', 'c=dev', { token: 1 })
  stage.respondToRead()
  device.takeLast()
  device.get('ps/a', 'c=dev', { token: 1, block2: [1, true, 6] })
  const response = device.takeLast()
  assert.ok(stage.sentBytes <= Math.max(64, 3 * stage.cameBytes), `${stage.sentBytes} bytes to ${stage.cameBytes}`)
  const [number = 0, hasMore, exponent = 0] = response?.block2 ?? []
  assert.equal(number * (16 << exponent), 1_024)
  assert.equal(hasMore, true)
  assert.deepEqual(response?.payload, retained.subarray(1_024, 1_024 + (16 << exponent)))
})

test('[F8] a client that sent its token, a device over DTLS and a local device get blocks of 1,024 bytes', () => {
  const whole = { body: retained, responses: 4 }
  const token = new Stage()
  const connected = token.device({ address: '192.0.2.1', port: 4_000 })
  connected.request(post, 'mqtt/connection', 'c=dev', '')
  token.acceptAll()
  const shown = `c=dev&t=${connected.takeLast()?.payload.toString()}`
  assert.deepEqual({ ...readWhole(token, connected, shown), aboveLimit: 0 }, { ...whole, aboveLimit: 0 })
  const credentials = { certificate: undefined, pskIdentity: 'dev' }
  const secure = { id: '1', identity: 'psk dev', credentials }
  for (const peer of [
    { address: '192.0.2.1', port: 4_000, secure },
    { address: '127.0.0.1', port: 4_000 },
  ]) {
    const stage = new Stage()
    assert.deepEqual({ ...readWhole(stage, stage.device(peer)), aboveLimit: 0 }, { ...whole, aboveLimit: 0 })
  }
})
