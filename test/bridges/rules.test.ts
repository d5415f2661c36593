import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Stage } from '../simulator/stage.ts'
import { World } from '../simulator/world.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'

describe('rules of a bridge', () => {
  test('each forward rule that matches sends one message, with its own QoS and retain flag', () => {
    const forwards = `forwards = [
      {local_topic = "plant/+/#", remote_topic = "all/+/#", prefix = "p/", suffix = "/s"},
      {local_topic = "plant/a/#", remote_topic = "one", qos = 1, retain = true},
      {local_topic = "plant/#", remote_topic = "", qos = 0}
    ]`
    const world = new Bridged({ bridge: forwards })
    const subscriber = world.remote.subscriber('#', { retainAsPublished: true })
    world.local.publish('plant/a/b', 'x', { qos: 2 })
    assert.deepEqual(
      subscriber.messages.map(({ topic, qos, retain }) => [topic, qos, retain]),
      [
        ['p/all/a/b/s', 2, false],
        ['one', 1, true],
        ['plant/a/b', 0, false],
      ],
    )
    assert.equal(world.status.spooled, 0)
  })

  test('the QoS of a forward rule applies to messages with a lower one, which are stored on disk like others', () => {
    const forwards = `forwards = [
      {local_topic = "a/#", remote_topic = "two", qos = 2}, {local_topic = "#", remote_topic = ""},
      {local_topic = "+/+", remote_topic = "one", qos = 1}]`
    const world = new Bridged({ bridge: forwards, remoteOptions: { starts: false } })
    for (const qos of [0, 1, 2] as const) world.local.publish('a/b', `q${qos}`, { qos })
    world.local.publish('c', 'plain', { qos: 0 })
    assert.equal(world.status.spooled, 3)
    world.restartLocal('power-loss')
    world.remote.start()
    const subscriber = world.remote.subscriber('#')
    world.passSeconds(30)
    const received = subscriber.messages.map(({ topic, payload, qos }) => `${payload} ${topic} ${qos}`)
    const expected = [0, 1, 2].flatMap((qos) => [`q${qos} two 2`, `q${qos} a/b ${qos}`, `q${qos} one 1`])
    assert.deepEqual(received, expected)
    assert.equal(world.status.spooled, 0)
  })

  test('a retained message is sent with the QoS of a new forward rule', () => {
    const world = new Bridged({ bridge: 'forwards = []' })
    world.local.publish('a', 'kept', { qos: 0, retain: true })
    const subscriber = world.remote.subscriber('#')
    world.change('forwards = [{local_topic = "a", remote_topic = "", qos = 2}]')
    world.passSeconds(1)
    assert.deepEqual(
      subscriber.messages.map(({ payload, qos }) => `${payload} ${qos}`),
      ['kept 2'],
    )
  })

  test('retry_qos_0: QoS 0 waits for the remote broker, and is sent with QoS 0', () => {
    for (const retries of [false, true]) {
      const bridge = `retry_qos_0 = ${retries}, forwards = [{local_topic = "#", remote_topic = ""}]`
      const world = new Bridged({ bridge, remoteOptions: { starts: false } })
      world.local.publish('a', 'one', { qos: 0 })
      world.local.publish('a', 'two', { qos: 1 })
      world.remote.start()
      const subscriber = world.remote.subscriber('#')
      world.passSeconds(30)
      const received = subscriber.messages.map(({ payload, qos }) => `${payload} ${qos}`)
      assert.deepEqual(received, retries ? ['one 0', 'two 1'] : ['two 1'])
      assert.equal(world.status.spooled, 0)
    }
  })

  test('max_send_queue_len and max_recv_queue_len limit the messages in flight, in both directions and versions', () => {
    for (const version of [4, 5]) {
      const bridge = `proto_ver = ${version}, max_send_queue_len = 3, max_recv_queue_len = 2,
        forwards = [{local_topic = "out", remote_topic = ""}], subscription = [{remote_topic = "in", local_topic = "", qos = 2}]`
      const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
      const world = new Bridged({ bridge, network })
      const [local, remote] = [world.local.subscriber('in'), world.remote.subscriber('out')]
      world.passSeconds(2)
      publishAll(world.remote, 'in', payloads(20), 2)
      for (const payload of payloads(20)) world.local.publish('out', payload, { qos: 1 })
      let most = 0
      for (let ms = 0; ms < 1_000; ms += 2) {
        most = Math.max(most, world.status.inFlight)
        world.local.passMs(2)
      }
      assert.equal(most, 3)
      assert.deepEqual(remote.payloads, payloads(20))
      assert.deepEqual(local.payloads, payloads(20))
    }
  })

  test('the retain flag of a subscription rule applies to its messages', () => {
    const subscription = 'subscription = [{remote_topic = "in/#", local_topic = "", qos = 1, retain = true}]'
    const world = new Bridged({ bridge: subscription })
    world.remote.publish('in/a', 'one', { qos: 1 })
    assert.deepEqual(world.local.subscriber('in/#').payloads, ['one'], 'the message is retained')
  })

  test('several messages from one are forwarded once each, whenever the bridge fails', () => {
    const forwards = `forwards = [
      {local_topic = "a/#", remote_topic = "one"}, {local_topic = "#", remote_topic = "two"}]`
    const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
    for (let step = 0; step < 30; step++) {
      const world = new Bridged({ bridge: forwards, network })
      const subscriber = world.remote.subscriber('#')
      world.passSeconds(2)
      const author = world.local.connect('author', { cleanStart: false, sessionExpirySeconds: 1_000 })
      author.publish('a/b', 'x', { qos: 2 })
      world.local.passMs(step * 5)
      world.restartLocal('power-loss')
      author.connect()
      world.passSeconds(60)
      const topics = subscriber.messages.filter(({ isRepeat }) => !isRepeat).map(({ topic }) => topic)
      assert.deepEqual(topics.toSorted(), ['one', 'two'], `killed after ${step * 5} ms`)
      assert.equal(world.status.spooled, 0)
    }
  })

  test('of two subscription rules for one filter, the first decides about the message, too', () => {
    const rules = ['{remote_topic = in, local_topic = one, qos = 2}', '{remote_topic = in, local_topic = two, qos = 0}']
    const world = new Bridged({ bridge: `subscription = [${rules.join()}]` })
    const subscriber = world.local.subscriber('#', { qos: 2 })
    world.remote.publish('in', 'x', { qos: 2 })
    world.change(`subscription = [${rules.toReversed().join()}]`)
    world.remote.publish('in', 'y', { qos: 2 })
    assert.deepEqual(
      subscriber.messages.map(({ topic, qos }) => [topic, qos]),
      [
        ['one', 2],
        ['two', 0],
      ],
    )
  })

  test('the first subscription rule that matches applies, and topics of the remote broker itself are not forwarded', () => {
    const subscription = `subscription = [
      {remote_topic = "in/a/#", local_topic = "first", qos = 2}, {remote_topic = "in/#", local_topic = "second", qos = 2},
      {remote_topic = "wild/#", local_topic = "#", qos = 1}]`
    const world = new Bridged({ bridge: subscription })
    const subscriber = world.local.subscriber('#')
    world.remote.publish('in/a/b', 'x', { qos: 1 })
    world.remote.publish('in/c', 'y', { qos: 1 })
    world.remote.publish('wild/$SYS/broker/version', 'z', { qos: 1 })
    const topics = subscriber.messages.map(({ topic }) => topic)
    assert.deepEqual([...new Set(topics)], ['first', 'second'])
    assert.equal(world.status.counters.dropped.unmappable, 1)
  })

  test('the Receive Maximum of the remote broker applies, however many messages are sent for one', () => {
    const forwards = `forwards = [
      {local_topic = "#", remote_topic = "one"}, {local_topic = "a", remote_topic = "two"},
      {local_topic = "+", remote_topic = "three"}]`
    const world = new Bridged({
      bridge: forwards,
      remoteOptions: { settings: { receiveMaximum: 2, maxAwaitingRelease: 2 } },
    })
    const subscriber = world.remote.subscriber('#')
    publishAll(world.local, 'a', payloads(20), 2)
    world.passSeconds(5)
    const payloadsOf = (name: string): readonly string[] =>
      subscriber.messages.filter(({ topic }) => topic === name).map(({ payload }) => payload)
    for (const topic of ['one', 'two', 'three']) assert.deepEqual(payloadsOf(topic), payloads(20), topic)
    assert.equal(world.status.counters.failures, 0, world.status.lastError)
  })

  test('a message above the Maximum QoS of the remote broker is sent with that, and is complete here', () => {
    const bridge = 'forwards = [{local_topic = "#", remote_topic = ""}]'
    const world = new Bridged({ bridge, remoteOptions: { settings: { maximumQoS: 1 } } })
    const subscriber = world.remote.subscriber('#')
    publishAll(world.local, 'a', payloads(5), 2)
    assert.deepEqual(subscriber.payloads, payloads(5))
    assert.equal(world.status.spooled, 0)
  })

  test('a message that is too large for the remote broker does not block the next ones', () => {
    const bridge = 'forwards = [{local_topic = "#", remote_topic = "longer/topic/than/it/was"}]'
    const world = new Bridged({ bridge, remoteOptions: { settings: { maxPacketBytes: 300 } } })
    const subscriber = world.remote.subscriber('#')
    publishAll(world.local, 'a', ['x'.repeat(290), 'small'], 2)
    assert.deepEqual(subscriber.payloads, ['small'])
    assert.equal(world.status.counters.dropped['too-large'], 1)
    assert.equal(world.status.spooled, 0)
  })
})

function subscriptionTo(filters: readonly string[]): string {
  const rules = filters.map((filter) => `{remote_topic = "${filter}", local_topic = "", qos = 1}`)
  return `subscription = [${rules.join(', ')}]`
}

describe('other settings', () => {
  const first = 'forwards = [{local_topic = "a/#", remote_topic = ""}], subscription = []'

  test('rules change without a new connection', () => {
    const world = new Bridged({ bridge: first })
    const subscriber = world.remote.subscriber('#')
    const local = world.local.subscriber('in/#')
    world.change(
      'forwards = [{local_topic = "b/#", remote_topic = ""}], subscription = [{remote_topic = "in/#", local_topic = "", qos = 1}]',
    )
    world.local.publish('a/x', 'no', { qos: 1 })
    world.local.publish('b/x', 'yes', { qos: 1 })
    world.remote.publish('in/x', 'back', { qos: 1 })
    assert.deepEqual(subscriber.payloads, ['yes', 'back'])
    assert.deepEqual(local.payloads, ['back'])
    world.change(first)
    world.remote.publish('in/x', 'gone', { qos: 1 })
    assert.deepEqual(local.payloads, ['back'])
    assert.equal(world.dialed.length, 1)
  })

  for (const version of [4, 5] as const) {
    test(`granted subscriptions are requested once, and removed when the remote broker is available again, MQTT ${version}`, () => {
      const connection = `proto_ver = ${version}, clientid = c`
      const world = new Bridged({ bridge: `${connection}, ${subscriptionTo(['one/#', 'two/#'])}` })
      const local = world.local.subscriber('#')
      world.remote.publish('one/a', 'kept', { qos: 1, retain: true })
      for (const death of ['kill', 'power-loss'] as const) {
        world.restartLocal(death)
        world.remote.restart(death)
        world.passSeconds(30)
      }
      local.connect()
      assert.equal(world.status.state, 'connected')
      assert.deepEqual(local.payloads, ['kept'], 'retained messages do not arrive with every connection')
      world.remote.crash('kill')
      world.change(`${connection}, ${subscriptionTo(['one/#', 'three/#'])}`)
      world.remote.start()
      world.passSeconds(30)
      const subscriber = world.local.subscriber('#')
      for (const topic of ['one/b', 'two/b', 'three/b']) world.remote.publish(topic, topic, { qos: 1 })
      const received = (): string[] => subscriber.payloads.filter((payload) => payload !== 'kept')
      assert.deepEqual(received(), ['one/b', 'three/b'])
      assert.equal(world.status.counters.dropped['no-rule'], 0)
      world.replaceRemote()
      world.passSeconds(30)
      for (const topic of ['one/c', 'three/c']) world.remote.publish(topic, topic, { qos: 1 })
      assert.deepEqual(received(), ['one/b', 'three/b', 'one/c', 'three/c'])
    })
  }

  test('any other change drains the messages in flight and reconnects; no message is lost or duplicated', () => {
    const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
    for (let step = 0; step < 12; step++) {
      const world = new Bridged({ bridge: first, network })
      const subscriber = world.remote.subscriber('#')
      world.passSeconds(2)
      publishAll(world.local, 'a/x', payloads(10), 2)
      world.local.passMs(step * 5)
      world.change(`${first}, keepalive = 30s`)
      publishAll(world.local, 'a/x', payloads(10, 'n'), 2)
      world.passSeconds(30)
      assert.deepEqual(subscriber.payloads, [...payloads(10), ...payloads(10, 'n')])
      assert.equal(world.status.counters.connects, 2)
      assert.equal(world.status.counters.failures, 0)
    }
  })

  test('a disabled bridge stores no new messages, and keeps the stored ones until it is enabled', () => {
    const world = new Bridged({ bridge: first, remoteOptions: { starts: false } })
    world.local.publish('a/x', 'before', { qos: 1 })
    world.change(`${first}, enable = false`)
    assert.equal(world.status.state, 'off')
    world.local.publish('a/x', 'meanwhile', { qos: 1 })
    world.remote.start()
    const subscriber = world.remote.subscriber('#')
    world.passSeconds(60)
    assert.equal(world.status.state, 'off')
    world.change(first)
    world.local.publish('a/x', 'after', { qos: 1 })
    assert.deepEqual(subscriber.payloads, ['before', 'after'])
  })

  test('a bridge with a new client ID leaves no session with the old one, and other bridges keep theirs', () => {
    const world = new Bridged({ bridge: `${first}, clientid = one` })
    world.change(`${first}, clientid = one, keepalive = 30s`)
    assert.deepEqual(sessionsThere(world, ['one', 'two']), [true, false])
    world.change(`${first}, clientid = two, keepalive = 30s`)
    assert.deepEqual(sessionsThere(world, ['one', 'two']), [false, true])
    const present = world.events.flatMap((event) => (event.event === 'connected' ? [event.sessionPresent] : []))
    assert.deepEqual(present, [false, true, false])
  })

  test('a removed bridge leaves no session', () => {
    const world = new Bridged({ bridge: first })
    world.bridge.remove()
    world.settle()
    assert.equal(world.local.view.sessions, 0)
    assert.equal(world.remote.view.sessions, 0)
    world.restartLocal('kill')
  })

  test('rules that change while the remote broker is unavailable apply to messages that are published from then on', () => {
    const world = new Bridged({ bridge: first, remoteOptions: { starts: false } })
    world.change('forwards = [{local_topic = "b/#", remote_topic = ""}]')
    world.local.publish('b/x', 'yes', { qos: 1 })
    world.remote.start()
    const subscriber = world.remote.subscriber('#')
    world.passSeconds(30)
    assert.deepEqual(subscriber.payloads, ['yes'])
  })
})

describe('messages in a loop', () => {
  const both =
    'forwards = [{local_topic = "#", remote_topic = ""}], subscription = [{remote_topic = "#", local_topic = "", qos = 2}]'

  for (const version of [4, 5] as const) {
    test(`over one bridge in both directions are dropped by No Local with MQTT ${version}`, () => {
      const world = new Bridged({ bridge: `${both}, proto_ver = ${version}` })
      const [local, remote] = [world.local.subscriber('#'), world.remote.subscriber('#')]
      world.local.publish('a', 'one', { qos: 1 })
      world.remote.publish('b', 'two', { qos: 1 })
      assert.deepEqual(local.payloads, ['one', 'two'])
      assert.deepEqual(remote.payloads, ['one', 'two'])
    })
  }

  test('over two bridges are dropped when they return to a broker', () => {
    const world = new Bridged({ bridge: both })
    const back = new Bridged({ bridge: both, brokerId: 'there', world: world.remote, remote: world.local })
    const [local, remote] = [world.local.subscriber('#'), world.remote.subscriber('#')]
    back.settle()
    world.local.publish('a', 'one', { qos: 1 })
    world.passSeconds(10)
    // Both bridges have the same rules, so each message arrives over each of them, and once as an echo.
    assert.ok(
      local.payloads.length <= 3 && remote.payloads.length <= 3,
      `${local.payloads.length}, ${remote.payloads.length}`,
    )
    assert.ok(world.status.counters.dropped.loop + back.status.counters.dropped.loop > 0)
  })

  for (const [count, version] of [2, 3].flatMap((count) => [3, 4, 5].map((version) => [count, version] as const))) {
    test(`over ${count} brokers are dropped before they return to their first broker (MQTT ${version})`, () => {
      const oneWay = 'forwards = [{local_topic = "#", remote_topic = "", qos = 2}]'
      for (const rules of [oneWay, both]) {
        const bridge = `${rules}, proto_ver = ${version}`
        const stage = new Stage(1, false)
        const names = ['A', 'B', 'C'].slice(0, count)
        const worlds = names.map((name) => new World({ shards: 1, stage, host: { brokerName: name } }))
        const bridges = names.map((brokerId, at) => {
          return new Bridged({ bridge, brokerId, name: brokerId, world: worlds[at], remote: worlds[(at + 1) % count] })
        })
        const subscribers = worlds.map((world) => world.subscriber('#'))
        for (const [at, world] of worlds.entries()) {
          world.publish('a', `from ${names[at]}`, { qos: 2 })
          world.passSeconds(5)
        }
        const most = rules === both ? 2 : 1
        for (const [at, { payloads: received }] of subscribers.entries()) {
          for (const name of names) {
            const times = received.filter((payload) => payload === `from ${name}`).length
            const ways = name === names[at] ? 1 : most
            assert.ok(times >= 1 && times <= ways, `${names[at]} received ${name} ${times} times`)
          }
        }
        assert.ok(bridges.some(({ status }) => status.counters.dropped.loop > 0))
      }
    })
  }

  test('through one broker to another are forwarded', () => {
    const outward = 'forwards = [{local_topic = "#", remote_topic = ""}]'
    const first = new Bridged({ bridge: 'subscription = [{remote_topic = "#", local_topic = "", qos = 2}]' })
    const second = new Bridged({ bridge: outward, world: first.local, name: 'c' })
    const subscriber = second.remote.subscriber('#')
    first.remote.publish('a', 'one', { qos: 2 })
    assert.deepEqual(subscriber.payloads, ['one'])
  })
})

function sessionsThere({ remote }: Bridged, clientIds: readonly string[]): readonly boolean[] {
  return clientIds.map((clientId) => remote.coreOf('').view.findInternalSession(clientId) !== undefined)
}
