// A client ID belongs to the identity that created its session (`auth.client_id_binding`).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreSettings } from '../../src/core/index.ts'
import { createIdentity } from '../../src/core/messages/identity.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client, type ConnectOptions } from '../simulator/world.ts'

const kept: ConnectOptions = { cleanStart: false, sessionExpirySeconds: 3_600 }

/** Clients prove the user name that they send; without one they are anonymous. */
function worldOf(settings: Partial<CoreSettings> = {}, shards = 1): World {
  return new World({
    shards,
    settings,
    host: {
      decision: ({ clientId, username, connection }) => {
        const principal = username === undefined ? 'anonymous' : `user:${username}`
        const identity = { ...createIdentity(clientId, username, connection.peerAddress), principal }
        return { decision: { allowed: true, identity }, afterMs: 0 }
      },
    },
  })
}

/** Returns a client that the broker may refuse. */
function attempt(world: World, clientId: string, options: ConnectOptions): Client {
  const client = world.client(clientId, options)
  client.connect()
  return client
}

const codeOf = (client: Client): number | undefined => client.connack?.reasonCode

for (const shards of [1, 3]) {
  describe(`a client ID belongs to the identity of its session, with ${shards} shards`, () => {
    test('another user is refused, and the connection of the owner stays', () => {
      const world = worldOf({}, shards)
      const owner = world.connect('pump-7', { ...kept, username: 'anna' })
      const attacker = attempt(world, 'pump-7', { ...kept, username: 'mallory' })
      assert.equal(codeOf(attacker), reasonCodes.clientIdentifierNotValid)
      assert.equal(attacker.isConnected, false)
      assert.equal(owner.isConnected, true)
    })

    test('a client of MQTT 3.1.1 is refused with return code 2', () => {
      const world = worldOf({}, shards)
      world.connect('pump-7', { ...kept, username: 'anna' })
      const attacker = attempt(world, 'pump-7', { cleanStart: false, version: 4, username: 'mallory' })
      assert.equal(codeOf(attacker), 2)
    })

    test('the queue of an offline session is not given to another user, also after a restart', () => {
      const world = worldOf({}, shards)
      const owner = world.connect('pump-7', { ...kept, username: 'anna' })
      owner.subscribe('orders', { qos: 1 })
      owner.disconnect()
      const publisher = world.connect('publisher', { username: 'plant' })
      publisher.publish('orders', 'secret', { qos: 1 })
      world.settle()
      for (const step of ['before', 'after'] as const) {
        if (step === 'after') world.restart()
        const attacker = attempt(world, 'pump-7', { ...kept, username: 'mallory' })
        assert.equal(codeOf(attacker), reasonCodes.clientIdentifierNotValid, `${step} a restart`)
        assert.deepEqual(attacker.payloads, [])
      }
      owner.connect()
      world.settle()
      assert.deepEqual(owner.payloads, ['secret'])
    })

    test('an anonymous client is refused the session of a user; a user may have that of an anonymous client', () => {
      const world = worldOf({}, shards)
      world.connect('pump-7', { ...kept, username: 'anna' })
      assert.equal(codeOf(attempt(world, 'pump-7', kept)), reasonCodes.clientIdentifierNotValid)
      world.connect('valve-3', kept)
      assert.equal(
        codeOf(attempt(world, 'valve-3', { ...kept, cleanStart: true, username: 'anna' })),
        reasonCodes.success,
      )
      assert.equal(
        codeOf(attempt(world, 'valve-3', kept)),
        reasonCodes.clientIdentifierNotValid,
        'the client ID belongs to the user now',
      )
    })

    test('after the session has ended, any user may have the client ID', () => {
      const world = worldOf({}, shards)
      world.connect('pump-7', { username: 'anna' }).disconnect()
      assert.equal(codeOf(attempt(world, 'pump-7', { username: 'mallory' })), reasonCodes.success)
    })

    test('an administrator frees the client ID of an offline session by ending it', () => {
      const world = worldOf({}, shards)
      const owner = world.connect('pump-7', { ...kept, username: 'anna' })
      owner.disconnect()
      world.settle()
      const command = world.command({ name: 'kick', clientId: 'pump-7', endsSession: true })
      world.settle()
      assert.equal(command?.done, true)
      assert.equal(codeOf(attempt(world, 'pump-7', { ...kept, username: 'bert' })), reasonCodes.success)
    })

    test('with auth.client_id_binding = none, the other user takes over the session', () => {
      const world = worldOf({ bindsClientIds: false }, shards)
      const owner = world.connect('pump-7', { ...kept, username: 'anna' })
      assert.equal(codeOf(attempt(world, 'pump-7', { username: 'mallory' })), reasonCodes.success)
      assert.equal(owner.isConnected, false)
    })
  })
}
