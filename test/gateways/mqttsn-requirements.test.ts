// The MQTT-SN gateway, row by row of the table of section F3 of the gateway requirements, in memory.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway, writeAdvertise } from '../../src/gateways/index.ts'
import type { ReasonCode } from '../../src/protocol/index.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const peer = { address: '192.0.2.7', port: 4_000 }

interface Override {
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const noOverride: Override = { clientId: undefined, username: undefined, password: undefined }

class Stage extends GatewayStage {
  readonly gateway: MqttSnGateway

  constructor(allowsQosMinusOne = true, override: Override = noOverride) {
    super()
    this.gateway = new MqttSnGateway({ ...snSettings, gatewayId: 7, allowsQosMinusOne, override }, this.dependencies)
  }

  /** Sends a packet, in hexadecimal with its length, and returns the responses in the same form. */
  exchange(hex: string): readonly string[] {
    this.gateway.handleDatagram(Buffer.from(hex.replaceAll(' ', ''), 'hex'), peer)
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  /** The broker acknowledges the last packets with this reason code. Returns what the gateway then sent. */
  respond(reasonCode: ReasonCode = 0): readonly string[] {
    for (const { packets, published, callbacks } of this.connections) {
      for (const packet of packets.splice(0)) {
        if (packet.type === 'connect')
          callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode, properties: undefined })
        else if (packet.type === 'subscribe' || packet.type === 'unsubscribe') {
          const type = packet.type === 'subscribe' ? 'suback' : 'unsuback'
          const granted = packet.type === 'subscribe' ? (packet.subscriptions[0]?.qos ?? 0) : 0
          const reasons = [reasonCode === 0 ? granted : reasonCode]
          callbacks.handlePacket({ type, packetId: packet.packetId, reasonCodes: reasons, properties: undefined })
        }
      }
      for (const { packetId, qos } of published.splice(0)) {
        const type = qos === 2 ? 'pubrec' : 'puback'
        if (qos > 0) callbacks.handlePacket({ type, packetId, reasonCode, properties: undefined })
      }
    }
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  connected(): void {
    this.exchange('09 04 04 01 003c 646576')
    assert.deepEqual(this.respond(), ['030500'])
  }
}

describe('[F3] without a connection', () => {
  for (const [what, packet, responses] of [
    ['SEARCHGW gets GWINFO', '03 01 00', ['030207']],
    ['CONNECT of another protocol is refused with 3', '09 04 04 03 003c 646576', ['030503']],
    ['CONNECT without a client ID is refused with 3', '06 04 04 01 003c', ['030503']],
    ['DISCONNECT gets DISCONNECT', '02 18', ['0218']],
    ['PINGREQ gets DISCONNECT', '02 16', ['0218']],
    ['PINGREQ with an ID that is not asleep gets DISCONNECT', '05 16 676f6e', ['0218']],
    ['REGISTER gets DISCONNECT', '07 0a 0000 0001 61', ['0218']],
    ['PUBLISH gets DISCONNECT', '08 0c 20 0001 0001 78', ['0218']],
    ['a wrong length is dropped', '09 16', []],
    ['an unknown type is dropped', '03 77 00', []],
    ['a short body is dropped', '03 0c 00', []],
    ['QoS -1 to a predefined topic is taken', '08 0c 61 0005 0000 78', []],
    ['QoS -1 to a short topic is taken', '08 0c 62 6162 0000 78', []],
    ['QoS -1 to an unknown id is refused with 2', '08 0c 61 0006 0000 78', ['070d0006000002']],
    ['QoS -1 to a registered id is refused with 2', '08 0c 60 0001 0000 78', ['070d0001000002']],
  ] as const) {
    test(what, () => assert.deepEqual(new Stage().exchange(packet), responses))
  }

  test('QoS -1 is refused with 3 where enable_qos3 is false', () =>
    assert.deepEqual(new Stage(false).exchange('08 0c 61 0005 0000 78'), ['070d0005000003']))

  test('messages of QoS -1 come from NegQoS-Client with QoS 0', () => {
    const stage = new Stage()
    stage.exchange('08 0c 61 0005 0000 78')
    const [connect] = stage.connections[0]?.packets ?? []
    assert.ok(connect?.type === 'connect')
    assert.equal(connect.clientId, 'NegQoS-Client')
  })

  for (const [reasonCode, response] of [
    [0x87, '030503'],
    [0x8a, '030503'],
    [0x89, '030501'],
  ] as const)
    test(`CONNECT that the broker refuses with ${reasonCode} gets ${response}`, () => {
      const stage = new Stage()
      stage.exchange('09 04 04 01 003c 646576')
      assert.deepEqual(stage.respond(reasonCode), [response])
    })

  test('after CONNECT with a will, the gateway requests its topic and message; an empty topic means no will', () => {
    const stage = new Stage()
    assert.deepEqual(stage.exchange('09 04 0c 01 003c 646576'), ['0206'])
    assert.deepEqual(stage.exchange('05 07 20 7774'), ['0208'])
    assert.deepEqual(stage.exchange('05 09 627965'), [])
    assert.deepEqual(stage.respond(), ['030500'])
    const other = new Stage()
    assert.deepEqual(other.exchange('09 04 0c 01 003c 646576'), ['0206'])
    assert.deepEqual(other.exchange('02 07'), [])
    assert.deepEqual(other.respond(), ['030500'])
  })
})

describe('[F3] with a connection', () => {
  for (const [what, packet, atOnce, later] of [
    ['PINGREQ gets PINGRESP', '02 16', ['0217'], []],
    ['a length of three octets is read', '01 0004 16', ['0217'], []],
    ['REGISTER gets a topic id', '07 0a 0000 0001 61', ['070b0001000100'], []],
    ['REGISTER of a wildcard is refused with 3', '07 0a 0000 0001 23', ['070b0000000103'], []],
    ['PUBLISH 0 gets no response', '08 0c 01 0005 0000 78', [], []],
    ['PUBLISH 0 to an unknown id is refused with 2', '08 0c 00 0009 0000 78', ['070d0009000002'], []],
    ['PUBLISH 1 is acknowledged when the broker has it', '08 0c 21 0005 0009 78', [], ['070d0005000900']],
    ['PUBLISH 1 to an unknown id is refused with 2', '08 0c 20 0009 0009 78', ['070d0009000902'], []],
    ['PUBLISH 1 to a wildcard of two octets is refused with 3', '08 0c 22 2b2f 0009 78', ['070d2b2f000903'], []],
    ['PUBLISH of topic type 3 is refused with 3', '08 0c 23 0005 0009 78', ['070d0005000903'], []],
    ['PUBLISH 2 gets PUBREC when the broker has acknowledged it', '08 0c 41 0005 0009 78', [], ['040f0009']],
    ['SUBSCRIBE of a name has an id', '06 12 20 0009 61', [], ['0813200001000900']],
    ['SUBSCRIBE of a wildcard has none', '06 12 40 0009 23', [], ['0813400000000900']],
    ['SUBSCRIBE of a short name has none', '07 12 22 0009 6162', [], ['0813200000000900']],
    ['SUBSCRIBE of a predefined topic has its id', '07 12 21 0009 0005', [], ['0813200005000900']],
    ['SUBSCRIBE of an unknown predefined topic is refused with 2', '07 12 21 0009 0006', ['0813000000000902'], []],
    ['SUBSCRIBE of topic type 3 is refused with 3', '07 12 23 0009 6162', ['0813000000000903'], []],
    ['UNSUBSCRIBE gets UNSUBACK', '06 14 00 0009 61', [], ['04150009']],
    ['UNSUBSCRIBE of an unknown predefined topic gets UNSUBACK', '07 14 01 0009 0006', ['04150009'], []],
    ['DISCONNECT gets DISCONNECT', '02 18', ['0218'], []],
    ['WILLMSGUPD without a will is refused', '03 1c 78', ['031d03'], []],
    ['WILLTOPICUPD to a wildcard is refused', '04 1a 00 23', ['031b03'], []],
  ] as const) {
    test(what, () => {
      const stage = new Stage()
      stage.connected()
      assert.deepEqual([stage.exchange(packet), stage.respond()], [atOnce, later])
    })
  }

  for (const [what, packet, response] of [
    ['PUBLISH 1', '08 0c 21 0005 0009 78', '070d0005000903'],
    ['PUBLISH 2', '08 0c 41 0005 0009 78', '070d0005000903'],
    ['SUBSCRIBE', '06 12 20 0009 61', '0813000000000903'],
  ] as const)
    test(`${what} that an access rule denies is refused with 3`, () => {
      const stage = new Stage()
      stage.connected()
      stage.exchange(packet)
      assert.deepEqual(stage.respond(0x87), [response])
    })

  test('a repeated CONNECT gets CONNACK again, and a topic name has one id', () => {
    const stage = new Stage()
    stage.connected()
    assert.deepEqual(stage.exchange('09 04 04 01 003c 646576'), ['030500'])
    assert.deepEqual(stage.exchange('07 0a 0000 0001 61'), ['070b0001000100'])
    assert.deepEqual(stage.exchange('07 0a 0000 0002 61'), ['070b0001000200'])
    assert.deepEqual(stage.exchange('07 0a 0000 0003 62'), ['070b0002000300'])
  })

  test('a forwarder gets encapsulated responses, and each of its nodes is a client', () => {
    const stage = new Stage()
    assert.deepEqual(stage.exchange('05 fe 00 0102 09 04 04 01 003c 646576'), [])
    assert.deepEqual(stage.respond(), ['05fe000102030500'])
    assert.deepEqual(stage.exchange('05 fe 00 0102 02 16'), ['05fe0001020217'])
    assert.deepEqual(stage.exchange('05 fe 00 0103 02 16'), ['05fe0001030218'])
  })
})

test('[F3] ADVERTISE has the ID of the gateway and the time until the next one', () => {
  assert.equal(writeAdvertise(7, 900).toString('hex'), '0500070384')
})

test('[F1] clientinfo_override fills user name, password and client ID, with ${ConnInfo.clientid}', () => {
  const override = { clientId: 'sn-${ConnInfo.clientid}', username: 'sensor ${ConnInfo.clientid}', password: 'secret' }
  const stage = new Stage(true, override)
  stage.exchange('09 04 04 01 003c 646576')
  const connect = stage.connections[0]?.packets[0]
  assert.ok(connect?.type === 'connect')
  const password = connect.password === undefined ? undefined : Buffer.from(connect.password).toString()
  assert.deepEqual([connect.clientId, connect.username, password], ['sn-dev', 'sensor dev', 'secret'])
})
