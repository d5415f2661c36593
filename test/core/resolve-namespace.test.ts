// Namespaces: their clients do not affect each other, and no message goes from one to another.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AccessRules } from '../../src/access/rules/access-rules.ts'
import { defaultAccessSettings } from '../../src/access/index.ts'
import {
  type ConnectionOrigin,
  resolveNamespace,
  createIdentity,
  type NamespaceSettings,
} from '../../src/core/index.ts'
import { reasonCodes, type TopicFilter } from '../../src/protocol/index.ts'
import { createNamespaceTable, type NamespaceLimits, NamespaceTable } from '../../src/shard/index.ts'
import type { HostTraits } from '../simulator/broker-host.ts'
import { World, type Client, type ConnectOptions, type WorldOptions } from '../simulator/world.ts'

const settings: NamespaceSettings = {
  sources: ['listener', 'username', 'certificate'],
  usernamePattern: { before: '', after: '/', isOpenBefore: false, isOpenAfter: true },
  certificateField: 'ou',
  isRequired: false,
}

/** Settings of a broker with namespaces: the topics of a namespace are inaccessible to others. */
function rules(): AccessRules {
  const world = { nowMs: () => 0, mayStay: () => true }
  return new AccessRules({ ...defaultAccessSettings.rules, hasNamespaces: true }, world)
}

function worldOf(changes: Partial<NamespaceSettings> = {}, options: WorldOptions = {}): World {
  return new World({
    shards: 1,
    ...options,
    host: { namespaces: { ...settings, ...changes }, permissions: rules(), ...options.host },
  })
}

/** The namespace is the part before the slash; without a slash there is none. */
function join(world: World, name: string, options: ConnectOptions = {}): Client {
  const [namespace, id] = name.includes('/') ? name.split('/') : [undefined, name]
  const username = namespace === undefined ? undefined : `${namespace}/${id}`
  const client = world.client(id ?? '', { ...(username === undefined ? {} : { username }), ...options })
  client.connect()
  return client
}

const topicsOf = (client: Client): string[] => client.messages.map(({ topic }) => topic)

describe('clients of different namespaces', () => {
  for (const version of [4, 5] as const) {
    test(`do not receive messages of each other, whatever they subscribe to (version ${version})`, () => {
      const world = worldOf()
      const [plant, shop, nobody] = ['plant/a', 'shop/b', 'c'].map((name) => join(world, name, { version }))
      for (const client of [plant, shop, nobody]) client?.subscribe(['#', '$share/g/+', '+/#'], { qos: 2 })
      for (const qos of [0, 1, 2] as const) plant?.publish('lamp', 'x', { qos })
      assert.deepEqual(topicsOf(plant).slice(0, 1), ['lamp'])
      assert.deepEqual(topicsOf(shop), [])
      assert.deepEqual(topicsOf(nobody), [])
    })
  }

  test('can have the same client ID: neither takes over the session of the other', () => {
    const world = worldOf()
    const one = join(world, 'plant/same', { cleanStart: false, sessionExpirySeconds: 100 })
    const other = join(world, 'shop/same', { cleanStart: false, sessionExpirySeconds: 100 })
    const third = join(world, 'same', { cleanStart: false, sessionExpirySeconds: 100 })
    for (const client of [one, other, third]) assert.equal(client.isConnected, true)
    assert.deepEqual(
      [...world.view.walkClients()].map(({ clientId }) => clientId),
      ['plant\0same', 'shop\0same', 'same'],
    )
    one.subscribe('lamp', { qos: 1 })
    one.disconnect()
    assert.deepEqual([...world.view.findSubscriptions('shop\0same').keys()], [])
    other.publish('lamp', 'of the shop', { qos: 1 })
    third.publish('lamp', 'without namespace', { qos: 1 })
    one.connect()
    assert.deepEqual(topicsOf(one), [])
  })

  test('have their own retained messages, wills, shared and exclusive subscriptions', () => {
    const world = worldOf({}, { settings: { exclusiveSubscriptionAvailable: true } })
    const plant = join(world, 'plant/a')
    const shop = join(world, 'shop/b')
    plant.publish('lamp', 'on', { retain: true, qos: 1 })
    shop.subscribe(['#', '$exclusive/lamp'], { qos: 1 })
    assert.deepEqual(topicsOf(shop), [])
    assert.deepEqual(plant.subscribe('$exclusive/lamp', { qos: 1 })?.reasonCodes, [1])
    assert.deepEqual(topicsOf(plant), ['lamp'])
    join(world, 'plant/will-client', { will: { topic: 'lamp', payload: 'gone' } }).drop()
    assert.deepEqual(topicsOf(plant), ['lamp', 'lamp'])
    assert.deepEqual(topicsOf(shop), [])
  })

  test('have their own $queue subscriptions, also those that the API makes', () => {
    const world = worldOf()
    const first = join(world, 'plant/a')
    const second = join(world, 'plant/b')
    const shop = join(world, 'shop/a')
    for (const client of [first, shop]) client.subscribe('$queue/job', { qos: 1 })
    const filter = '$share/$queue/job' as TopicFilter
    assert.equal(world.command({ name: 'subscribe', clientId: 'plant\0b', filter, qos: 1 })?.done, true)
    const author = join(world, 'plant/author')
    for (let count = 0; count < 10; count++) author.publish('job', `${count}`, { qos: 1 })
    assert.equal(first.messages.length + second.messages.length, 10)
    assert.ok(first.messages.length > 0 && second.messages.length > 0)
    assert.deepEqual(topicsOf(shop), [])
    assert.deepEqual(first.unsubscribe(['$queue/job'])?.reasonCodes ?? [0], [0])
  })

  test('receive their assigned client ID without the namespace', () => {
    const world = worldOf()
    const client = join(world, 'plant/', { username: 'plant/x' })
    assert.match(client.connack?.properties?.assignedClientIdentifier ?? '', /^auto-/)
  })

  test('resume their sessions after a restart', () => {
    const world = worldOf()
    const plant = join(world, 'plant/a', { cleanStart: false, sessionExpirySeconds: 3_600 })
    plant.subscribe('lamp', { qos: 1 })
    plant.disconnect()
    world.restart()
    join(world, 'plant/b').publish('lamp', 'for a', { qos: 1 })
    join(world, 'shop/b').publish('lamp', 'not for a', { qos: 1 })
    plant.connect()
    assert.deepEqual(plant.payloads, ['for a'])
  })
})

function arrivalOf(traits: Partial<ConnectionOrigin>): ConnectionOrigin {
  const nothing = { clientId: undefined, username: undefined, certificate: undefined, pskIdentity: undefined }
  return { port: 1, ...nothing, ...traits }
}

const shopCertificate = {
  commonName: 'x',
  subject: 'CN=x,OU=shop',
  serialNumber: '',
  fingerprint: '',
  der: new Uint8Array(),
}

describe('no client can get', () => {
  test('from no namespace to the topics of one, neither to publish nor to subscribe', () => {
    const world = worldOf()
    const plant = join(world, 'plant/a')
    plant.subscribe('#', { qos: 1 })
    const nobody = join(world, 'c')
    const denied = reasonCodes.notAuthorized
    assert.equal(nobody.publish('$ns/plant/lamp', 'x', { qos: 1 }).reasonCode, denied)
    const filters = ['$ns/#', '$ns/plant/lamp', '$share/g/$ns/plant/#', '$ns/+/lamp']
    assert.deepEqual(nobody.subscribe(filters, { qos: 1 })?.reasonCodes, [denied, denied, denied, denied])
    assert.deepEqual(topicsOf(plant), [])
  })

  test('from one namespace to the topics of the broker, or of another namespace', () => {
    const world = worldOf()
    const plant = join(world, 'plant/a')
    const denied = reasonCodes.notAuthorized
    assert.deepEqual(plant.subscribe(['$SYS/#', '$SYS/brokers'])?.reasonCodes, [denied, denied])
    assert.equal(plant.publish('$SYS/brokers', 'x', { qos: 1 }).reasonCode, denied)
    const shop = join(world, 'shop/b')
    shop.subscribe('#', { qos: 1 })
    plant.publish('$ns/shop/lamp', 'x', { qos: 1 })
    assert.deepEqual(topicsOf(shop), [])
  })

  test('into a namespace with a name that becomes a mount point', () => {
    const world = worldOf()
    world.host.traits.listener = { mountpoint: '${clientid}/' }
    const client = world.client('$ns')
    client.connect()
    assert.equal(client.isConnected, false)
  })

  test('into a namespace with a user name of another one', () => {
    const identity = createIdentity('c', 'shop/c', '10.0.0.1')
    const decision: HostTraits['decision'] = () => ({ decision: { allowed: true, identity }, afterMs: 0 })
    const world = worldOf({}, { host: { decision } })
    const client = join(world, 'plant/c')
    assert.equal(client.isConnected, false)
    assert.equal(join(world, 'shop/c').isConnected, true)
  })

  const foreigners: readonly {
    readonly name: string
    readonly username?: string
    readonly proved?: string
    readonly origin?: ConnectionOrigin
    readonly changes?: Partial<NamespaceSettings>
  }[] = [
    { name: 'a user name', username: 'shop/c' },
    { name: 'a user name that its token proves', username: 'c', proved: 'shop/c' },
    { name: 'the user name of its certificate', origin: arrivalOf({ username: 'shop/c' }) },
    { name: 'the identity of a pre-shared key', origin: arrivalOf({ pskIdentity: 'shop/c' }) },
    {
      name: 'the identity of a pre-shared key, whatever its user name,',
      username: 'plant/c',
      origin: arrivalOf({ pskIdentity: 'shop/c' }),
    },
    {
      name: 'a certificate',
      origin: arrivalOf({ certificate: shopCertificate }),
    },
    {
      name: 'a certificate, whatever its user name,',
      username: 'plant/c',
      origin: arrivalOf({ certificate: shopCertificate }),
      changes: { sources: ['username', 'certificate'] },
    },
  ]
  for (const version of [4, 5] as const)
    for (const { name, username, proved, origin, changes } of foreigners)
      test(`into a namespace through its listener, with ${name} of another one (version ${version})`, () => {
        const known = proved ?? username ?? origin?.username
        const identity = { ...createIdentity('plant\0c', known, '10.0.0.1'), authenticatedBy: 'x' }
        const decision: HostTraits['decision'] = () => ({ decision: { allowed: true, identity }, afterMs: 0 })
        const world = worldOf(changes, { host: { decision } })
        world.host.traits.listener = { namespace: 'plant' }
        if (origin !== undefined) world.host.traits.arrival = origin
        const client = world.client('c', { version, ...(username === undefined ? {} : { username }) })
        client.connect()
        assert.equal(client.isConnected, false)
        assert.deepEqual([...world.view.walkClients()], [])
      })

  test('into a namespace with U+0000 in the client ID or user name of its certificate', () => {
    for (const traits of [{ clientId: 'shop\0c' }, { clientId: '\0c' }, { username: 'shop\0c' }]) {
      const world = worldOf()
      world.host.traits.arrival = arrivalOf(traits)
      const client = world.client('c')
      client.connect()
      assert.equal(client.isConnected, false)
      assert.deepEqual([...world.view.walkClients()], [])
    }
  })

  test('a connection without a namespace, if one is required', () => {
    const world = worldOf({ isRequired: true })
    assert.equal(join(world, 'plant/a').isConnected, true)
    assert.equal(join(world, 'c').isConnected, false)
  })
})

describe('a client can connect', () => {
  test('to a listener of a namespace, with a user name of that namespace or of none', () => {
    const world = worldOf()
    world.host.traits.listener = { namespace: 'plant' }
    for (const username of ['plant/c', 'c', '../c', '$SYS/c']) {
      const client = world.client(username, { username })
      client.connect()
      assert.equal(client.isConnected, true, username)
    }
  })

  test('to a listener of a namespace, with any user name if nothing proves it', () => {
    const identity = { ...createIdentity('plant\0c', 'hall/c', '10.0.0.1'), authenticatedBy: 'anonymous' }
    const decision: HostTraits['decision'] = () => ({ decision: { allowed: true, identity }, afterMs: 0 })
    const world = worldOf({}, { host: { decision } })
    world.host.traits.listener = { namespace: 'plant' }
    const client = world.client('c', { username: 'hall/c' })
    client.connect()
    assert.equal(client.isConnected, true)
  })

  test('to a listener of another namespace, if user names come first in `namespaces.from`', () => {
    const world = worldOf({ sources: ['username', 'listener'] })
    world.host.traits.listener = { namespace: 'hall' }
    assert.equal(join(world, 'plant/a').isConnected, true)
    assert.deepEqual(
      [...world.view.walkClients()].map(({ clientId }) => clientId),
      ['plant\0a'],
    )
  })
})

describe('a message of a namespace', () => {
  test('reaches no client after namespaces are disabled again', () => {
    const denied = reasonCodes.notAuthorized
    for (const permissions of [
      rules(),
      new AccessRules(defaultAccessSettings.rules, { nowMs: () => 0, mayStay: () => true }),
    ]) {
      const world = new World({ shards: 1, host: { permissions } })
      const nobody = world.connect('c')
      const filters = ['$ns/#', '$ns/plant/lamp', '$share/g/$ns/plant/#', '$ns/+/lamp', 'lamp']
      assert.deepEqual(nobody.subscribe(filters, { qos: 1 })?.reasonCodes, [denied, denied, denied, denied, 1])
      for (const qos of [1, 2] as const)
        assert.equal(nobody.publish('$ns/plant/lamp', 'x', { qos, retain: true }).reasonCode, denied)
      nobody.publish('$ns/plant/lamp', 'x', { qos: 0, retain: true })
      const willClient = world.client('d', { will: { topic: '$ns/plant/lamp', payload: 'x', retain: true } })
      willClient.connect()
      assert.equal(willClient.isConnected, false)
      assert.equal(world.view.retainedMessages, 0)
      assert.equal(nobody.isConnected, true)
    }
  })
})

interface Limited {
  readonly table: NamespaceTable
  readonly world: World
}

function limited(limits: Partial<NamespaceLimits>): Limited {
  const shards = 1
  const memory = createNamespaceTable(shards)
  const table = new NamespaceTable(memory, { shards })
  table.setUsualLimits({ clients: undefined, retainedMessages: undefined, messagesPerSecond: undefined, ...limits })
  const quotas = (own: number): NamespaceTable => new NamespaceTable(memory, { shards, own })
  return { table, world: worldOf({}, { shards, host: { quotas } }) }
}

describe('the limits of a namespace', () => {
  test('on clients apply to all its clients together', () => {
    const { table, world } = limited({ clients: 2 })
    const [one, two] = ['plant/a', 'plant/b'].map((name) => join(world, name))
    const three = join(world, 'plant/c')
    assert.equal(three.isConnected, false)
    assert.equal(three.connack?.reasonCode, reasonCodes.quotaExceeded)
    assert.equal(join(world, 'plant/d', { version: 4 }).connack?.reasonCode, 3)
    assert.equal(join(world, 'shop/a').isConnected, true)
    assert.equal(join(world, 'a').isConnected, true)
    // A client that connects in its own namespace needs no other.
    assert.equal(join(world, 'plant/a').isConnected, true)
    assert.equal(one?.isConnected, false)
    assert.equal(table.readCounts('plant').clients, 2)
    two?.drop()
    three.connect()
    assert.equal(three.isConnected, true)
    table.setOwnLimits('plant', { clients: 'infinity', retainedMessages: undefined, messagesPerSecond: undefined })
    two?.connect()
    assert.equal(two?.isConnected, true)
    assert.deepEqual(table.readCounts('plant'), { clients: 3, retainedMessages: 0 })
  })

  test('on retained messages keep existing ones, which can be replaced', () => {
    const { table, world } = limited({ retainedMessages: 2 })
    const plant = join(world, 'plant/a')
    const keep = (topic: string, payload: string, expiry?: number): void =>
      void plant.publish(topic, payload, {
        qos: 1,
        retain: true,
        ...(expiry === undefined ? {} : { properties: { messageExpiryIntervalSeconds: expiry } }),
      })
    const kept = (): string[] => {
      const late = join(world, 'plant/late')
      late.subscribe('#')
      const found = late.messages.map(({ topic, payload }) => `${topic} ${payload}`).toSorted()
      late.disconnect()
      return found
    }
    keep('x', '1')
    keep('y', '1', 10)
    keep('z', '1')
    keep('x', '2')
    assert.deepEqual(kept(), ['x 2', 'y 1'])
    join(world, 'shop/a').publish('x', '1', { qos: 1, retain: true })
    assert.equal(world.view.retainedMessages, 3)
    world.passSeconds(11)
    keep('z', '2')
    assert.deepEqual(kept(), ['x 2', 'z 2'])
    keep('x', '')
    keep('w', '3')
    assert.deepEqual(kept(), ['w 3', 'z 2'])
    assert.equal(table.readCounts('plant').retainedMessages, 2)
    // A shard that restarts counts its sessions.
    table.freeShard(0)
    world.restart()
    assert.equal(table.readCounts('plant').retainedMessages, 2)
  })

  test('on messages per second apply to all its clients together, and no message is lost', () => {
    const { world } = limited({ messagesPerSecond: 10 })
    const subscriber = join(world, 'plant/listener')
    subscriber.subscribe('#', { qos: 1 })
    const clients = ['plant/a', 'plant/b'].map((name) => join(world, name))
    const other = join(world, 'shop/a')
    const reader = join(world, 'shop/b')
    reader.subscribe('#', { qos: 1 })
    for (let count = 0; count < 15; count++) for (const client of clients) client.publish('x', 'y', { qos: 1 })
    for (let count = 0; count < 10; count++) other.publish('x', 'y', { qos: 1 })
    const atOnce = subscriber.payloads.length
    assert.ok(atOnce >= 10 && atOnce <= 14, `${atOnce} came at once`)
    assert.equal(reader.payloads.length, 10, 'another namespace has its own limit')
    world.passSeconds(1)
    assert.ok(subscriber.payloads.length <= 26, `${subscriber.payloads.length} came within a second`)
    world.passSeconds(10)
    assert.equal(subscriber.payloads.length, 30)
  })
})

describe('the namespace of a client', () => {
  const signs = { listener: {}, arrival: undefined, username: undefined }
  const certificate = { commonName: 'x', subject: 'CN=x,OU=plant,O=ACME', serialNumber: '', fingerprint: '' }
  const arrival = {
    port: 1,
    clientId: undefined,
    username: undefined,
    certificate: { ...certificate, der: new Uint8Array() },
    pskIdentity: undefined,
  }

  test('is set by the first source that has a value', () => {
    const all = { listener: { namespace: 'hall' }, arrival, username: 'shop/x' }
    assert.equal(resolveNamespace(settings, all), 'hall')
    assert.equal(resolveNamespace({ ...settings, sources: ['username', 'listener'] }, all), 'shop')
    assert.equal(resolveNamespace({ ...settings, sources: ['certificate'] }, all), 'plant')
    assert.equal(resolveNamespace({ ...settings, sources: ['certificate'], certificateField: 'o' }, all), 'ACME')
    assert.equal(resolveNamespace({ ...settings, sources: [] }, all), undefined)
    assert.equal(resolveNamespace(settings, signs), undefined)
  })

  test('is set by the identity of a pre-shared key as by a user name, if the user name has none', () => {
    const keyed = { ...signs, arrival: { ...arrival, certificate: undefined, pskIdentity: 'plant/pump' } }
    assert.equal(resolveNamespace(settings, keyed), 'plant')
    assert.equal(resolveNamespace(settings, { ...keyed, username: 'pump' }), 'plant')
    assert.equal(resolveNamespace(settings, { ...keyed, username: 'shop/pump' }), 'shop')
    assert.equal(resolveNamespace(settings, { ...keyed, listener: { namespace: 'hall' } }), 'hall')
    assert.equal(resolveNamespace({ ...settings, usernamePattern: undefined }, keyed), undefined)
    assert.equal(resolveNamespace({ ...settings, sources: ['listener', 'certificate'] }, keyed), undefined)
    const odd = { ...signs, arrival: { ...keyed.arrival, pskIdentity: '../x' } }
    assert.equal(resolveNamespace(settings, odd), undefined)
  })

  test('is never a name that cannot be one topic level', () => {
    for (const username of ['+/x', '#/x', '$SYS/x', '/x', '../x', 'a\u0001b/x', 'x'.repeat(129) + '/x', 'ä/x'])
      assert.equal(resolveNamespace(settings, { ...signs, username }), undefined, username)
    const escaped = { ...arrival, certificate: { ...arrival.certificate, subject: 'CN=x\\,OU=shop,OU=plant' } }
    assert.equal(resolveNamespace({ ...settings, sources: ['certificate'] }, { ...signs, arrival: escaped }), 'plant')
    const hiding = { ...arrival, certificate: { ...arrival.certificate, subject: 'CN=x\\\\,OU=plant' } }
    assert.equal(
      resolveNamespace({ ...settings, sources: ['certificate'] }, { ...signs, arrival: hiding }),
      'plant',
      'a name that ends in a backslash hides nothing',
    )
  })

  test('does not exist for a bridge, which uses the names of its configuration', () => {
    assert.equal(
      resolveNamespace(settings, { ...signs, listener: { isInternal: true }, username: 'plant/x' }),
      undefined,
    )
  })

  test('is found in user names of either form', () => {
    const at = { before: '@', after: '', isOpenBefore: true, isOpenAfter: false }
    const of = (username: string): string | undefined =>
      resolveNamespace({ ...settings, usernamePattern: at }, { ...signs, username })
    assert.deepEqual([of('x@plant'), of('x@y@plant'), of('plant'), of('x@')], ['plant', 'plant', undefined, undefined])
    const inside = { before: 'ns-', after: '-user', isOpenBefore: false, isOpenAfter: false }
    const found = { ...signs, username: 'ns-plant-user' }
    assert.equal(resolveNamespace({ ...settings, usernamePattern: inside }, found), 'plant')
  })
})

describe('a namespace that is deleted', () => {
  test('deletes large wills that are being read from disk, and no client waits for them', () => {
    const world = worldOf({}, { settings: { maxWillBytesInMemory: 10 } })
    const [subscriber, other] = [join(world, 'plant/listener'), join(world, 'shop/listener')]
    for (const client of [subscriber, other]) client.subscribe('wills/#')
    for (const name of ['plant/a', 'shop/a']) {
      const will = { topic: 'wills/a', payload: 'gone, with many words', qos: 1 } as const
      join(world, name, { will, cleanStart: false, sessionExpirySeconds: 100 })
    }
    world.disk.holdReads()
    for (const client of world.clients.slice(-2)) client.drop()
    world.host.shards[0].handle({
      kind: 'command',
      requestId: 7,
      command: { name: 'end-sessions', namespace: 'plant', clientIds: [] },
    })
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(subscriber.payloads, [])
    assert.deepEqual(other.payloads, ['gone, with many words'])
    assert.equal(world.heldBytes('wills'), 0)
    assert.deepEqual(
      world.records().filter(({ kind }) => kind === 'will'),
      [],
    )
    assert.equal(join(world, 'plant/a').isConnected, true)
  })
})
