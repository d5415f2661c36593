// If access is not decided at once, the packet waits for the response and all later packets wait with it: none is lost, reordered, or
// requested endlessly.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client, type WorldOptions } from '../simulator/world.ts'
import { Rulebook } from './denied-actions.ts'

interface AuthorizationStage {
  world: World
  rulebook: Rulebook
  /** Requests, as `action topic`. */
  requests: string[]
}

/** `slow/...` is undecided at first; the response takes two seconds and is `decision`. */
function authorizationStage(
  decision: 'allow' | 'deny' | 'unknown' = 'allow',
  options: WorldOptions = {},
): AuthorizationStage {
  const rulebook = new Rulebook(
    { action: 'publish', topic: 'slow/#', is: 'unknown' },
    { action: 'subscribe', topic: 'slow/#', is: 'unknown' },
  )
  const requests: string[] = []
  const world = new World({
    ...options,
    host: {
      permissions: rulebook,
      mayDo: ({ action, topic }) => {
        requests.push(`${action} ${topic}`)
        rulebook.rules.unshift({ action, topic, is: decision })
        return 2_000
      },
    },
  })
  return { world, rulebook, requests }
}

const publishAll = (client: Client): unknown[] => [
  client.publish('open', '1', { qos: 0 }),
  client.publish('slow/a', '2', { qos: 1 }),
  client.publish('open', '3', { qos: 2 }),
  client.publish('slow/b', '4', { qos: 0 }),
  client.publish('open', '5', { qos: 1 }),
]

describe('a PUBLISH without an immediate decision', () => {
  for (const version of [4, 5] as const) {
    test(`waits, and later packets wait with it, in order (version ${version})`, () => {
      const { world, requests } = authorizationStage()
      const subscriber = world.subscriber('#', { qos: 2 })
      const client = world.connect('author', { version })
      publishAll(client)
      assert.deepEqual(subscriber.payloads, ['1'])
      world.passMs(2_500)
      assert.deepEqual(subscriber.payloads, ['1', '2', '3'])
      world.passMs(2_000)
      assert.deepEqual(subscriber.payloads, ['1', '2', '3', '4', '5'])
      assert.deepEqual(requests, ['publish slow/a', 'publish slow/b'])
      assert.equal(world.view.counts.publishesReceived, 5)
    })
  }

  test('is refused if the decision is deny', () => {
    const { world } = authorizationStage('deny')
    const client = world.connect('author')
    const publication = client.publish('slow/a', 'x', { qos: 1 })
    world.passSeconds(3)
    assert.equal(publication.reasonCode, reasonCodes.notAuthorized)
  })

  test('is refused if it is undecided after the response: it is not requested twice', () => {
    const { world, rulebook, requests } = authorizationStage('unknown')
    const client = world.connect('author')
    const first = client.publish('slow/a', 'x', { qos: 2 })
    world.passSeconds(3)
    assert.equal(first.reasonCode, reasonCodes.notAuthorized)
    assert.deepEqual(requests, ['publish slow/a'])
    // Another PUBLISH is another request.
    rulebook.rules = [{ action: 'publish', is: 'unknown' }]
    client.publish('slow/a', 'y', { qos: 1 })
    world.passSeconds(3)
    assert.equal(requests.length, 2)
  })

  test('ends with its client, and a later response has no effect', () => {
    const { world } = authorizationStage()
    const subscriber = world.subscriber('#')
    const client = world.connect('author')
    client.publish('slow/a', 'x', { qos: 1 })
    client.drop()
    world.passSeconds(3)
    assert.deepEqual(subscriber.payloads, [])
    assert.equal(client.connect()?.reasonCode, 0)
  })

  test('its client is not considered silent meanwhile, nor right after', () => {
    const { world } = authorizationStage()
    world.host.traits.mayDo = () => 100_000
    const client = world.connect('author', { keepAliveSeconds: 10 })
    client.publish('slow/a', 'x', { qos: 1 })
    world.passSeconds(110)
    assert.equal(client.isConnected, true)
  })

  test('its client is not read: more than mqtt.max_parked_packets packets have no effect', () => {
    const { world } = authorizationStage('allow', { settings: { maxParkedPackets: 4 } })
    const subscriber = world.subscriber('#')
    const client = world.connect('author')
    for (let count = 0; count < 100; count++) client.publish(count === 0 ? 'slow/a' : 'open', String(count))
    assert.deepEqual(subscriber.payloads, [])
    world.passSeconds(3)
    assert.equal(client.isConnected, true)
    assert.equal(subscriber.payloads.length, 100)
  })
})

describe('a SUBSCRIBE without an immediate decision', () => {
  test('gets one SUBACK when all its filters are decided', () => {
    const { world, requests } = authorizationStage()
    const client = world.connect('curious')
    world.host.traits.mayDo = ({ action, topic }) => {
      requests.push(`${action} ${topic}`)
      return topic === 'slow/a' ? 1_000 : 3_000
    }
    client.subscribe(['open', 'slow/a', '$share/g/slow/b'], { qos: 1 })
    world.passSeconds(2)
    assert.equal(world.view.findSubscriptions('curious').size, 0)
    assert.deepEqual(requests, ['subscribe slow/a', 'subscribe slow/b'])
    world.passSeconds(2)
    // These two are still undecided and are denied.
    assert.deepEqual([...world.view.findSubscriptions('curious').keys()], ['open'])
  })

  test('at most 64 filters are requested at a time', () => {
    const { world, requests } = authorizationStage()
    const client = world.connect('curious')
    client.subscribe(Array.from({ length: 150 }, (_, index) => `slow/${index}`))
    assert.equal(requests.length, 64)
    world.passSeconds(2)
    assert.equal(requests.length, 128)
    world.passSeconds(5)
    assert.equal(requests.length, 150)
    assert.equal(world.view.findSubscriptions('curious').size, 150)
  })
})

describe('a will without an immediate decision', () => {
  for (const [decision, code] of [
    ['allow', 0],
    ['deny', reasonCodes.notAuthorized],
    ['unknown', reasonCodes.notAuthorized],
  ] as const) {
    test(`CONNECT waits for the decision ${decision}`, () => {
      const { world, requests } = authorizationStage(decision)
      const client = world.client('will-client', { will: { topic: 'slow/w', payload: 'gone' } })
      client.connect()
      assert.equal(client.hasOpenConnection && !client.isConnected, true)
      world.passSeconds(3)
      assert.equal(client.connack?.reasonCode, code)
      assert.deepEqual(requests, ['publish slow/w'])
      assert.equal(client.isConnected, code === 0)
    })
  }

  test('its client is refused if it is banned while it waits for the response', () => {
    const { world, rulebook } = authorizationStage()
    const client = world.client('will-client', { will: { topic: 'slow/w', payload: 'gone' } })
    client.connect()
    rulebook.change(world, { action: 'stay', clientId: 'will-client' })
    world.passSeconds(3)
    assert.equal(client.connack?.reasonCode, reasonCodes.banned)
    assert.equal(client.isConnected, false)
  })

  test('a broker that stops meanwhile accepts no further client', () => {
    const { world } = authorizationStage()
    const client = world.client('will-client', { will: { topic: 'slow/w', payload: 'gone' } })
    client.connect()
    world.stop()
    world.passSeconds(3)
    assert.equal(client.connack?.reasonCode, reasonCodes.serverUnavailable)
  })
})
