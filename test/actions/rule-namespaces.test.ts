// Rules of a namespace get only messages and events of their namespace, with the names that its clients use.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessRules } from '../../src/access/rules/access-rules.ts'
import { defaultAccessSettings } from '../../src/access/index.ts'
import { splitScopedName } from '../../src/core/index.ts'
import { parseTopicFilter } from '../../src/protocol/index.ts'
import {
  addFilterNamespace,
  createNamespaceHost,
  findTopicNamespace,
  addPublicationNamespace,
} from '../../src/actions/columns/namespaced-columns.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { republishTo, ruleWorld, toConsole } from './rule-world.ts'

const namespaces = {
  sources: ['username'] as const,
  usernamePattern: { before: '', after: '/', isOpenBefore: false, isOpenAfter: true },
  certificateField: undefined,
  isRequired: false,
}

function namespacedWorld() {
  const access = { nowMs: () => 0, mayStay: () => true }
  const permissions = new AccessRules({ ...defaultAccessSettings.rules, hasNamespaces: true }, access)
  const rulesWorld = ruleWorld({ shards: 1, host: { namespaces, permissions } })
  const join = (name: string) => {
    const [namespace, id = name] = name.includes('/') ? name.split('/') : [undefined, name]
    return rulesWorld.world.connect(id, namespace === undefined ? {} : { username: `${namespace}/${id}` })
  }
  return { ...rulesWorld, join }
}

const events = [
  'client_connected',
  'client_disconnected',
  'client_connack',
  'client_check_authn_complete',
  'client_check_authz_complete',
  'session_subscribed',
  'session_unsubscribed',
  'message_delivered',
  'message_acked',
  'message_dropped',
  'delivery_dropped',
]

test('events and messages of other namespaces, and of no namespace, run no rule of a namespace', () => {
  const { world, take, outputsOf, join } = namespacedWorld()
  const sql = `SELECT * FROM "#", "$ns/#", "$ns/shop/#", ${events.map((name) => `"$events/${name}"`).join(', ')}`
  take([{ id: 'all@plant', sql, actions: toConsole }])
  const act = (name: string): void => {
    const client = join(name)
    client.subscribe('lamp/#', { qos: 1 })
    client.publish('lamp/1', `by ${name}`, { qos: 1 })
    client.publish('nowhere', 'x', { qos: 1 })
    client.unsubscribe('lamp/#')
    client.disconnect()
    world.settle()
  }
  act('shop/a')
  act('b')
  assert.deepEqual(outputsOf('all@plant'), [])
  act('plant/c')
  const outputs = outputsOf('all@plant')
  const seen = new Set(outputs.map(({ event }) => event))
  for (const event of [
    'client.connected',
    'session.subscribed',
    'message.publish',
    'message.delivered',
    'message.acked',
  ])
    assert.ok(seen.has(event), event)
  for (const output of outputs) {
    assert.doesNotMatch(JSON.stringify(output), /\$ns\/|shop/)
    assert.deepEqual(output['metadata'], { rule_id: 'all' })
  }
  const topics = outputs.filter(({ topic }) => topic !== undefined).map(({ topic }) => topic)
  assert.deepEqual(new Set(topics), new Set(['lamp/1', 'nowhere', 'lamp/#']))
})

const forged = [
  '$ns/plant/lamp/1',
  '$ns/plant/$events/x',
  '$ns/plant/$delayed/0/x',
  '$delayed/0/$ns/plant/x',
  '$ns/plant/$bridges/x/y',
]

for (const version of [4, 5] as const)
  test(`a client outside a namespace runs no rule of it by what it is refused (version ${version})`, () => {
    const { world, take, outputsOf } = namespacedWorld()
    const sql = `SELECT * FROM ${events.map((name) => `"$events/${name}"`).join(', ')}`
    take([
      { id: 'all@plant', sql, actions: toConsole },
      { id: 'global', sql, actions: toConsole },
    ])
    for (const [name, username] of [
      ['outsider', undefined],
      ['neighbor', 'shop/neighbor'],
    ] as const) {
      const client = world.connect(name, { version, ...(username === undefined ? {} : { username }) })
      for (const topic of [...forged, '$bridges/mqtt:in@plant/x', '$event/plant'])
        for (const qos of [0, 1, 2] as const) {
          client.publish(topic, 'forged', { qos })
          world.settle()
          if (!client.isConnected) client.connect()
        }
      client.subscribe(['$ns/plant/#', '$share/g/$ns/plant/#', '$queue/$ns/plant/#'], { qos: 1 })
      client.unsubscribe('$ns/plant/#')
      client.disconnect()
      world.passSeconds(2)
    }
    assert.ok(outputsOf('global').some(({ event }) => event === 'message.dropped'))
    assert.deepEqual(outputsOf('all@plant'), [])
  })

test('the will of a client outside a namespace runs no rule of it', () => {
  const { world, take, outputsOf } = namespacedWorld()
  const sql = `SELECT * FROM ${events.map((name) => `"$events/${name}"`).join(', ')}`
  take([{ id: 'all@plant', sql, actions: toConsole }])
  for (const topic of forged) world.client('outsider', { will: { topic, payload: 'forged', qos: 1 } }).connect()
  world.settle()
  assert.deepEqual(outputsOf('all@plant'), [])
})

test('messages of a rule stay in its namespace, also delayed ones and those below topics of the broker', () => {
  const { world, take, join } = namespacedWorld()
  const targets = ['out', '$delayed/1/later', '$SYS/x', '$ns/shop/out', '$bridges/mqtt:in/x']
  take(
    targets.map((topic, place) => ({ id: `r${place}@plant`, sql: 'SELECT * FROM "in"', actions: republishTo(topic) })),
  )
  const [plant, shop, other] = ['plant/a', 'shop/b', 'c'].map(join)
  for (const client of [plant, shop, other]) client?.subscribe(['out', 'later', '$SYS/#', '$ns/#', '$bridges/#'])
  plant?.publish('in', 'x', { qos: 1 })
  world.passSeconds(2)
  const topicsOf = (client: typeof plant) => client?.messages.map(({ topic }) => topic).toSorted()
  assert.deepEqual([topicsOf(shop), topicsOf(other)], [[], []])
  assert.deepEqual(
    topicsOf(plant)?.filter((topic) => !topic.startsWith('$')),
    ['later', 'out'],
  )
})

test('stored values are those of the namespace, and the environment is not available', () => {
  const { take, outputsOf, join, world } = namespacedWorld()
  const put = 'SELECT kv_store_put(\'k\', clientid) as p FROM "put"'
  const get = 'SELECT kv_store_get(\'k\') as k FROM "get"'
  take(
    ['@plant', '@shop', ''].flatMap((suffix) => [
      { id: `put${suffix}`, sql: put, actions: toConsole },
      { id: `get${suffix}`, sql: get, actions: toConsole },
    ]),
  )
  const clients = ['plant/a', 'shop/b', 'c'].map(join)
  for (const client of clients) client.publish('put', 'x')
  for (const client of clients) client.publish('get', 'x')
  world.settle()
  assert.deepEqual(
    ['@plant', '@shop', ''].map((suffix) => outputsOf(`get${suffix}`)[0]?.['k']),
    ['a', 'b', 'c'],
  )
  const host = createNamespaceHost({ ...sampleHost(), readEnvironmentVariable: () => 'hidden' }, 'plant')
  assert.equal(host.readEnvironmentVariable('EMQXVAR_X'), undefined)
})

const within = (text: string) => addFilterNamespace('plant', parseTopicFilter(text) ?? assert.fail(text))

test('names, filters and topics of a namespace', () => {
  assert.deepEqual(splitScopedName('http:hook@plant.1'), { name: 'http:hook', namespace: 'plant.1' })
  assert.deepEqual(splitScopedName('a@b@plant'), { name: 'a@b', namespace: 'plant' })
  assert.deepEqual(splitScopedName('hook@'), { name: 'hook@', namespace: undefined })
  assert.equal(within('a/#'), '$ns/plant/a/#')
  assert.equal(within('$bridges/mqtt:in/#'), '$bridges/mqtt:in@plant/#')
  assert.equal(findTopicNamespace('$bridges/mqtt:in@plant/a'), 'plant')
  assert.equal(findTopicNamespace('$bridges/mqtt:in/a'), undefined)
  const publication = { payload: Buffer.alloc(0), qos: 0, retain: false, properties: undefined } as const
  assert.equal(
    addPublicationNamespace('plant', { ...publication, topic: '$delayed/5/a' }).topic,
    '$delayed/5/$ns/plant/a',
  )
})
