// Properties and reason codes of CONNECT and CONNACK of 5.0, and DISCONNECT of 5.0.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes, type ReasonCode } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import {
  assertBytesEnd,
  assertClosed,
  bytes,
  connectBytes,
  connectedRaw,
  connectedWire,
  durable,
  publishBytes,
  RawEnd,
  sendBytes,
  text,
  typesOf,
  connectPacket,
} from './raw.ts'

describe('sessions of MQTT 5.0', () => {
  test('[MQTT5-3.1.2-23] [MQTT5-4.1.0-2] a session survives its connection until its expiry', () => {
    const world = new World()
    const client = world.connect('me', { cleanStart: true, sessionExpirySeconds: 60 })
    client.subscribe('a')
    client.drop()
    world.passSeconds(59)
    assert.equal(client.connect({ cleanStart: false })?.sessionPresent, true)
    client.drop()
    world.passSeconds(61)
    assert.equal(world.view.sessions, 0)
    assert.equal(client.connect()?.sessionPresent, false)
    assert.equal(world.records().filter(({ kind }) => kind === 'subscription').length, 0)
  })

  test('[MQTT5-3.1.2-23] a session with an expiry of 0xFFFFFFFF does not expire', () => {
    const world = new World()
    const client = world.connect('me', { cleanStart: true, sessionExpirySeconds: 0xffffffff })
    client.drop()
    world.passSeconds(10 * 365 * 86_400)
    assert.equal(client.connect({ cleanStart: false })?.sessionPresent, true)
  })

  test('[MQTT5-3.1.2-23] [MQTT5-4.1.0-2] DISCONNECT may shorten or extend the expiry', () => {
    const world = new World()
    const client = world.connect('me', { cleanStart: true, sessionExpirySeconds: 60 })
    client.disconnect({ properties: { sessionExpiryIntervalSeconds: 600 } })
    world.passSeconds(599)
    assert.equal(client.connect({ cleanStart: false })?.sessionPresent, true)
    client.disconnect({ properties: { sessionExpiryIntervalSeconds: 0 } })
    assert.equal(world.view.sessions, 0)
  })

  test('[MQTT5-3.1.2-23] an expiry above the maximum is reduced, and CONNACK has the reduced one', () => {
    const world = new World({ settings: { maxSessionExpirySeconds: 100 } })
    const client = world.connect('me', { cleanStart: true, sessionExpirySeconds: 1_000 })
    assert.equal(client.connack?.properties?.sessionExpiryIntervalSeconds, 100)
    assert.equal(
      world.connect('modest', { sessionExpirySeconds: 50 }).connack?.properties?.sessionExpiryIntervalSeconds,
      undefined,
    )
    client.drop()
    world.passSeconds(101)
    assert.equal(world.view.findClient('me'), undefined)
  })

  test('[MQTT5-3.14.2-2] a client that requested an expiry and got 0 may repeat it in DISCONNECT: its will is not published', () => {
    const world = new World({ settings: { maxSessionExpirySeconds: 0 } })
    const willSubscriber = world.subscriber('wills')
    const options = { cleanStart: true, will: { topic: 'wills', payload: 'gone' } }
    const client = world.connect('me', { ...options, sessionExpirySeconds: 50 })
    client.disconnect({ properties: { sessionExpiryIntervalSeconds: 50 } })
    assert.equal(client.disconnected, undefined)
    assert.deepEqual([willSubscriber.payloads, world.view.findClient('me')], [[], undefined])
    const other = world.connect('other', options)
    other.wire?.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 50 } })
    world.settle()
    assertClosed(other, 'protocolError')
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })

  test('[MQTT5-3.1.2-23] DISCONNECT does not extend the expiry beyond the maximum', () => {
    const world = new World({ settings: { maxSessionExpirySeconds: 100 } })
    const client = world.connect('me', { cleanStart: true, sessionExpirySeconds: 50 })
    client.disconnect({ properties: { sessionExpiryIntervalSeconds: 1_000 } })
    world.passSeconds(99)
    assert.equal(world.view.sessions, 1)
    world.passSeconds(2)
    assert.equal(world.view.sessions, 0)
  })

  test('[MQTT5-3.1.4-3] [MQTT5-4.13.2-1] after a takeover, the old connection gets DISCONNECT with 0x8E', () => {
    const world = new World()
    const first = connectedWire(world, 5, { clientId: 'me' })
    connectedWire(world, 5, { clientId: 'me' })
    assert.deepEqual(
      first.of('disconnect').map(({ reasonCode }) => reasonCode),
      [reasonCodes.sessionTakenOver],
    )
    assert.equal(first.isOpen, false)
  })
})

describe('client ids of MQTT 5.0', () => {
  test('[MQTT5-3.1.3-7] [MQTT5-3.2.2-16] CONNACK assigns a client ID if it is empty, and the session resumes with that ID', () => {
    const world = new World()
    const client = world.connect('', { cleanStart: false, sessionExpirySeconds: 60 })
    const assigned = client.connack?.properties?.assignedClientIdentifier ?? ''
    assert.notEqual(assigned, '')
    client.subscribe('a')
    client.drop()
    const wire = connectedWire(world, 5, { clientId: assigned, cleanStart: false })
    assert.equal(wire.of('connack')[0]?.sessionPresent, true)
    assert.equal(world.connect('mine').connack?.properties?.assignedClientIdentifier, undefined)
  })

  test('[MQTT5-3.2.2-16] an assigned client ID belongs to no session, also if a client used the next ID of the sequence', () => {
    const world = new World()
    const assigned = world.connect('').connack?.properties?.assignedClientIdentifier ?? ''
    const [, all, number] = /^(auto-.+-)([0-9a-z]+)$/.exec(assigned) ?? []
    const next = Array.from({ length: 20 }, (_, index) => `${all}${(parseInt(number, 36) + 1 + index).toString(36)}`)
    for (const clientId of next) world.connect(clientId, { ...durable })
    const others = next.map(() => world.connect('').connack?.properties?.assignedClientIdentifier ?? '')
    assert.deepEqual(
      next.filter((clientId) => others.includes(clientId)),
      [],
    )
    assert.equal(world.view.sessions, 1 + 2 * next.length)
  })
})

describe('CONNACK of MQTT 5.0', () => {
  const refusals: readonly ReasonCode[] = [0x80, 0x83, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x97, 0x9c, 0x9d, 0x9f]
  for (const reason of refusals) {
    test(`[MQTT5-3.2.2-7] [MQTT5-3.2.2-8] [MQTT5-4.13.2-1] a client that is refused with ${reason} gets CONNACK with that code, and the connection closes`, () => {
      const world = new World({ host: { decision: () => ({ decision: { allowed: false, reason }, afterMs: 0 }) } })
      const end = new RawEnd(world)
      assert.equal(end.send(connectBytes(5)), `20030 0${reason.toString(16)}00`.replace(' ', ''))
      assert.equal(end.isOpen, false)
    })
  }

  test('[MQTT5-3.2.2-9] CONNACK has Maximum QoS if it is below 2, and not otherwise', () => {
    for (const maximumQoS of [0, 1] as const) {
      const client = new World({ settings: { maximumQoS } }).connect('me')
      assert.equal(client.connack?.properties?.maximumQoS, maximumQoS)
    }
    assert.equal(new World().connect('me').connack?.properties?.maximumQoS, undefined)
  })

  test('[MQTT5-3.2.2-10] [MQTT5-3.8.4-7] with a Maximum QoS, subscriptions for every QoS are accepted, and granted up to it', () => {
    const world = new World({ settings: { maximumQoS: 1 } })
    const client = world.connect('me')
    const granted = ([0, 1, 2] as const).map((qos) => client.subscribe(`a/${qos}`, { qos })?.reasonCodes[0])
    assert.deepEqual(granted, [0, 1, 1])
  })

  test('[MQTT5-3.2.2-11] a PUBLISH above the maximum QoS ends the connection with 0x9B', () => {
    const world = new World({ settings: { maximumQoS: 1 } })
    const client = world.connect('me')
    sendBytes(world, client, publishBytes(5, 'a', { flags: 0x04, packetId: 1 }))
    assertClosed(client, 'qosNotSupported')
  })

  test('[MQTT5-3.2.2-14] a retained PUBLISH ends the connection with 0x9A if retained messages are disabled', () => {
    const world = new World({ settings: { retainAvailable: false } })
    const client = world.connect('me')
    assert.equal(client.connack?.properties?.retainAvailable, false)
    sendBytes(world, client, publishBytes(5, 'a', { flags: 0x01, payload: 'x' }))
    assertClosed(client, 'retainNotSupported')
  })

  test('[MQTT5-3.2.2-15] a packet larger than the maximum in CONNACK ends the connection with 0x95, before it has arrived completely', () => {
    const world = new World({ settings: { maxPacketBytes: 1_000 } })
    const client = world.connect('me')
    assert.equal(client.connack?.properties?.maximumPacketSizeBytes, 1_000)
    sendBytes(world, client, bytes`30 e6 07`)
    assertClosed(client, 'packetTooLarge')
    const exact = world.connect('exact')
    sendBytes(world, exact, publishBytes(5, 'a', { payload: 'x'.repeat(1_000 - 3 - 3 - 1) }))
    assert.equal(exact.isConnected, true)
  })

  test('[MQTT5-3.2.2-22] [MQTT5-3.2.2-21] [MQTT5-3.1.2-21] the keep alive of the client applies unless CONNACK has another one', () => {
    const own = new World()
    const client = own.connect('me', { keepAliveSeconds: 10 })
    assert.equal(client.connack?.properties?.serverKeepAliveSeconds, undefined)
    own.passSeconds(16)
    assert.equal(client.hasOpenConnection, false)

    const world = new World({ settings: { serverKeepAliveSeconds: 100 } })
    const other = world.connect('me', { keepAliveSeconds: 10 })
    assert.equal(other.connack?.properties?.serverKeepAliveSeconds, 100)
    world.passSeconds(149)
    assert.equal(other.hasOpenConnection, true)
    world.passSeconds(2)
    assertClosed(other, 'keepAliveTimeout')
  })

  test('[MQTT-3.1.2-24] a client of 3.1.1 gets no server keep alive: its own applies', () => {
    const world = new World({ settings: { serverKeepAliveSeconds: 10 } })
    const client = world.connect('me', { version: 4, keepAliveSeconds: 100 })
    world.passSeconds(149)
    assert.equal(client.hasOpenConnection, true)
  })

  test('[MQTT5-3.1.2-28] response information is sent only to clients that request it', () => {
    const world = new World()
    const information = (isRequested: boolean | undefined): string | undefined =>
      world.connect('me', isRequested === undefined ? {} : { properties: { requestResponseInformation: isRequested } })
        .connack?.properties?.responseInformation
    assert.equal(information(undefined), undefined)
    assert.equal(information(false), undefined)
    assert.equal(typeof information(true), 'string')
  })

  test('[MQTT5-3.1.2-28] a client whose client ID cannot be part of a topic name gets no response information', () => {
    const world = new World()
    const informationOf = (clientId: string): string | undefined =>
      world.connect(clientId, { properties: { requestResponseInformation: true } }).connack?.properties
        ?.responseInformation
    assert.deepEqual(['a/b', 'a+b', 'a/#'].map(informationOf), ['response/a/b', undefined, undefined])
  })

  test('[MQTT5-3.2.2-19] [MQTT5-3.14.2-3] a refused or disconnected client gets a reason string, if it fits', () => {
    const world = new World({ settings: { maxClientIdBytes: 10 } })
    const refused = world.wire({ version: 5 })
    refused.send(connectPacket(5, { clientId: 'longer than ten' }))
    world.settle()
    assert.equal(refused.of('connack')[0]?.properties?.reasonString, 'the client id is longer than 10 bytes')
    const narrow = world.wire({ version: 5 })
    narrow.send(connectPacket(5, { clientId: 'longer than ten', properties: { maximumPacketSizeBytes: 40 } }))
    world.settle()
    assert.deepEqual([narrow.of('connack')[0]?.reasonCode, narrow.of('connack')[0]?.properties], [0x85, undefined])

    const first = world.connect('me')
    world.connect('me')
    assert.match(first.disconnected?.properties?.reasonString ?? '', /same client id/)
  })

  test('[MQTT5-4.12.0-1] a client with an unknown authentication method gets that reason in CONNACK, and the connection closes', () => {
    const end = new RawEnd(new World())
    assert.equal(end.send(connectBytes(5, { properties: [bytes`15 ${text('RUNES')}`] })), '2003008c00')
    assert.equal(end.isOpen, false)
  })

  test('[MQTT5-4.12.0-6] without a method in CONNECT, there is no AUTH and no method in CONNACK', () => {
    const world = new World()
    const wire = connectedWire(world, 5)
    wire.send({ type: 'pingreq' })
    world.settle()
    assert.deepEqual(typesOf(wire.received), ['connack', 'pingresp'])
    assert.equal(wire.of('connack')[0]?.properties?.authenticationMethod, undefined)
  })

  test('[MQTT5-4.12.0-7] [MQTT5-4.12.1-1] AUTH from a client without a method is a protocol error', () => {
    assertBytesEnd(5, bytes`f0 0a 19 08 15 ${text('RUNES')}`, 'protocolError', new World())
  })

  test('[MQTT5-3.1.2-30] after a CONNECT with a method, only AUTH is accepted', () => {
    const world = new World()
    const subscriber = world.subscriber('#')
    const end = new RawEnd(world)
    const connect = connectBytes(5, { properties: [bytes`15 ${text('RUNES')}`] })
    end.send(connect, publishBytes(5, 'a', { payload: 'x' }))
    assert.deepEqual(subscriber.payloads, [])
  })

  test('[MQTT5-3.15.1-1] AUTH with flags is malformed', () => {
    assertBytesEnd(5, bytes`f1 00`, 'malformedPacket', new World())
  })
})

describe('DISCONNECT of MQTT 5.0', () => {
  test('[MQTT5-3.14.1-1] DISCONNECT with flags is malformed', () => {
    assertBytesEnd(5, bytes`e1 00`, 'malformedPacket', new World())
  })

  test('[MQTT5-3.14.2-1] [MQTT5-3.14.2-2] [MQTT5-3.14.4-1] [MQTT5-3.14.4-2] the broker ends a connection with one DISCONNECT with a reason code of its table and no session expiry', () => {
    const world = new World({ settings: { receiveMaximum: 1 } })
    const offences = [
      connectBytes(5),
      bytes`00 00`,
      publishBytes(5, 'a', { flags: 0x04, packetId: 1 }),
      publishBytes(5, 'a/+'),
      publishBytes(5, '', { properties: [bytes`23 ffff`] }),
    ]
    const subscriber = world.subscriber('#')
    for (const offence of offences) {
      const end = connectedRaw(world, 5)
      const second = publishBytes(5, 'late', { flags: 0x04, packetId: 2 })
      const response = end.send(offence, second, publishBytes(5, 'late'))
      assert.match(response, /^(50020001)?e00(18[0-9a-f]|28[0-9a-f]00|29[0-9a-f]00|19[0-9a-f])$/)
      assert.equal(end.isOpen, false)
    }
    assert.deepEqual(
      subscriber.messages.filter(({ topic }) => topic === 'late'),
      [],
    )
  })

  test('[MQTT5-3.14.2-1] a reason code that is not in the table of DISCONNECT is a protocol error', () => {
    assertBytesEnd(5, bytes`e0 02 03 00`, 'protocolError', new World())
  })

  test('[MQTT5-3.14.4-1] [MQTT5-3.14.4-2] packets after DISCONNECT are not processed, and the broker closes the connection', () => {
    const world = new World()
    const subscriber = world.subscriber('#')
    const end = connectedRaw(world, 5)
    assert.equal(end.send(bytes`e0 00`, publishBytes(5, 'late', { payload: 'x' }), bytes`c0 00`), '')
    assert.equal(end.isOpen, false)
    assert.deepEqual(subscriber.payloads, [])
  })

  test('[MQTT5-3.14.2-1] [MQTT5-4.13.2-1] a broker that stops sends DISCONNECT with 0x8B', () => {
    const world = new World()
    const client = world.connect('me')
    world.stop()
    assertClosed(client, 'serverShuttingDown')
  })
})
