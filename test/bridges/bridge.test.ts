import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodePublish } from '../simulator/world.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'
import { connackIn, crafted, type PacketHandler } from './crafted.ts'

const outward = 'forwards = [{local_topic = "out/#", remote_topic = "", qos = 2}]'
const inward = 'subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]'

/** Every packet has a delay, so that there is a time between any two. */
const slow = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }

describe('a bridge', () => {
  for (const version of [3, 4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      test(`with MQTT ${version} forwards QoS ${qos} in both directions`, () => {
        const asPublished = 'forwards = [{local_topic = "out/#", remote_topic = ""}]'
        const world = new Bridged({ bridge: `${asPublished}, ${inward}, proto_ver = ${version}, clientid = c` })
        assert.equal(world.status.state, 'connected', world.status.lastError)
        const remote = world.remote.subscriber('out/#', { qos: 2 })
        const local = world.local.subscriber('in/#', { qos: 2 })
        world.local.publish('out/a', 'one', { qos })
        world.remote.publish('in/b', 'two', { qos })
        assert.deepEqual(remote.payloads, ['one'])
        assert.deepEqual(local.payloads, ['two'])
        assert.deepEqual([remote.messages[0]?.qos, local.messages[0]?.qos], [qos, qos])
        assert.equal(world.status.inFlight, 0)
        assert.equal(world.status.spooled, 0)
      })
    }
  }
})

describe('while the remote broker is unavailable', () => {
  test('messages are stored in the spool before PUBACK, and sent in order after the reconnect', () => {
    const world = new Bridged({ bridge: outward })
    const subscriber = world.remote.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
    subscriber.subscribe('out/#')
    world.remote.crash('kill')
    publishAll(world.local, 'out/a', payloads(50), 2)
    assert.equal(world.status.spooled, 50)
    world.remote.start()
    subscriber.connect()
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, payloads(50))
    assert.equal(world.status.spooled, 0)
  })

  test('a bridge that has never connected stores messages in the spool, too', () => {
    const world = new Bridged({ bridge: outward, remoteOptions: { starts: false } })
    assert.equal(world.status.state, 'waiting')
    publishAll(world.local, 'out/a', payloads(3), 1)
    world.remote.start()
    const subscriber = world.remote.subscriber('out/#')
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, payloads(3))
  })

  test('attempts have increasing intervals, up to the maximum, and different ones for two bridges', () => {
    const world = new Bridged({ bridge: `${outward}, backoff_max = 20s`, remoteOptions: { starts: false } })
    world.passSeconds(600)
    const { attempts } = world.status
    assert.ok(attempts >= 30 && attempts <= 70, `${attempts} attempts in 600 s`)
  })

  for (const policy of ['refuse', 'drop_newest', 'drop_oldest'] as const) {
    const what = {
      refuse: 'refuses publishers',
      drop_newest: 'drops its newest messages, and other bridges drop none',
      drop_oldest: 'drops its oldest messages, and other bridges drop none',
    }[policy]
    test(`a full spool ${what} (${policy})`, () => {
      const bridge = `${outward}, spool_max_messages = 3, spool_full_policy = ${policy}`
      const world = new Bridged({ bridge, remoteOptions: { starts: false } })
      const local = world.local.subscriber('#')
      const author = world.local.connect('author')
      const publications = payloads(5).map((payload) => author.publish('out/a', payload, { qos: 1 }))
      const isRefused = publications.map(({ reasonCode = 0 }) => reasonCode >= 0x80)
      assert.deepEqual(isRefused, [false, false, false, policy === 'refuse', policy === 'refuse'])
      assert.equal(local.payloads.length, policy === 'refuse' ? 3 : 5)
      assert.equal(world.status.spoolDropped, policy === 'refuse' ? 0 : 2)
      assert.deepEqual(world.status.spoolDrops, policy === 'refuse' ? {} : { 'storage-full': 2 })
      assert.equal(world.status.spooled, 3)
      world.remote.start()
      const subscriber = world.remote.subscriber('#')
      world.passSeconds(30)
      const kept = policy === 'drop_oldest' ? payloads(5).slice(2) : payloads(3)
      assert.deepEqual(subscriber.payloads, kept)
      assert.equal(author.publish('out/a', 'more', { qos: 1 }).reasonCode, 0)
      assert.deepEqual(subscriber.payloads, [...kept, 'more'])
    })
  }

  test('of a full spool with drop_oldest, the messages in flight stay, also after a restart', () => {
    const bridge = `${outward}, keepalive = 10s, spool_max_messages = 5, spool_full_policy = drop_oldest`
    const world = new Bridged({ bridge, remoteOptions: { settings: { receiveMaximum: 2 } } })
    const subscriber = world.remote.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
    subscriber.subscribe('out/#')
    world.stream?.fallIntoBlackHole()
    publishAll(world.local, 'out/a', payloads(4), 2)
    assert.equal(world.status.inFlight, 2)
    world.remote.crash('kill')
    world.restartLocal('kill')
    publishAll(world.local, 'out/a', payloads(6, 'n'), 2)
    world.passSeconds(20)
    assert.equal(world.status.spooled, 5)
    world.remote.start()
    subscriber.connect()
    world.passSeconds(60)
    assert.deepEqual(subscriber.payloads, ['m0', 'm1', 'n3', 'n4', 'n5'])
    assert.equal(world.status.spooled, 0)
  })

  test('the limit of a spool ends at once when it is removed, without a connection', () => {
    const world = new Bridged({ bridge: `${outward}, spool_max_messages = 3`, remoteOptions: { starts: false } })
    const author = world.local.connect('author')
    const isTaken = (): boolean => author.publish('out/a', 'more', { qos: 1 }).reasonCode === 0
    assert.deepEqual([isTaken(), isTaken(), isTaken(), isTaken()], [true, true, true, false])
    world.change(outward)
    assert.deepEqual([isTaken(), isTaken()], [true, true])
  })

  test('the limit of a spool holds after a restart, without a connection', () => {
    const bridge = `${outward}, spool_max_messages = 3, spool_full_policy = drop_newest`
    const world = new Bridged({ bridge, remoteOptions: { starts: false } })
    publishAll(world.local, 'out/a', payloads(2), 1)
    world.restartLocal('kill')
    publishAll(world.local, 'out/a', payloads(5, 'n'), 1)
    assert.equal(world.status.spooled, 3)
  })

  test('an expired message is not sent', () => {
    const world = new Bridged({ bridge: outward, remoteOptions: { starts: false } })
    world.local.publish('out/a', 'old', { qos: 1, properties: { messageExpiryIntervalSeconds: 10 } })
    world.local.publish('out/a', 'lasting', { qos: 1 })
    world.passSeconds(60)
    world.remote.start()
    const subscriber = world.remote.subscriber('out/#')
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, ['lasting'])
  })
})

describe('a bridge that is interrupted within an exchange', () => {
  for (const death of ['kill', 'power-loss'] as const) {
    test(`reconnects after its own ${death} and forwards QoS 2 once, at every step`, () => {
      for (let step = 0; step < 30; step++) {
        const world = new Bridged({ bridge: outward, network: slow })
        const subscriber = world.remote.subscriber('out/#')
        world.passSeconds(2)
        const author = world.local.connect('author', { cleanStart: false, sessionExpirySeconds: 1_000 })
        const publication = author.publish('out/a', 'one', { qos: 2 })
        world.local.passMs(step * 5)
        world.restartLocal(death)
        author.connect()
        world.passSeconds(60)
        assert.equal(publication.isComplete, true)
        assert.deepEqual(subscriber.payloads, ['one'], `killed after ${step * 5} ms`)
      }
    })

    test(`reconnects after a ${death} of the remote broker and forwards QoS 2 once, at every step`, () => {
      for (let step = 0; step < 30; step++) {
        const world = new Bridged({ bridge: outward, network: slow })
        const subscriber = world.remote.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
        subscriber.subscribe('out/#')
        world.passSeconds(2)
        world.local.publish('out/a', 'one', { qos: 2 })
        world.local.passMs(step * 5)
        world.remote.restart(death)
        subscriber.connect()
        world.passSeconds(60)
        assert.deepEqual(subscriber.payloads, ['one'], `killed after ${step * 5} ms`)
        assert.equal(world.status.spooled, 0)
      }
    })

    test(`receives QoS 2 from the remote broker once, whichever side has its ${death}, at every step`, () => {
      for (let step = 0; step < 30; step++) {
        for (const side of ['local', 'remote'] as const) {
          const world = new Bridged({ bridge: inward, network: slow })
          const subscriber = world.local.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
          subscriber.subscribe('in/#')
          world.passSeconds(2)
          world.remote.publish('in/a', 'one', { qos: 2 })
          world.local.passMs(step * 5)
          if (side === 'local') world.restartLocal(death)
          else world.remote.restart(death)
          if (side === 'local') subscriber.connect()
          world.passSeconds(60)
          assert.deepEqual(subscriber.payloads, ['one'], `${side} broker killed after ${step * 5} ms`)
        }
      }
    })
  }

  test('by a network that drops all packets notices it within 1.5 times the keep alive, and loses no message', () => {
    const world = new Bridged({ bridge: `${outward}, keepalive = 20s` })
    const subscriber = world.remote.subscriber('out/#')
    world.passSeconds(5)
    world.stream?.fallIntoBlackHole()
    publishAll(world.local, 'out/a', payloads(20), 2)
    world.passSeconds(30)
    assert.match(world.status.lastError ?? '', /silent/)
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, payloads(20))
  })

  test('sets DUP on messages that it sends again', () => {
    const world = new Bridged({ bridge: outward })
    const subscriber = world.remote.subscriber('out/#')
    world.stream?.fallIntoBlackHole()
    world.local.publish('out/a', 'one', { qos: 1 })
    world.passSeconds(300)
    assert.deepEqual(subscriber.payloads, ['one'])
    assert.equal(world.status.counters.sentAgain, 1)
  })
})

describe('a remote broker that has lost its session', () => {
  for (const who of ['the remote broker', 'both'] as const) {
    test(`gets all incomplete messages again, and later messages with the same packet identifiers are new (${who} failed)`, () => {
      let again = 0
      for (let step = 0; step < 30; step++) {
        const world = new Bridged({ bridge: `${outward}, ${inward}`, network: slow })
        const local = world.local.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
        local.subscribe('in/#')
        world.passSeconds(2)
        world.local.publish('out/a', 'one', { qos: 2 })
        world.remote.publish('in/a', 'first', { qos: 2 })
        world.local.passMs(step * 5)
        const isFinished = world.status.counters.acknowledged === 1 && world.status.spooled === 0
        if (who === 'both') world.killLocal('power-loss')
        world.replaceRemote()
        if (who === 'both') world.startLocal()
        if (who === 'both') local.connect()
        const subscriber = world.remote.subscriber('out/#')
        world.passSeconds(60)
        assert.ok(isFinished || subscriber.payloads.length === 1, `lost after ${step * 5} ms`)
        assert.ok(subscriber.payloads.length <= 1, `twice after ${step * 5} ms`)
        again += world.status.counters.sentAgain
        assert.equal(world.status.spooled, 0)
        publishAll(world.local, 'out/a', payloads(5), 2)
        publishAll(world.remote, 'in/a', payloads(5), 2)
        world.passSeconds(60)
        assert.deepEqual(
          subscriber.payloads.filter((payload) => payload !== 'one'),
          payloads(5),
        )
        assert.deepEqual(
          local.payloads.filter((payload) => payload !== 'first'),
          payloads(5),
          `replaced after ${step * 5} ms`,
        )
      }
      assert.ok(again > 0, 'messages that are sent again have DUP')
    })
  }

  test('leaves no state here: incomplete messages from it are released', () => {
    let begun = 0
    for (let step = 0; step < 20; step++) {
      const world = new Bridged({ bridge: inward, network: slow })
      const unreleased = (): number =>
        world.local.coreOf('').view.findInternalSession('$bridge/b')?.unreleased.length ?? 0
      world.passSeconds(2)
      world.remote.publish('in/a', 'one', { qos: 2 })
      world.local.passMs(step * 5)
      begun += unreleased()
      world.replaceRemote()
      world.passSeconds(30)
      assert.equal(unreleased(), 0)
    }
    assert.ok(begun > 0)
  })

  test('and a local broker that lost its data: the remote broker discards the old session', () => {
    const world = new Bridged({ bridge: outward, network: slow })
    const subscriber = world.remote.subscriber('out/#')
    world.passSeconds(2)
    world.local.publish('out/a', 'one', { qos: 2 })
    world.local.passMs(45)
    const again = new Bridged({ bridge: outward, remote: world.remote })
    again.local.publish('out/a', 'two', { qos: 2 })
    again.passSeconds(60)
    assert.ok(subscriber.payloads.includes('two'))
  })
})

describe('a message of the maximum size of this broker', () => {
  // The bridge makes it longer: with properties of 5.0, a prefix, a loop marker.
  const settings = { maxPacketBytes: 1_000 }

  test('is sent to the remote broker', () => {
    const world = new Bridged({ bridge: outward, world: { settings } })
    const subscriber = world.remote.subscriber('out/#')
    // Fixed header, length of the topic, topic, packet identifier.
    const largest = 'x'.repeat(1_000 - 3 - 2 - 'out/a'.length - 2)
    world.local.publish('out/a', largest, { qos: 1, version: 4 })
    assert.deepEqual(subscriber.payloads, [largest])
    assert.equal(world.status.counters.failures, 0)
  })

  test('is sent to the remote broker with many properties', () => {
    const world = new Bridged({ bridge: outward })
    const subscriber = world.remote.subscriber('out/#')
    world.local.publish('out/a', 'x', { qos: 1, properties: { userProperties: [['k', 'v'.repeat(32_700)]] } })
    assert.equal(world.status.counters.failures, 0)
    assert.deepEqual([subscriber.payloads, world.status.spooled], [['x'], 0])
  })

  test('is received from the remote broker', () => {
    const rules = 'subscription = [{remote_topic = "in/#", local_topic = "", prefix = "from/there/", qos = 2}]'
    const world = new Bridged({ bridge: rules, world: { settings } })
    const subscriber = world.local.subscriber('#')
    for (const bytes of [900, 980, 985, 986, 987, 988]) world.remote.publish('in/a', 'x'.repeat(bytes), { qos: 1 })
    const properties = { userProperties: [['k', 'v'.repeat(600)]] } as const
    world.remote.publish('in/a', 'x', { qos: 2, properties })
    world.remote.publish('in/a', 'last', { qos: 1 })
    assert.equal(world.status.counters.failures, 0)
    assert.equal(subscriber.payloads.at(-1), 'last')
    assert.ok(subscriber.payloads.length >= 7)
  })

  test('is received from the remote broker with all its properties', () => {
    const world = new Bridged({ bridge: inward })
    const subscriber = world.local.subscriber('#')
    world.remote.publish('in/a', 'x', { qos: 2, properties: { userProperties: [['k', 'v'.repeat(32_762)]] } })
    assert.equal(world.status.counters.failures, 0)
    assert.deepEqual(subscriber.payloads, ['x'])
  })
})

/** Accepts every client, and disconnects with the first message. */
const closesOnMessages: PacketHandler = (packet, send, close) => {
  if (packet.type === 'connect') send(connackIn(5))
  if (packet.type === 'publish') close()
}

describe('a message that the remote broker refuses', () => {
  // With the loop marker of this broker, its properties exceed the limit of the remote broker, which closes the connection.
  const tooMany = { userProperties: [['k', 'v'.repeat(32_762)]] } as const
  const twice =
    'forwards = [{local_topic = "out/#", remote_topic = ""}, {local_topic = "out/#", remote_topic = "twin"}]'
  const asPublished = 'forwards = [{local_topic = "out/#", remote_topic = ""}]'

  for (const [how, bridge] of [
    ['goes to one topic', asPublished],
    ['goes to two topics', twice],
  ] as const) {
    for (const qos of [1, 2] as const) {
      test(`is dropped, and all others arrive once, in order (QoS ${qos}, ${how})`, () => {
        const world = new Bridged({ bridge: `${bridge}, backoff_max = 2s`, network: slow })
        const subscriber = world.remote.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
        subscriber.subscribe('out/#')
        const author = world.local.connect('author')
        for (const payload of payloads(10)) author.publish('out/a', payload, { qos })
        author.publish('out/a', 'too much', { qos, properties: tooMany })
        for (const payload of payloads(10, 'n')) author.publish('out/a', payload, { qos })
        world.passSeconds(60)
        const received = qos === 2 ? subscriber.payloads : [...new Set(subscriber.payloads)]
        assert.deepEqual(received, [...payloads(10), ...payloads(10, 'n')])
        assert.equal(world.status.counters.dropped['refused-there'], 1)
        assert.deepEqual([world.status.state, world.status.spooled], ['connected', 0])
      })
    }
  }

  test('is dropped at QoS 0, and no other message', () => {
    const world = new Bridged({ bridge: `${asPublished}, backoff_max = 2s`, network: slow })
    const subscriber = world.remote.connect('listener', { cleanStart: false, sessionExpirySeconds: 1_000 })
    subscriber.subscribe('out/#')
    const author = world.local.connect('author')
    for (const payload of payloads(20)) {
      author.publish('out/a', 'too much', { qos: 0, properties: tooMany })
      author.publish('out/a', payload, { qos: 1 })
      world.passSeconds(3)
    }
    world.passSeconds(60)
    assert.deepEqual([...new Set(subscriber.payloads)], payloads(20))
    assert.equal(world.status.spooled, 0)
  })

  test('is kept if the remote broker closes the connection without a reason', () => {
    const world = new Bridged({ bridge: `${asPublished}, backoff_max = 1s`, crafted: crafted(closesOnMessages).accept })
    publishAll(world.local, 'out/a', payloads(3), 1)
    world.passSeconds(300)
    assert.equal(world.status.spooled, 3)
  })
})

test('a message of the remote broker with more properties than this broker accepts is skipped, and no other', () => {
  const much = { userProperties: [['k', 'v'.repeat(40_000)]] } as const
  const acknowledged: number[] = []
  const handlePacket: PacketHandler = (packet, send) => {
    if (packet.type === 'connect') send(connackIn(5))
    if (packet.type === 'puback' || packet.type === 'pubrec') acknowledged.push(packet.packetId)
    if (packet.type !== 'subscribe') return
    for (const [index, properties] of [undefined, much, undefined].entries())
      send(encodePublish({ topic: 'in/a', payload: `${index}`, qos: 1, packetId: index + 1, properties }, 5))
  }
  const world = new Bridged({ bridge: inward, crafted: crafted(handlePacket).accept, isBroken: () => true })
  const subscriber = world.local.subscriber('in/#')
  world.isBroken = () => false
  world.passSeconds(10)
  assert.deepEqual(
    [subscriber.payloads, acknowledged.toSorted((one, other) => one - other)],
    [
      ['0', '2'],
      [1, 2, 3],
    ],
  )
  assert.equal(world.status.counters.dropped['too-large'], 1)
})

test('a remote broker that stops responding is detected though many messages are published here', () => {
  const world = new Bridged({ bridge: `${outward}, keepalive = 10s` })
  world.stream?.fallIntoBlackHole()
  const author = world.local.connect('author')
  for (let second = 0; second < 16; second++) {
    author.publish('out/a', 'still', { qos: 1 })
    world.passSeconds(1)
  }
  assert.match(world.status.lastError ?? '', /silent for longer than the keep alive/)
})

test('a remote broker with a longer keep alive is detected as silent after the configured one', () => {
  for (const serverKeepAliveSeconds of [0, 600]) {
    const remoteOptions = { settings: { serverKeepAliveSeconds } }
    const world = new Bridged({ bridge: `${outward}, keepalive = 20s`, remoteOptions })
    world.passSeconds(100)
    assert.equal(world.status.state, 'connected')
    world.stream?.fallIntoBlackHole()
    world.passSeconds(30)
    assert.match(world.status.lastError ?? '', /silent/)
  }
})
