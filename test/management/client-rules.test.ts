// Rules and bans that are created over the API apply at once, also to connected clients.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { connectAsync, type ErrorWithReasonCode, type MqttClient } from 'mqtt'
import { type BrokerWithApi, shareConfigurableBroker } from './api.ts'
import { promised, refused } from './documented-responses.ts'

async function connect(t: TestContext, broker: BrokerWithApi, clientId: string): Promise<MqttClient> {
  const options = { clientId, username: `user of ${clientId}`, protocolVersion: 5, reconnectPeriod: 0 } as const
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, options)
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** The reason code of PUBACK. */
async function publishes(client: MqttClient, topic: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  client.publish(topic, 'x', { qos: 1 }, (error, packet) => {
    const { code } = (error ?? {}) as { code?: number }
    resolve(code ?? (packet as { reasonCode?: number } | undefined)?.reasonCode ?? 0)
  })
  return promise
}

const notAuthorized = 0x87
const banned = 0x8a

const sharedBroker = shareConfigurableBroker(['node.shards=2'])

describe('stored rules', () => {
  test('a rule applies to a connected client until it is deleted', async (t) => {
    const broker = await sharedBroker()
    const client = await connect(t, broker, 'pump/7')
    assert.notEqual(await publishes(client, 'plant/a'), notAuthorized)
    const rule = { clientid: 'pump/7', topic: 'plant/#', action: 'pub', access: 'deny' }
    const created = promised('create_acl', await broker.request('/api/v4/acl', { method: 'POST', body: rule }))
    assert.deepEqual(created, { code: 0, data: { ...rule, result: 'ok' } })
    assert.equal(await publishes(client, 'plant/a'), notAuthorized)
    const listed = promised('list_acl_clientid', await broker.request('/api/v4/acl/clientid'))
    assert.deepEqual(listed.data, [rule])
    assert.deepEqual(listed.meta, { page: 1, limit: 10_000, count: 1, hasnext: false })
    const path = '/api/v4/acl/clientid/pump%2F7'
    assert.deepEqual(promised('lookup_acl_clientid', await broker.request(path)).data, [rule])
    promised('delete_acl_clientid', await broker.request(`${path}/topic/plant%2F%23`, { method: 'DELETE' }))
    assert.notEqual(await publishes(client, 'plant/a'), notAuthorized)
    refused(await broker.request(`${path}/topic/plant%2F%23`, { method: 'DELETE' }), 'invalidParameter', 404)
    assert.deepEqual(promised('lookup_acl_clientid', await broker.request(path)).data, [])
  })

  test('rules of a batch keep their order: the first that matches decides', async (t) => {
    const broker = await sharedBroker()
    const client = await connect(t, broker, 'c')
    const body = [
      { username: 'user of c', topic: 'z/allowed', action: 'publish', access: 'allow' },
      { username: 'user of c', topic: '#', action: 'pubsub', access: 'deny' },
      { topic: 'a/#', action: 'sub', access: 'deny' },
      { topic: 'x', action: 'fly', access: 'deny' },
      { topic: 'a/#b', action: 'sub', access: 'deny' },
      { clientid: '', topic: 'x', action: 'sub', access: 'deny' },
      { topic: 'x', action: 'sub' },
      7,
    ]
    const { data } = promised('create_acl', await broker.request('/api/v4/acl', { method: 'POST', body }))
    const words = [
      'ok',
      'ok',
      'ok',
      '{error,action}',
      '{error,topic}',
      '{error,login}',
      '{error,access}',
      '{error,badarg}',
    ]
    assert.deepEqual(
      data.map(({ result }: { result: string }) => result),
      words,
    )
    assert.notEqual(await publishes(client, 'z/allowed'), notAuthorized)
    assert.equal(await publishes(client, 'other'), notAuthorized)
    const { data: rules } = promised(
      'list_acl_username',
      await broker.request('/api/v4/acl/username?_like_username=of'),
    )
    assert.deepEqual(
      rules.map(({ topic }: { topic: string }) => topic),
      ['z/allowed', '#'],
    )
    const denials = await broker.request('/api/v4/acl/username?access=deny&action=pubsub&topic=%23')
    assert.equal(promised('list_acl_username', denials).meta.count, 1)
    const { data: forAll } = promised('list_acl_all', await broker.request('/api/v4/acl/$all'))
    assert.deepEqual(forAll, [{ all: '$all', topic: 'a/#', action: 'sub', access: 'deny' }])
    promised('delete_acl_all', await broker.request('/api/v4/acl/$all/topic/a%2F%23', { method: 'DELETE' }))
    const ofUser = '/api/v4/acl/username/user%20of%20c'
    promised('delete_acl_username', await broker.request(`${ofUser}/topic/%23`, { method: 'DELETE' }))
    assert.equal(promised('lookup_acl_username', await broker.request(ofUser)).data.length, 1)
  })

  test('an invalid rule is refused with the code of its error', async () => {
    const broker = await sharedBroker()
    const create = (body: unknown) => broker.request('/api/v4/acl', { method: 'POST', body })
    const rule = { topic: 'a', action: 'pub', access: 'deny' }
    refused(await create({ ...rule, topic: undefined }), 'missingParameter')
    refused(await create({ ...rule, action: undefined }), 'missingParameter')
    refused(await create({ ...rule, access: 'perhaps' }), 'invalidParameter')
    refused(await create({ ...rule, clientid: 'a', username: 'b' }), 'invalidParameter')
    refused(await create({ ...rule, topic: 'a/#/b' }), 'invalidTopic')
    refused(await create({ ...rule, topic: 'a'.repeat(70_000) }), 'invalidTopic')
    refused(await create('nothing'), 'notJson')
    refused(await broker.request('/api/v4/acl/clientid?action=fly'), 'invalidParameter')
  })

  test('a rule with an unknown key is refused: without that key it could apply to all clients', async () => {
    const broker = await sharedBroker()
    const create = (body: unknown) => broker.request('/api/v4/acl', { method: 'POST', body })
    const rule = { topic: 'secret/#', action: 'sub', access: 'allow' }
    for (const key of ['client_id', 'Username', 'usernme', 'user', 'ipaddr', 'qos']) {
      const response = await create({ ...rule, [key]: 'bob' })
      refused(response, 'invalidParameter')
      assert.match(
        response.json.message,
        new RegExp(`^"${key}" in the body is unknown here: .*; use clientid, username, all,`),
      )
      const { data } = promised('create_acl', await create([{ ...rule, username: 'bob', [key]: 'bob' }]))
      assert.equal(data[0].result, '{error,badarg}')
    }
    assert.deepEqual(promised('list_acl_all', await broker.request('/api/v4/acl/$all')).data, [])
    const { data } = promised('create_acl', await create({ ...rule, all: '$all', qos: null, result: 'ok' }))
    assert.equal(data.all, '$all', 'a reply of the API can be sent back')
    promised('delete_acl_all', await broker.request('/api/v4/acl/$all/topic/secret%2F%23', { method: 'DELETE' }))
  })
})

describe('bans', () => {
  test('a ban disconnects matching clients at once, and refuses them until it is deleted', async (t) => {
    const broker = await sharedBroker()
    for (const [as, who] of [
      ['clientid', 'the client'],
      ['username', 'user of the client'],
      ['peerhost', '127.0.0.0/8'],
    ] as const) {
      const client = await connect(t, broker, 'the client')
      const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
      const before = Math.floor(Date.now() / 1_000)
      const created = await broker.request('/api/v4/banned', { method: 'POST', body: { as, who } })
      const { data: ban } = promised('create_banned', created)
      assert.ok(ban.at >= before && ban.until - ban.at === 300)
      assert.deepEqual(ban, { who, as, reason: '', by: 'user', at: ban.at, until: ban.until })
      await closed
      await assert.rejects(connect(t, broker, 'the client'), (error: ErrorWithReasonCode) => error.code === banned)
      assert.deepEqual(promised('list_banned', await broker.request('/api/v4/banned')).data, [ban])
      const path = `/api/v4/banned/${as}/${encodeURIComponent(who)}`
      promised('delete_banned', await broker.request(path, { method: 'DELETE' }))
      refused(await broker.request(path, { method: 'DELETE' }), 'invalidParameter', 404)
    }
    await connect(t, broker, 'the client')
  })

  test('a ban by flapping detection is listed, whichever shard created it, and can be deleted', async (t) => {
    const broker = await sharedBroker(['flapping_detect.enable=true', 'flapping_detect.max_count=2'])
    const names = ['flapper one', 'flapper two', 'flapper three', 'flapper four']
    for (const name of names) for (let time = 0; time < 2; time++) await (await connect(t, broker, name)).endAsync()
    const listed = async (): Promise<{ who: string; by: string; until: number; at: number }[]> =>
      promised('list_banned', await broker.request('/api/v4/banned?as=clientid')).data
    // A shard counts a disconnection when it notices the closed socket, which is later than `endAsync`.
    let bans = await listed()
    while (bans.length < names.length) bans = await listed()
    assert.deepEqual(bans.map(({ who }) => who).toSorted(), names.toSorted())
    assert.ok(bans.every(({ by, at, until }) => by === 'flapping detector' && until > at))
    await assert.rejects(connect(t, broker, 'flapper one'), (error: ErrorWithReasonCode) => error.code === banned)
    const path = '/api/v4/banned/clientid/flapper%20one'
    promised('delete_banned', await broker.request(path, { method: 'DELETE' }))
    refused(await broker.request(path, { method: 'DELETE' }), 'invalidParameter', 404)
    await connect(t, broker, 'flapper one')
    for (const name of names.slice(1)) {
      const banPath = `/api/v4/banned/clientid/${encodeURIComponent(name)}`
      promised('delete_banned', await broker.request(banPath, { method: 'DELETE' }))
    }
  })

  test('an expired ban is not listed', async () => {
    const broker = await sharedBroker()
    const ban = { as: 'clientid', who: 'old', at: 1, until: 2, reason: 'long ago', by: 'me' }
    assert.deepEqual(
      promised('create_banned', await broker.request('/api/v4/banned', { method: 'POST', body: ban })).data,
      ban,
    )
    const forEver = { as: 'username', who: 'u', until: null }
    promised('create_banned', await broker.request('/api/v4/banned', { method: 'POST', body: forEver }))
    const { data } = promised('list_banned', await broker.request('/api/v4/banned'))
    assert.deepEqual([data.length, data[0].who, data[0].until], [1, 'u', null])
  })

  test('an invalid ban is refused with the code of its error', async () => {
    const broker = await sharedBroker()
    const create = (body: unknown) => broker.request('/api/v4/banned', { method: 'POST', body })
    refused(await create({ as: 'clientid' }), 'missingParameter')
    refused(await create({ who: 'x' }), 'missingParameter')
    refused(await create({ as: 'dog', who: 'x' }), 'invalidParameter')
    refused(await create({ as: 'clientid', who: '' }), 'invalidParameter')
    refused(await create({ as: 'peerhost', who: 'nowhere' }), 'invalidParameter')
    refused(await create({ as: 'clientid', who: 'x', until: 'tomorrow' }), 'invalidParameter')
    refused(await create('{'), 'notJson')
    refused(await broker.request('/api/v4/banned/dog/x', { method: 'DELETE' }), 'invalidParameter')
  })
})
