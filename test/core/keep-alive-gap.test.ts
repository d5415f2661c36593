import assert from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../simulator/world.ts'

test('a client that is silent for longer than its keep alive, and sends a packet in time, is reported once each time', () => {
  const world = new World()
  const client = world.connect('me', { keepAliveSeconds: 100 })
  const gaps = (): number => world.events('keep-alive-gap').filter(({ clientId }) => clientId === 'me').length
  for (let times = 0; times < 5; times++) {
    world.passSeconds(100)
    client.publish('a', 'x')
  }
  assert.equal(gaps(), 0, 'it keeps its keep alive')
  world.passSeconds(140)
  client.publish('a', 'x')
  assert.equal(client.hasOpenConnection, true)
  assert.equal(gaps(), 1)
  world.passSeconds(140)
  client.publish('a', 'x')
  assert.equal(gaps(), 2)
  world.passSeconds(151)
  assert.equal(client.hasOpenConnection, false)
})
