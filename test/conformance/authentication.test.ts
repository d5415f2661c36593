// Enhanced authentication of MQTT 5.0: exchanges of AUTH before CONNACK, and re-authentication of an open connection.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AuthenticationResult } from '../../src/core/index.ts'
import { reasonCodes, type AuthPacket, type ConnectPacket } from '../../src/protocol/index.ts'
import { World, type Wire, type WorldOptions } from '../simulator/world.ts'
import { Rulebook } from '../core/denied-actions.ts'
import {
  acksOf,
  bytes,
  connectPacket,
  connectedRaw,
  connectedWire,
  publishBytes,
  subscribeBytes,
  typesOf,
} from './raw.ts'

const method = 'RUNES'
const notYet: AuthenticationResult = { allowed: 'not-yet', authenticationData: Buffer.from('riddle') }
const yes: AuthenticationResult = { allowed: true, authenticationData: Buffer.from('welcome') }
const no: AuthenticationResult = { allowed: false, reason: reasonCodes.notAuthorized }

/** A broker with one authentication method: it sends a riddle, and the solution is `rune`. */
function runicWorld(options: WorldOptions = {}): World {
  return new World({
    ...options,
    host: {
      ...options.host,
      decision: ({ authenticationMethod }) => {
        const known = authenticationMethod === method ? notYet : undefined
        const other = authenticationMethod === undefined ? yes : { ...no, reason: reasonCodes.badAuthenticationMethod }
        return { decision: known ?? other, afterMs: 0 }
      },
      authenticate: ({ data, isReauthentication }) => {
        if (data === undefined || data.length === 0) return isReauthentication ? notYet : no
        return data.toString() === 'rune' ? yes : no
      },
      ...options.host,
    },
  })
}

function startConnect(world: World, parts: Partial<ConnectPacket> = {}): Wire {
  const wire = world.wire({ version: 5 })
  const properties = { ...parts.properties, authenticationMethod: method, authenticationData: Buffer.from('hello') }
  wire.send(connectPacket(5, { ...parts, properties }))
  world.settle()
  return wire
}

function auth(
  world: World,
  wire: Wire,
  data: string | undefined,
  parts: { reasonCode?: AuthPacket['reasonCode']; method?: string | undefined } = {},
): void {
  const { reasonCode = reasonCodes.continueAuthentication } = parts
  const named = 'method' in parts ? parts.method : method
  wire.send({
    type: 'auth',
    reasonCode,
    properties: {
      ...(named === undefined ? {} : { authenticationMethod: named }),
      ...(data === undefined ? {} : { authenticationData: Buffer.from(data) }),
    },
  })
  world.settle()
}

function connectedClient(world: World, parts: Partial<ConnectPacket> = {}): Wire {
  const wire = startConnect(world, parts)
  auth(world, wire, 'rune')
  assert.equal(wire.of('connack')[0]?.reasonCode, 0)
  return wire
}

const endOf = (wire: Wire): unknown => ({
  codes: wire.of('disconnect').map(({ reasonCode }) => reasonCode),
  isOpen: wire.isOpen,
})

describe('authentication before CONNACK', () => {
  test('[MQTT5-4.12.0-2] [MQTT5-4.12.0-5] [MQTT5-3.15.2-1] the broker sends AUTH with 0x18 and the method, and CONNACK repeats the method', () => {
    const world = runicWorld()
    const wire = startConnect(world)
    assert.deepEqual(wire.received, [
      {
        type: 'auth',
        reasonCode: reasonCodes.continueAuthentication,
        properties: { authenticationMethod: method, authenticationData: Buffer.from('riddle') },
      },
    ])
    auth(world, wire, 'rune')
    const [connack] = wire.of('connack')
    assert.equal(connack?.reasonCode, 0)
    assert.equal(connack?.properties?.authenticationMethod, method)
    assert.deepEqual(connack?.properties?.authenticationData, Buffer.from('welcome'))
  })

  test('[MQTT5-3.2.0-1] before CONNACK, the broker sends only AUTH and creates no session', () => {
    const world = runicWorld()
    const wire = startConnect(world, { clientId: 'me' })
    assert.deepEqual(typesOf(wire.received), ['auth'])
    assert.equal(world.view.findClient('me'), undefined)
    auth(world, wire, 'rune')
    assert.deepEqual(typesOf(wire.received), ['auth', 'connack'])
    assert.equal(world.view.findClient('me')?.isConnected, true)
  })

  test('[MQTT5-4.12.0-4] a client with a wrong response gets CONNACK with 0x87, and the connection closes', () => {
    const world = runicWorld()
    const wire = startConnect(world)
    auth(world, wire, 'rhubarb')
    assert.deepEqual(
      wire.of('connack').map(({ reasonCode }) => reasonCode),
      [reasonCodes.notAuthorized],
    )
    assert.equal(wire.isOpen, false)
  })

  const breaches: [string, (world: World, wire: Wire) => void][] = [
    ['another method than that of CONNECT', (world, wire) => auth(world, wire, 'rune', { method: 'SIGNS' })],
    ['no method', (world, wire) => auth(world, wire, 'rune', { method: undefined })],
    ['a reason to authenticate again', (world, wire) => auth(world, wire, 'rune', { reasonCode: 0x19 })],
    ['success, which only a server sends', (world, wire) => auth(world, wire, 'rune', { reasonCode: 0 })],
  ]
  for (const [what, breach] of breaches) {
    test(`[MQTT5-4.12.0-3] [MQTT5-4.12.0-5] AUTH with ${what} is a protocol error`, () => {
      const world = runicWorld()
      const wire = startConnect(world)
      breach(world, wire)
      assert.deepEqual(
        wire.of('connack').map(({ reasonCode }) => reasonCode),
        [reasonCodes.protocolError],
      )
      assert.equal(wire.isOpen, false)
    })
  }

  test('[MQTT5-3.1.2-30] a client that named a method and sends another packet is disconnected', () => {
    for (const isChallenged of [true, false]) {
      const world = runicWorld(isChallenged ? {} : { host: { decision: () => ({ decision: yes, afterMs: 1_000 }) } })
      const wire = startConnect(world)
      wire.send({ type: 'pingreq' })
      world.settle()
      assert.equal(wire.of('connack')[0]?.reasonCode ?? reasonCodes.protocolError, reasonCodes.protocolError)
      assert.equal(wire.isOpen || wire.of('pingresp').length > 0, false)
    }
  })

  test('[MQTT5-4.12.0-3] AUTH from the client before the broker has responded to the previous AUTH is a protocol error', () => {
    const requests: string[] = []
    const authenticate = (): AuthenticationResult => (requests.push('authenticate'), yes)
    const world = runicWorld({ host: { decision: () => ({ decision: notYet, afterMs: 1_000 }), authenticate } })
    const wire = startConnect(world)
    auth(world, wire, 'rune')
    world.passSeconds(2)
    assert.deepEqual(
      wire.of('connack').map(({ reasonCode }) => reasonCode),
      [reasonCodes.protocolError],
    )
    assert.deepEqual(requests, [])
    assert.equal(wire.isOpen, false)
  })

  test('[MQTT5-3.1.2-30] DISCONNECT during the exchange closes the connection without an error', () => {
    const world = runicWorld()
    const wire = startConnect(world)
    wire.send({ type: 'disconnect', reasonCode: 0, properties: undefined })
    world.settle()
    assert.deepEqual(typesOf(wire.received), ['auth'])
    assert.equal(wire.isOpen, false)
  })

  test('[MQTT5-4.12.0-4] an endless exchange ends after a maximum of steps, or after mqtt.idle_timeout', () => {
    const world = runicWorld()
    world.host.traits.authenticate = () => notYet
    const wire = startConnect(world)
    for (let step = 0; step < 40; step++) auth(world, wire, 'hm')
    assert.equal(wire.isOpen, false)
    assert.ok(wire.of('auth').length < 20)
    const slow = startConnect(world)
    world.passSeconds(16)
    assert.equal(slow.isOpen, false)
  })

  test('[MQTT5-3.15.2-2] [MQTT5-3.15.2-3] AUTH has neither a reason string nor user properties, and is not sent if it is too large', () => {
    const world = runicWorld()
    const wire = startConnect(world)
    assert.deepEqual(Object.keys(wire.of('auth')[0]?.properties ?? {}), ['authenticationMethod', 'authenticationData'])
    const narrow = startConnect(world, { properties: { maximumPacketSizeBytes: 20 } })
    assert.deepEqual(typesOf(narrow.received), ['connack'])
    assert.equal(narrow.of('connack')[0]?.reasonCode, reasonCodes.packetTooLarge)
    assert.equal(narrow.isOpen, false)
  })
})

describe('re-authentication', () => {
  test('[MQTT5-4.12.1-1] [MQTT5-4.12.0-5] begins with 0x19, ends with AUTH 0x00 and the method, and other packets are processed meanwhile', () => {
    const world = runicWorld()
    const wire = connectedClient(world)
    wire.received.length = 0
    auth(world, wire, undefined, { reasonCode: reasonCodes.reAuthenticate })
    wire.send({ type: 'pingreq' })
    world.settle()
    auth(world, wire, 'rune')
    assert.deepEqual(typesOf(wire.received), ['auth', 'pingresp', 'auth'])
    assert.deepEqual(
      wire.of('auth').map(({ reasonCode, properties }) => [reasonCode, properties?.authenticationMethod]),
      [
        [reasonCodes.continueAuthentication, method],
        [reasonCodes.success, method],
      ],
    )
    assert.equal(wire.isOpen, true)
  })

  test('[MQTT5-4.12.1-2] a wrong response ends the connection with 0x87, and the will is published', () => {
    const world = runicWorld()
    const willSubscriber = world.subscriber('w')
    const will = { topic: 'w', payload: Buffer.from('gone'), qos: 0, retain: false, properties: undefined } as const
    const wire = connectedClient(world, { will: will as never })
    auth(world, wire, undefined, { reasonCode: reasonCodes.reAuthenticate })
    auth(world, wire, 'rhubarb')
    assert.deepEqual(endOf(wire), { codes: [reasonCodes.notAuthorized], isOpen: false })
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })

  test('[MQTT5-4.12.1-2] without a response within mqtt.idle_timeout, the connection ends', () => {
    const world = runicWorld()
    const wire = connectedClient(world)
    auth(world, wire, undefined, { reasonCode: reasonCodes.reAuthenticate })
    world.passSeconds(16)
    assert.deepEqual(endOf(wire), { codes: [reasonCodes.notAuthorized], isOpen: false })
  })

  test('[MQTT5-4.12.1-2] a client that re-authenticates in time stays connected', () => {
    const world = runicWorld()
    const wire = connectedClient(world)
    auth(world, wire, 'rune', { reasonCode: reasonCodes.reAuthenticate })
    world.passSeconds(60)
    assert.equal(wire.isOpen, true)
  })

  test('[MQTT5-4.12.1-1] after re-authentication, the new expiry of the authentication applies', () => {
    const world = runicWorld()
    const wire = connectedClient(world, { clientId: 'me' })
    const identity = {
      clientId: 'me',
      username: 'renewed',
      peerAddress: '127.0.0.1',
      isSuperuser: false,
      expiresAtMs: world.nowMs + 60_000,
      grants: undefined,
    }
    world.host.traits.authenticate = () => ({ allowed: true, identity })
    auth(world, wire, 'rune', { reasonCode: reasonCodes.reAuthenticate })
    assert.equal(world.view.findClient('me')?.username, 'renewed')
    world.passSeconds(61)
    assert.deepEqual(endOf(wire), { codes: [reasonCodes.maximumConnectTime], isOpen: false })
  })

  test('[MQTT5-4.12.1-1] after re-authentication, neither the cached permissions nor the expiry of the old identity apply', () => {
    const rules = [
      { action: 'publish', username: 'renewed', topic: 'a' },
      { action: 'receive', username: 'renewed', topic: 'b' },
    ] as const
    const world = runicWorld({ host: { permissions: new Rulebook(...rules) } })
    const known = { clientId: 'me', peerAddress: '127.0.0.1', isSuperuser: false, grants: undefined }
    const first = { ...known, username: 'first', expiresAtMs: world.nowMs + 60_000 }
    world.host.traits.authenticate = () => ({ ...yes, identity: first })
    const wire = connectedClient(world, { clientId: 'me' })
    wire.sendBytes(subscribeBytes(5, 'b'))
    const speak = (packetId: number): void => {
      wire.sendBytes(publishBytes(5, 'a', { flags: 0b0010, packetId }))
      world.settle()
      world.publish('b', 'x')
    }
    speak(1)
    world.host.traits.authenticate = () => ({
      ...yes,
      identity: { ...known, username: 'renewed', expiresAtMs: undefined },
    })
    auth(world, wire, 'rune', { reasonCode: reasonCodes.reAuthenticate })
    speak(2)
    assert.deepEqual(
      acksOf(wire, 'puback').map(({ reasonCode }) => reasonCode),
      [reasonCodes.noMatchingSubscribers, reasonCodes.notAuthorized],
    )
    assert.equal(wire.of('publish').length, 1)
    world.passSeconds(61)
    assert.equal(wire.isOpen, true)
  })

  test('[MQTT5-4.12.1-1] a PUBLISH that waits for an authorization of the old identity is authorized again for the new one', () => {
    const rulebook = new Rulebook({ action: 'publish', topic: 'a', is: 'unknown' })
    const known = { clientId: 'me', peerAddress: '127.0.0.1', isSuperuser: false, grants: undefined }
    const requests: unknown[] = []
    const world = runicWorld({
      host: {
        permissions: rulebook,
        mayDo: ({ identity }) => {
          requests.push(identity.username)
          if (identity.username === 'renewed') rulebook.rules = []
          return 2_000
        },
      },
    })
    const wire = connectedClient(world, { clientId: 'me' })
    world.host.traits.authenticate = () => ({
      ...yes,
      identity: { ...known, username: 'renewed', expiresAtMs: undefined },
    })
    // Both arrive in one turn: the decision about one comes after the request for the other.
    wire.send({
      type: 'auth',
      reasonCode: reasonCodes.reAuthenticate,
      properties: { authenticationMethod: method, authenticationData: Buffer.from('rune') },
    })
    wire.sendBytes(publishBytes(5, 'a', { flags: 0b0010, packetId: 1 }))
    world.settle()
    assert.deepEqual(requests, [undefined])
    assert.equal(world.view.findClient('me')?.username, 'renewed')
    world.passSeconds(5)
    assert.deepEqual(requests, [undefined, 'renewed'])
    assert.deepEqual(
      acksOf(wire, 'puback').map(({ reasonCode }) => reasonCode),
      [reasonCodes.noMatchingSubscribers],
    )
  })

  const breaches: [string, (world: World, wire: Wire) => void][] = [
    ['another method', (world, wire) => auth(world, wire, 'x', { reasonCode: 0x19, method: 'SIGNS' })],
    ['no method', (world, wire) => auth(world, wire, 'x', { reasonCode: 0x19, method: undefined })],
    ['unrequested 0x18', (world, wire) => auth(world, wire, 'x')],
    ['0x00, which only a server sends', (world, wire) => auth(world, wire, 'x', { reasonCode: 0 })],
    [
      'a second beginning in the middle',
      (world, wire) => {
        auth(world, wire, undefined, { reasonCode: 0x19 })
        auth(world, wire, undefined, { reasonCode: 0x19 })
      },
    ],
  ]
  for (const [what, breach] of breaches) {
    test(`[MQTT5-4.12.1-1] AUTH with ${what} is a protocol error`, () => {
      const world = runicWorld()
      const wire = connectedClient(world)
      breach(world, wire)
      assert.deepEqual(endOf(wire), { codes: [reasonCodes.protocolError], isOpen: false })
    })
  }

  test('[MQTT5-4.12.0-7] AUTH from a client whose CONNECT had no method is a protocol error', () => {
    const world = runicWorld()
    const wire = connectedWire(world, 5)
    auth(world, wire, undefined, { reasonCode: reasonCodes.reAuthenticate })
    assert.deepEqual(endOf(wire), { codes: [reasonCodes.protocolError], isOpen: false })
  })

  test('[MQTT-2.2.2-2] [MQTT5-4.12.0-7] AUTH from a client of 3.1.1 ends its connection', () => {
    const raw = connectedRaw(runicWorld(), 4)
    assert.equal(raw.send(bytes`f0 00`), '')
    assert.equal(raw.isOpen, false)
  })
})
