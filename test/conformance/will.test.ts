// The will (sections 3.1.2.5 to 3.1.2.7 and 3.1.3 of both standards, 3.14).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World, type Client } from '../simulator/world.ts'
import { assertClosed, bytes, durable, sendBytes, versions } from './raw.ts'

const will = { topic: 'wills', payload: 'gone' } as const

for (const version of versions) {
  describe(`the will in MQTT ${version}`, () => {
    const endings: readonly (readonly [name: string, end: (world: World, client: Client) => void])[] = [
      ['its connection breaks', (_, client) => client.drop()],
      ['its keep alive expires', (world) => world.passSeconds(20)],
      ['it breaks the protocol', (world, client) => sendBytes(world, client, bytes`00 00`)],
      ['its stream ends without DISCONNECT', (world, client) => (client.wire?.close(), world.settle())],
      ['another connection takes over its session', (world) => void world.connect('will-client', { version })],
    ]
    for (const [name, end] of endings) {
      test(`[MQTT-3.1.2-8] [MQTT5-3.1.2-7] [MQTT5-3.1.2-8] a will is published when ${name}`, () => {
        const world = new World()
        const willSubscriber = world.subscriber('wills')
        const client = world.connect('will-client', { version, will, keepAliveSeconds: 10 })
        world.passSeconds(5)
        sendBytes(world, client, bytes`c0 00`)
        assert.deepEqual(willSubscriber.payloads, [])
        end(world, client)
        assert.deepEqual(willSubscriber.payloads, ['gone'])
      })
    }

    test('[MQTT-3.1.2-8] [MQTT5-3.1.2-8] the will of a refused client is not published', () => {
      const world = new World({
        host: {
          decision: ({ clientId }) => ({
            decision: clientId === 'will-client' ? { allowed: false, reason: 0x87 } : { allowed: true },
            afterMs: 0,
          }),
        },
      })
      const willSubscriber = world.subscriber('wills')
      world.client('will-client', { version, will }).connect()
      assert.deepEqual(willSubscriber.payloads, [])
    })

    test('[MQTT-3.1.2-10] [MQTT-3.14.4-3] [MQTT5-3.1.2-10] [MQTT5-3.14.4-3] a normal DISCONNECT deletes the will', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills')
      const client = world.connect('leaving', { version, will, ...durable })
      client.disconnect()
      client.connect({ will: undefined })
      client.drop()
      world.passSeconds(10_000)
      assert.deepEqual(willSubscriber.payloads, [])
      assert.equal(world.records().filter(({ kind }) => kind === 'will').length, 0)
    })

    test('[MQTT-3.1.2-10] [MQTT5-3.1.2-10] a will is published once', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills')
      const client = world.connect('will-client', { version, will, ...durable })
      client.drop()
      assert.deepEqual(willSubscriber.payloads, ['gone'])
      client.connect({ will: undefined })
      client.drop()
      world.passSeconds(10_000)
      assert.deepEqual(willSubscriber.payloads, ['gone'])
      assert.equal(world.records().filter(({ kind }) => kind === 'will').length, 0)
    })

    test('[MQTT-3.1.2-12] [MQTT5-3.1.2-8] nothing is published for a client without a will', () => {
      const world = new World()
      const subscriber = world.subscriber('#')
      world.connect('plain', { version }).drop()
      assert.deepEqual(subscriber.payloads, [])
    })

    test('[MQTT-3.1.2-16] [MQTT5-3.1.2-14] without will retain it is published unretained', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills', { retainAsPublished: true })
      world.connect('will-client', { version, will }).drop()
      assert.equal(willSubscriber.messages[0]?.retain, false)
      assert.equal(world.view.retainedMessages, 0)
    })

    test('[MQTT-3.1.2-17] [MQTT5-3.1.2-15] with will retain it is published retained', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills', { retainAsPublished: true })
      world.connect('will-client', { version, will: { ...will, retain: true } }).drop()
      assert.equal(willSubscriber.messages[0]?.retain, true)
      const late = world.subscriber('wills', { version })
      assert.deepEqual(
        late.messages.map(({ payload, retain }) => [payload, retain]),
        [['gone', true]],
      )
    })

    for (const qos of [0, 1, 2] as const) {
      test(`[MQTT-3.1.2-8] [MQTT5-3.1.2-8] a will of QoS ${qos} is published at QoS ${qos}`, () => {
        const world = new World()
        const willSubscriber = world.subscriber('wills')
        world.connect('will-client', { version, will: { ...will, qos } }).drop()
        assert.deepEqual(
          willSubscriber.messages.map((message) => [message.payload, message.qos]),
          [['gone', qos]],
        )
      })
    }
  })
}

test('[MQTT5-3.1.2-8] DISCONNECT with will message, or with an error, does not delete the will', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  world.connect('will-client', { will }).disconnect({ reasonCode: 0x04 })
  assert.equal(willSubscriber.payloads.length, 1)
  world.connect('will-client', { will }).disconnect({ reasonCode: 0x80 })
  assert.equal(willSubscriber.payloads.length, 2)
})

test('[MQTT5-3.1.2-8] the will is published after its delay', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const client = world.connect('will-client', {
    ...durable,
    will: { ...will, properties: { willDelayIntervalSeconds: 60 } },
  })
  client.drop()
  world.passSeconds(59)
  assert.deepEqual(willSubscriber.payloads, [])
  world.passSeconds(2)
  assert.deepEqual(willSubscriber.payloads, ['gone'])
})

test('[MQTT5-3.1.2-8] a will is published after its delay or at the end of the session, whichever is first', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const delayed = { ...will, properties: { willDelayIntervalSeconds: 600 } }
  world.connect('short', { cleanStart: false, sessionExpirySeconds: 10, will: delayed }).drop()
  world.passSeconds(9)
  assert.deepEqual(willSubscriber.payloads, [])
  world.passSeconds(2)
  assert.equal(willSubscriber.payloads.length, 1, 'its session expired')

  world.connect('without', { will: delayed }).drop()
  assert.equal(willSubscriber.payloads.length, 2, 'its session ended with its connection')

  const anew = world.connect('anew', { ...durable, will: delayed })
  anew.drop()
  anew.connect({ cleanStart: true, will: undefined })
  assert.equal(willSubscriber.payloads.length, 3, 'a clean start ended its session')
})

test('[MQTT5-3.1.2-8] a shorter session expiry in DISCONNECT with will message ends the delay earlier', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const delayed = { ...will, properties: { willDelayIntervalSeconds: 600 } }
  const client = world.connect('will-client', { ...durable, will: delayed })
  client.disconnect({ reasonCode: 0x04, properties: { sessionExpiryIntervalSeconds: 5 } })
  world.passSeconds(4)
  assert.deepEqual(willSubscriber.payloads, [])
  world.passSeconds(2)
  assert.deepEqual(willSubscriber.payloads, ['gone'])
})

test('[MQTT5-3.1.3-9] if the client reconnects within the will delay, the will is not published', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const delayed = { ...will, properties: { willDelayIntervalSeconds: 60 } }
  const client = world.connect('will-client', { ...durable, will: delayed })
  client.drop()
  world.passSeconds(59)
  client.connect({ will: undefined })
  assert.equal(world.records().filter(({ kind }) => kind === 'will').length, 0, 'the will is not stored any more')
  world.passSeconds(1_000)
  assert.deepEqual(willSubscriber.payloads, [])
})

test('[MQTT5-3.1.3-9] a takeover within the will delay prevents the will, too', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const delayed = { ...will, properties: { willDelayIntervalSeconds: 60 } }
  const client = world.connect('will-client', { ...durable, will: delayed })
  client.connect({ will: { ...delayed, payload: 'the second' } })
  world.passSeconds(1_000)
  assert.deepEqual(willSubscriber.payloads, [])
  client.drop()
  world.passSeconds(61)
  assert.deepEqual(willSubscriber.payloads, ['the second'])
})

test('[MQTT5-3.1.2-7] [MQTT5-3.1.2-8] a delayed will survives a restart of the broker', () => {
  for (const death of ['kill', 'power-loss'] as const) {
    const world = new World()
    const willSubscriber = world.connect('will-subscriber', { ...durable })
    willSubscriber.subscribe('wills')
    const delayed = { ...will, qos: 1 as const, properties: { willDelayIntervalSeconds: 60 } }
    world.connect('will-client', { ...durable, will: delayed }).drop()
    world.passSeconds(30)
    world.restart(death)
    willSubscriber.connect()
    assert.deepEqual(willSubscriber.payloads, [])
    world.passSeconds(31)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  }
})

test('[MQTT5-3.1.3-9] the will of a clean session is not published after the client reconnected after a crash, nor after the next crash', () => {
  const world = new World()
  const delayed = { ...will, properties: { willDelayIntervalSeconds: 60 } }
  const willClient = world.connect('will-client', { will: delayed })
  world.restart('power-loss')
  willClient.connect({ will: undefined })
  const willSubscriber = world.connect('will-subscriber', { ...durable })
  willSubscriber.subscribe('wills')
  world.restart('power-loss')
  willSubscriber.connect()
  world.passSeconds(1_000)
  assert.deepEqual(willSubscriber.payloads, [])
})

test('[MQTT5-3.1.3-10] user properties of a will keep their order', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const userProperties = [
    ['b', '1'],
    ['a', '2'],
    ['b', '1'],
    ['', ''],
  ] as const
  world.connect('will-client', { will: { ...will, properties: { userProperties } } }).drop()
  assert.deepEqual(willSubscriber.messages[0]?.properties?.userProperties, userProperties)
})

test('[MQTT5-3.1.2-8] [MQTT5-3.3.2-4] [MQTT5-3.3.2-15] [MQTT5-3.3.2-16] [MQTT5-3.3.2-20] a published will has its properties, but not its delay', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const properties = {
    payloadFormatIndicator: 1,
    contentType: 'text/plain',
    responseTopic: 'responses',
    correlationData: Buffer.from([0, 1, 2]),
  } as const
  const timed = { ...properties, messageExpiryIntervalSeconds: 60 }
  for (const carried of [properties, timed])
    world.connect('will-client', { will: { ...will, properties: { ...carried, willDelayIntervalSeconds: 0 } } }).drop()
  assert.deepEqual(
    willSubscriber.messages.map((message) => message.properties),
    [properties, timed],
  )
})

test('[MQTT5-3.1.2-8] [MQTT5-3.3.2-6] the expiry of a will begins when the will is published', () => {
  const world = new World()
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('wills')
  offlineClient.disconnect()
  const properties = { willDelayIntervalSeconds: 100, messageExpiryIntervalSeconds: 50 }
  world.connect('will-client', { ...durable, will: { ...will, qos: 1, properties } }).drop()
  world.passSeconds(100)
  world.passSeconds(20)
  offlineClient.connect()
  assert.equal(offlineClient.messages[0]?.properties?.messageExpiryIntervalSeconds, 30)
})

test('[MQTT5-3.8.3-3] with no local, a client does not get its own will after a reconnect', () => {
  for (const delaySeconds of [0, 10]) {
    const world = new World()
    const left = { ...will, qos: 1 as const, retain: true, properties: { willDelayIntervalSeconds: delaySeconds } }
    const [willClient, other] = ['will-client', 'other'].map((id) => world.connect(id, { ...durable, will: left }))
    for (const client of [willClient, other]) client?.subscribe('wills', { noLocal: true })
    willClient?.drop()
    world.passSeconds(11)
    willClient?.connect({ will: undefined })
    assert.deepEqual(willClient?.payloads, [])
    assert.deepEqual(other?.payloads, ['gone'])
  }
})

test('[MQTT5-3.2.2-12] a will above the Maximum QoS is refused', () => {
  const world = new World({ settings: { maximumQoS: 1 } })
  const client = world.client('will-client', { will: { ...will, qos: 2 } })
  assert.equal(client.connect()?.reasonCode, 0x9b)
  assert.equal(client.hasOpenConnection, false)
  assert.equal(world.client('other', { will: { ...will, qos: 1 } }).connect()?.reasonCode, 0)
})

for (const version of versions) {
  test(`[MQTT-3.1.4-5] [MQTT5-3.1.4-2] [bad-input 14] a will below $SYS/ is denied like a message to it (version ${version})`, () => {
    const world = new World()
    const subscriber = world.subscriber('$SYS/#')
    const forger = world.client('forger', { version, will: { topic: '$SYS/brokers', payload: 'forged', retain: true } })
    assert.equal(forger.connect()?.reasonCode, version === 5 ? 0x87 : 5)
    assert.equal(forger.hasOpenConnection, false)
    assert.deepEqual(subscriber.payloads, [])
    assert.equal(world.view.retainedMessages, 0)
    // These topics are not below $SYS/.
    for (const topic of ['$SYSTEM', '$CONTROL/x', 'a/$SYS/b']) {
      assert.equal(world.client(topic, { version, will: { ...will, topic } }).connect()?.reasonCode, 0, topic)
    }
  })
}

for (const version of versions) {
  test(`[MQTT-3.1.4-4] [MQTT5-3.1.4-5] the status message of a mosquitto bridge takes over no session, and reaches no subscriber (version ${version})`, () => {
    const world = new World()
    const subscriber = world.subscriber('$SYS/#')
    const notice = { topic: '$SYS/broker/connection/far.up/state', payload: '0', retain: true }
    const bridge = world.client('far.up', { version, will: notice })
    assert.equal(bridge.connect()?.reasonCode, 0)
    bridge.vanish()
    world.passSeconds(200)
    assert.deepEqual(subscriber.payloads, [])
    assert.equal(world.view.retainedMessages, 0)
  })
}

test('[MQTT5-3.2.2-13] a retained will is refused if retained messages are disabled', () => {
  const world = new World({ settings: { retainAvailable: false } })
  const client = world.client('will-client', { will: { ...will, retain: true } })
  assert.equal(client.connect()?.reasonCode, 0x9a)
  assert.equal(client.hasOpenConnection, false)
})

test('[MQTT5-3.14.4-3] DISCONNECT with a session expiry that is not allowed is a protocol error, and the will is published', () => {
  const world = new World()
  const willSubscriber = world.subscriber('wills')
  const client = world.connect('will-client', { will })
  client.wire?.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 10 } })
  world.settle()
  assertClosed(client, 'protocolError')
  assert.deepEqual(willSubscriber.payloads, ['gone'])
  assert.equal(world.view.findClient('will-client'), undefined)
})
