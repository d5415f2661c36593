// A restart of the broker, and devices with a certificate: the DTLS association ends, and the identity remains. In memory, with a simulated clock.
// By section F1 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway } from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { CoapDevice } from './coap-device.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'
import { Lwm2mStage } from './lwm2m-stage.ts'

const post = 2

/** As the DTLS server reports it. */
function withCertificate(id: string, name: string, port: number): PeerAddress {
  const certificate = {
    der: Buffer.from(`certificate of ${name}`),
    commonName: name,
    subject: `CN=${name}`,
    serialNumber: '1',
    fingerprint: 'ab'.repeat(32),
  }
  const credentials = { certificate, pskIdentity: undefined }
  return { address: '192.0.2.7', port, secure: { id, identity: `certificate ${name}`, credentials } }
}

const before = withCertificate('1', 'a', 5_000)
const after = withCertificate('2', 'a', 5_001)
const other = withCertificate('3', 'b', 5_000)

function lwm2mAt(stage: Lwm2mStage, peer: PeerAddress): CoapDevice {
  return new CoapDevice(
    (bytes) => stage.gateway.handleDatagram(bytes, peer),
    () => stage.sent.splice(0).flatMap((one) => (one.peer.secure?.id === peer.secure?.id ? [one.bytes] : [])),
  )
}

describe('[F1] a device with a certificate', () => {
  test('of LwM2M updates its registration after a restart, and gets the command that waited; another certificate does not', () => {
    const first = new Lwm2mStage()
    const location = first.registered(lwm2mAt(first, before), 'ep=dev&lt=600&b=UQ')
    first.wait(30_000)
    const second = first.restarted()
    second.command({ reqID: 7, msgType: 'read', data: { path: '/3/0/0' } })
    assert.deepEqual(second.sent, [], 'the device sleeps')
    const intruder = lwm2mAt(second, other)
    intruder.request(post, `rd/${location}`, '', '')
    assert.deepEqual(
      intruder.all().map(({ code }) => code),
      ['4.04'],
    )
    const device = lwm2mAt(second, after)
    device.request(post, `rd/${location}`, '', '')
    const [updated, read] = device.all()
    assert.deepEqual([updated?.code, read?.path], ['2.04', '/3/0/0'])
    device.respond(read ?? assert.fail(), '2.05', { format: 0, payload: 'maker' })
    assert.deepEqual(second.acknowledged, [1])
  })

  test('of LwM2M connects to the broker after a restart with its certificate', () => {
    const first = new Lwm2mStage()
    first.registered(lwm2mAt(first, before), 'ep=dev&lt=600')
    const second = first.restarted()
    assert.deepEqual(second.opened.at(-1)?.secure?.credentials, before.secure?.credentials)
  })

  test('of MQTT-SN that slept wakes after a restart; another certificate does not wake it', () => {
    class Stage extends GatewayStage {
      readonly gateway = new MqttSnGateway(snSettings, this.dependencies)

      receive(peer: PeerAddress, ...octets: readonly (number | string)[]): readonly string[] {
        const body = Buffer.concat(
          octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))),
        )
        this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), peer)
        for (const { callbacks, packets } of this.connections)
          for (const { type } of packets.splice(0)) {
            if (type === 'connect')
              callbacks.handlePacket({ type: 'connack', sessionPresent: true, reasonCode: 0, properties: undefined })
            else if (type === 'pingreq') callbacks.handlePacket({ type: 'pingresp' })
          }
        return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
      }
    }
    const first = new Stage()
    first.receive(before, 0x04, 0, 1, 0, 60, 'dev')
    assert.deepEqual(first.receive(before, 0x18, 0, 60), ['0218'])
    first.gateway.close()
    const second = new Stage()
    second.nowMs = first.nowMs
    second.gateway.restore(new Map(first.stored))
    second.acceptAll()
    assert.deepEqual(second.receive(other, 0x16, 'dev'), ['0218'], 'DISCONNECT')
    assert.deepEqual(second.receive(after, 0x16, 'dev'), ['0217'])
  })
})
