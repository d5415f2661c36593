// `transparent`: the bridge subscribes to the filters of local clients at the remote broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FilterTree } from '../../src/bridges/subscriptions/filter-tree.ts'
import {
  maxTransparentFilters,
  TransparentSubscriptions,
} from '../../src/bridges/subscriptions/transparent-subscriptions.ts'
import type { FilterChange } from '../../src/core/index.ts'
import type { QoS, TopicFilter } from '../../src/protocol/index.ts'
import { encode, World } from '../simulator/world.ts'
import { Stage } from '../simulator/stage.ts'
import { Bridged } from './bridged-brokers.ts'
import { crafted, granted, polite } from './crafted.ts'

const transparent = 'transparent = true, clientid = c, clean_start = false'

/** The subscriptions of the bridge at the remote broker, with their QoS. */
function subscribed(world: Bridged): Record<string, number> {
  const found = world.remote.coreOf('c').view.findSubscriptions('c')
  return Object.fromEntries([...found].map(([filter, { qos }]) => [filter, qos]))
}

const nothing = (): void => undefined

/** Longer than the time after which a filter without subscribers is removed. */
const aWhile = 7

describe('a transparent bridge', () => {
  for (const version of [3, 4, 5] as const) {
    test(`forwards messages for the filters of clients, with their own topic, with MQTT ${version}`, () => {
      const forwards = 'forwards = [{local_topic = "out", remote_topic = ""}]'
      const rules = 'subscription = [{remote_topic = "cmd/#", local_topic = "do/#", qos = 1}]'
      const world = new Bridged({ bridge: `proto_ver = ${version}, ${transparent}, ${forwards}, ${rules}` })
      const client = world.local.subscriber(['plant/+', 'do/#'], { qos: 1 })
      const other = world.local.subscriber('$share/g/line/#', { qos: 2 })
      const remote = world.remote.subscriber('out')
      world.passSeconds(1)
      assert.deepEqual(subscribed(world), { 'cmd/#': 1, 'plant/+': 1, 'do/#': 1, 'line/#': 2 })
      for (const topic of ['plant/7', 'cmd/stop', 'line/1/2', 'nobody']) world.remote.publish(topic, topic, { qos: 2 })
      world.local.publish('out', 'up', { qos: 1 })
      assert.deepEqual(
        client.messages.map(({ topic, payload, qos }) => `${topic} ${payload} ${qos}`),
        ['plant/7 plant/7 1', 'do/stop cmd/stop 1'],
      )
      assert.deepEqual(other.payloads, ['line/1/2'])
      assert.deepEqual(remote.payloads, ['up'])
      client.unsubscribe('plant/+')
      world.passSeconds(aWhile)
      assert.deepEqual(subscribed(world), { 'cmd/#': 1, 'do/#': 1, 'line/#': 2 })
      assert.deepEqual([world.status.passedOn, world.status.notPassedOn], [2, 0])
    })
  }

  test('subscribes once if one filter covers others, with the highest QoS, and to the others when that one is removed', () => {
    const world = new Bridged({ bridge: `${transparent}, subscription = [{remote_topic = "in/#", local_topic = ""}]` })
    const many = ['a/b', 'a/+', 'b', 'in/x', 'in/#'].map((filter, index) =>
      world.local.subscriber(filter, { qos: (index % 3) as QoS }),
    )
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { 'in/#': 1, 'a/+': 1, b: 2 })
    const all = world.local.subscriber('#', { qos: 0 })
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { '#': 2 })
    world.remote.publish('a/b', 'once', { qos: 2 })
    world.remote.publish('in/x', 'by the rule', { qos: 2 })
    assert.deepEqual(all.payloads, ['once', 'by the rule'])
    all.disconnect()
    world.passSeconds(aWhile)
    assert.deepEqual(subscribed(world), { 'in/#': 1, 'a/+': 1, b: 2 })
    for (const client of many) client.disconnect()
    world.passSeconds(aWhile)
    assert.deepEqual(subscribed(world), { 'in/#': 0 })
  })

  test('does not react to a client that disconnects and reconnects', () => {
    let packets = 0
    const remote = crafted(
      polite((packet, send) => {
        const response = granted(packet)
        if (response !== undefined) packets++
        if (response !== undefined) send(response)
      }),
    )
    const world = new Bridged({ bridge: transparent, crafted: remote.accept })
    const client = world.local.connect('flaps')
    for (let round = 0; round < 20; round++) {
      client.subscribe('a', { qos: 1 })
      world.passSeconds(1)
      client.unsubscribe('a')
      world.passSeconds(1)
    }
    assert.equal(packets, 1)
    world.passSeconds(aWhile)
    assert.equal(packets, 2)
  })

  test('subscribes for a thousand clients with few packets, and waits for SUBACK before the next ones', () => {
    const sizes: number[] = []
    const waiting: Buffer[] = []
    let respond = nothing
    const remote = crafted(
      polite((packet, send) => {
        if (packet.type === 'subscribe') sizes.push(packet.subscriptions.length)
        const reply = granted(packet)
        if (reply !== undefined) waiting.push(reply)
        respond = () => {
          for (const bytes of waiting.splice(0)) send(bytes)
        }
      }),
    )
    const world = new Bridged({ bridge: transparent, crafted: remote.accept })
    for (let index = 0; index < 1_000; index++) world.local.connect(`c${index}`).subscribe(`own/${index}`, { qos: 1 })
    world.passSeconds(2)
    assert.deepEqual(sizes, [64, 64, 64, 64])
    for (let round = 0; round < 10; round++) {
      respond()
      world.passSeconds(1)
    }
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      1_000,
    )
    assert.equal(sizes.length, 16)
  })

  for (const version of [4, 5] as const) {
    test(`subscribes to all filters again at a remote broker that lost the session, and to the difference otherwise (MQTT ${version})`, () => {
      const world = new Bridged({ bridge: `proto_ver = ${version}, ${transparent}` })
      const client = world.local.subscriber(['a', 'b'], { qos: 1 })
      world.passSeconds(1)
      world.replaceRemote()
      world.passSeconds(30)
      assert.deepEqual(subscribed(world), { a: 1, b: 1 })
      world.remote.publish('a', 'kept', { qos: 1, retain: true })
      world.remote.crash('kill')
      client.unsubscribe('b')
      client.subscribe('c', { qos: 2 })
      world.remote.start()
      world.passSeconds(40)
      assert.deepEqual(subscribed(world), { a: 1, c: 2 })
      // A repeated subscription of 3.1.1 would have sent the retained message again.
      assert.deepEqual(client.payloads, ['kept'])
    })
  }

  test('resumes its subscriptions after a restart, and removes those without subscribers', () => {
    const world = new Bridged({ bridge: transparent })
    const durable = { cleanStart: false, sessionExpirySeconds: 1_000 }
    const client = world.local.connect('durable', durable)
    client.subscribe(
      Array.from({ length: 200 }, (_, index) => `own/${index}`),
      { qos: 1 },
    )
    world.local.subscriber('gone', { qos: 1 })
    world.passSeconds(2)
    assert.equal(Object.keys(subscribed(world)).length, 201)
    world.remote.publish('own/7', 'kept', { qos: 1, retain: true })
    world.restartLocal('power-loss')
    client.connect()
    world.passSeconds(2)
    assert.ok('gone' in subscribed(world), 'the client may reconnect')
    world.passSeconds(aWhile)
    const found = subscribed(world)
    assert.equal('gone' in found, false)
    assert.equal(Object.keys(found).length, 200)
    assert.deepEqual(client.payloads, ['kept'])
  })

  test('stores its state also with a small maximum of subscriptions per client', () => {
    const forwards = 'forwards = [{local_topic = "x", remote_topic = ""}, {local_topic = "y", remote_topic = ""}]'
    const world = new Bridged({ bridge: `${transparent}, ${forwards}`, world: { settings: { maxSubscriptions: 1 } } })
    for (const filter of ['a', 'b', 'c']) world.local.subscriber(filter, { qos: 1 })
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { a: 1, b: 1, c: 1 })
    world.restartLocal('power-loss')
    world.passSeconds(aWhile)
    assert.deepEqual(subscribed(world), {})
    assert.equal(world.status.lastError, undefined)
  })

  test('subscribes to the covered filters if the remote broker refuses the covering one', () => {
    const remote = crafted(
      polite((packet, send) => {
        if (packet.type !== 'subscribe') return
        const codes = packet.subscriptions.map(({ filter, qos }) => (filter === '#' ? 0x87 : qos))
        for (const { filter } of packet.subscriptions) seen.push(filter)
        const { packetId } = packet
        send(encode({ type: 'suback', packetId, reasonCodes: codes, properties: undefined }, 5))
      }),
    )
    const seen: string[] = []
    const world = new Bridged({ bridge: transparent, crafted: remote.accept })
    world.local.subscriber(['#', 'a/b', 'c'])
    world.passSeconds(2)
    assert.deepEqual(seen, ['#', 'a/b', 'c'])
    assert.deepEqual([world.status.passedOn, world.status.notPassedOn], [2, 1])
    assert.match(world.status.lastError ?? '', /refused/)
    world.local.subscriber('d')
    world.passSeconds(30)
    assert.deepEqual(seen, ['#', 'a/b', 'c', 'd'])
  })

  test('can be enabled and disabled while it is connected', () => {
    const rules = 'clientid = c, subscription = [{remote_topic = "in/#", local_topic = ""}]'
    const world = new Bridged({ bridge: rules })
    const client = world.local.subscriber('a', { qos: 1 })
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { 'in/#': 0 })
    world.change(`${rules}, transparent = true`)
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { 'in/#': 0, a: 1 })
    world.remote.publish('a', 'one', { qos: 1 })
    world.change('clientid = c, transparent = true, subscription = [{remote_topic = "a", local_topic = "x"}]')
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { a: 1 })
    world.remote.publish('a', 'not as it is', { qos: 1 })
    world.change('clientid = c, transparent = true')
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), { a: 1 })
    world.remote.publish('a', 'two', { qos: 1 })
    world.change('clientid = c')
    world.passSeconds(1)
    assert.deepEqual(subscribed(world), {})
    assert.deepEqual(client.payloads, ['one', 'two'])
    assert.equal(world.status.counters.connects, 1)
  })

  test('and one in the opposite direction duplicate no message, and have no subscription for each other', () => {
    const stage = new Stage(1, false)
    const [left, right] = ['A', 'B'].map((name) => new World({ shards: 1, stage, host: { brokerName: name } }))
    assert.ok(left !== undefined && right !== undefined)
    const both = 'transparent = true, forwards = [{local_topic = "up/#", remote_topic = ""}]'
    const first = new Bridged({ bridge: `${both}, clientid = c`, brokerId: 'A', name: 'A', world: left, remote: right })
    const second = new Bridged({
      bridge: `${both}, clientid = d`,
      brokerId: 'B',
      name: 'B',
      world: right,
      remote: left,
    })
    const subscribers = [left, right].map((world) => world.subscriber(['x/#', 'up/#'], { qos: 2 }))
    first.passSeconds(2)
    for (const world of [left, right]) for (const topic of ['x/1', 'up/1']) world.publish(topic, 'm', { qos: 2 })
    first.passSeconds(30)
    for (const { messages } of subscribers) {
      const of = (wanted: string): number => messages.filter(({ topic }) => topic === wanted).length
      assert.equal(of('x/1'), 2)
      assert.ok(of('up/1') <= 4, `${of('up/1')} times`)
    }
    for (const subscriber of subscribers) subscriber.disconnect()
    first.passSeconds(aWhile)
    assert.deepEqual(subscribed(first), {})
    assert.equal(second.status.state, 'connected')
    assert.deepEqual([...left.coreOf('d').view.findSubscriptions('d')], [])
  })
})

function wants(from: number, to: number, qos: QoS | undefined): FilterChange[] {
  return Array.from({ length: to - from }, (_, index) => [`own/${from + index}` as TopicFilter, qos] as const)
}

test('filters above the limit wait, are reported, and leave when there is space', () => {
  const passedOn = new TransparentSubscriptions()
  passedOn.applyRules(true, [], 0)
  const passUntil = (endMs: number): void => {
    for (let nowMs = passedOn.dueAtMs; nowMs < endMs; nowMs = passedOn.dueAtMs) passedOn.tick(nowMs)
  }
  passedOn.addChanges({ changes: wants(0, maxTransparentFilters + 5, 1), isComplete: true, unreported: 2 }, 0)
  passUntil(1_000)
  assert.equal(passedOn.isFull, true)
  assert.deepEqual(passedOn.counts, { passedOn: maxTransparentFilters, notPassedOn: 7 })
  passedOn.addChanges({ changes: wants(0, 10, undefined), isComplete: true, unreported: 0 }, 1_000)
  passUntil(10_000)
  assert.deepEqual(passedOn.counts, { passedOn: maxTransparentFilters - 5, notPassedOn: 0 })
  assert.equal(passedOn.isFull, false)
  assert.equal(passedOn.tree.get(`own/${maxTransparentFilters + 4}` as TopicFilter), 1)
})

/** Clients subscribe and disconnect on one side, and both sides fail from time to time; then all faults end. */
function runScenario(seed: number): void {
  const stage = new Stage(seed, false)
  const { random } = stage
  const network = { minDelayMs: 0, maxDelayMs: random.pick([2, 100]), splits: true, capacityBytes: 4_096 }
  const local = new World({ shards: 1, stage })
  const remote = new World({ shards: 1, stage })
  const bridge = `proto_ver = ${random.pick([4, 5])}, keepalive = 10s, ${transparent},
    subscription = [{remote_topic = "r/#", local_topic = "own/#"}]`
  const world = new Bridged({ world: local, remote, network, bridge })
  const filters = ['#', 'a/#', 'a/b', 'a/+', '+/b', 'a', 'r/a', '+', '$share/g/a/b', 'c/d/e', 'r/#']
  const people = Array.from({ length: 6 }, (_, index) =>
    local.client(`p${index}`, index < 3 ? {} : { cleanStart: false, sessionExpirySeconds: 10_000 }),
  )
  for (let act = 0; act < 60; act++) {
    stage.after(random.between(0, 60_000), () => {
      const who = random.pick(people)
      if (!local.host.isRunning) return
      const filter = random.pick(filters)
      if (!who.hasOpenConnection) who.connect()
      else if (random.chance(0.5)) who.subscribe(filter, { qos: random.pick([0, 1, 2] as QoS[]) })
      else if (random.chance(0.8)) who.unsubscribe(filter)
      else who.disconnect()
    })
  }
  for (let fault = random.between(0, 5); fault > 0; fault--) {
    stage.after(random.between(1_000, 60_000), () => {
      const draw = random.fraction()
      if (draw < 0.3 && local.host.isRunning) world.restartLocal(random.pick(['kill', 'power-loss'] as const))
      else if (draw < 0.5 && remote.host.isRunning) remote.restart('kill')
      else if (draw < 0.7) world.stream?.fallIntoBlackHole()
      else world.stream?.destroy()
    })
  }
  local.passMs(60_000)
  for (const who of people) if (!who.hasOpenConnection) who.connect()
  local.passMs(120_000)
  assert.equal(world.status.state, 'connected')
  const wanted = people.flatMap(({ id }) => [...local.view.findSubscriptions(id)])
  const present = subscribed(world)
  // No filter is covered by another, none is missing, and none is superfluous.
  const tree = new FilterTree()
  for (const filter of Object.keys(present)) tree.set(filter as TopicFilter, 0)
  for (const filter of tree.keys())
    tree.visitCovering(filter, (other) => assert.fail(`${other} has ${filter} within it`))
  for (const topic of ['a', 'a/b', 'a/x', 'x/b', 'c/d/e', 'q/r/s']) {
    const isWanted = wanted.some(([filter]) => matches(filter, topic))
    const count = Object.keys(present).filter((filter) => matches(filter, topic)).length
    assert.equal(count > 0, isWanted, `${topic}: ${JSON.stringify(present)} for ${wanted.map(([one]) => one).join()}`)
    const before = new Map(people.map((who) => [who, who.messages.length]))
    remote.publish(topic, `last ${topic}`, { qos: 2 })
    local.passMs(2_000)
    for (const who of people) {
      const own = [...local.view.findSubscriptions(who.id).keys()].filter((filter) => !filter.startsWith('$share/'))
      const times = own.some((filter) => matches(filter, topic)) ? 1 : 0
      const received = who.messages.slice(before.get(who)).filter(({ payload }) => payload === `last ${topic}`)
      const shared = local.view.findSubscriptions(who.id).has('$share/g/a/b' as TopicFilter) ? 1 : 0
      assert.ok(
        received.length >= times && received.length <= times + shared,
        `${who.id} received ${topic} ${received.length} times`,
      )
    }
  }
}

function matches(filter: string, topic: string): boolean {
  const bare = filter.startsWith('$share/') ? filter.split('/').slice(2).join('/') : filter
  const [wanted, given] = [bare.split('/'), topic.split('/')]
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= given.length || (level !== '+' && level !== given[index])) return false
  }
  return wanted.length === given.length
}

test('scenarios of subscribers that connect and disconnect end with the wanted filters, once', () => {
  for (let seed = 1; seed <= 25; seed++) runScenario(seed)
})
