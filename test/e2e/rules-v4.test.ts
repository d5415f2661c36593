// Rules in the formats of EMQX 4 and of NanoMQ. They share one store with version 5 of the API and the configuration.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi } from '../management/api.ts'
import { HttpService } from './http-service.ts'

function republishTo(topic: string) {
  return { name: 'republish', params: { target_topic: topic, target_qos: 1 } }
}

function countsOf({ name, metrics }: { name: string; metrics: readonly Record<string, unknown>[] }): unknown[] {
  const [{ taken, success, failed }] = metrics
  return [name, taken, success, failed]
}

suite('rules of version 4', () => {
  const shared = shareBrokerWithApi({ set: ['node.shards=1'] })
  const startApi = async () => {
    const broker = await shared()
    return {
      broker,
      get: (path: string) => broker.request(`/api/v4${path}`),
      post: (path: string, body: object) => broker.request(`/api/v4${path}`, { method: 'POST', body }),
      put: (path: string, body: object) => broker.request(`/api/v4${path}`, { method: 'PUT', body }),
      remove: (path: string) => broker.request(`/api/v4${path}`, { method: 'DELETE' }),
    }
  }

  test('a rule with a web hook and a function is created, run, counted, changed and deleted with its action', async (t) => {
    const { broker, get, post, put, remove } = await startApi()
    const service = await HttpService.start(t)
    const hook = { url: `http://127.0.0.1:${service.port}`, headers: { authorization: 'Bearer hidden' } }
    const resource = await post('/resources', { type: 'web_hook', id: 'resource:hook', config: hook, description: 'd' })
    assert.equal(resource.status, 200, resource.text)
    assert.equal(resource.json.data.id, 'resource:hook')
    assert.doesNotMatch(resource.text, /hidden/)
    assert.equal((await get('/resource_status/resource:hook')).json.data.is_alive, true)
    const actions = [
      {
        name: 'data_to_webserver',
        params: { $resource: 'resource:hook', method: 'POST', path: '/x', payload_tmpl: '${payload}' },
      },
      { name: 'republish', params: { target_topic: 'out', target_qos: -1, payload_tmpl: '${payload}' } },
      { name: 'do_nothing', params: {} },
    ]
    const rawsql = 'SELECT payload, qos FROM "v4/in"'
    const created = await post('/rules', { rawsql, actions, description: 'first' })
    assert.equal(created.status, 200, created.text)
    const { id, created_at: createdAt, actions: shown } = created.json.data
    assert.match(id, /^rule:[0-9a-f]{8}$/)
    assert.ok(Math.abs(createdAt - Date.now()) < 60_000)
    assert.deepEqual(created.json.data.for, ['v4/in'])
    assert.deepEqual(
      shown.map(({ name }: { name: string }) => name),
      ['data_to_webserver', 'republish', 'do_nothing'],
    )
    assert.equal(shown[0].params.$resource, 'resource:hook')
    assert.equal(shown[0].params.payload_tmpl, '${payload}')
    assert.equal(shown[1].params.target_qos, -1)
    const bare = id.slice('rule:'.length)
    const inV5 = (await broker.request(`/api/v5/rules/${bare}`)).json
    assert.equal(inV5.sql, rawsql)
    assert.equal(inV5.actions[0], `http:${shown[0].id}`)

    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'v4-publisher' })
    t.after(() => client.end(true))
    await client.publishAsync('v4/in', 'hello', { qos: 1 })
    await service.until((received) => received.length === 1)
    assert.equal(service.received[0].body, 'hello')
    let found
    do found = (await get(`/rules/${id}`)).json.data
    while (found.actions[0].metrics[0].success !== 1)
    assert.deepEqual([found.metrics[0].matched, found.metrics[0].passed, found.metrics[0].failed], [1, 1, 0])
    for (const action of found.actions) {
      const { success, failed, taken } = action.metrics[0]
      assert.deepEqual([taken, success, failed], [1, 1, 0], action.name)
    }
    assert.deepEqual((await put(`/rules/${id}/reset_metrics`, {})).json, { code: 0 })
    assert.equal((await get(`/rules/${bare}`)).json.data.metrics[0].matched, 0)

    const inUse = await remove('/resources/resource:hook')
    assert.deepEqual([inUse.status, inUse.json.code], [400, 108], inUse.text)
    const disabled = await put(`/rules/${id}`, { enabled: false })
    assert.equal(disabled.json.data.enabled, false, disabled.text)
    assert.equal(disabled.json.data.description, 'first')
    assert.equal(disabled.json.data.actions.length, 3)
    const fewer = await put(`/rules/${id}`, { actions: [{ name: 'inspect', params: {} }] })
    assert.deepEqual(
      fewer.json.data.actions.map(({ name }: { name: string }) => name),
      ['inspect'],
    )
    assert.deepEqual((await broker.request('/api/v5/actions')).json, [])
    assert.deepEqual((await remove(`/rules/${id}`)).json, { code: 0 })
    const absent = await get(`/rules/${id}`)
    assert.deepEqual([absent.status, absent.json.code], [404, 108])
    assert.deepEqual((await remove('/resources/resource:hook')).json, { code: 0 })
  })

  test('a rule with queued results is deleted only with force=true', async (t) => {
    const { broker, post, remove, get } = await startApi()
    const service = await HttpService.start(t)
    service.statusFor = () => 503
    const config = { url: `http://127.0.0.1:${service.port}` }
    const { id: $resource } = (await post('/resources', { type: 'web_hook', config })).json.data
    const actions = [{ name: 'data_to_webserver', params: { $resource } }]
    const { id } = (await post('/rules', { rawsql: 'SELECT * FROM "full"', actions })).json.data
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'v4-full' })
    t.after(() => client.end(true))
    await client.publishAsync('full', 'x', { qos: 1 })
    await service.until((received) => received.length > 0)
    const refused = await remove(`/rules/${id}`)
    assert.deepEqual([refused.status, refused.json.code], [400, 108])
    assert.match(refused.json.message, /1 messages are stored .* force=true/)
    assert.deepEqual((await remove(`/rules/${id}?force=true`)).json, { code: 0 })
    assert.deepEqual((await get('/rules')).json.data, [])
    assert.deepEqual((await remove(`/resources/${$resource}`)).json, { code: 0 })
  })

  test('an invalid rule or resource is refused with the codes of version 4, and nothing is stored', async () => {
    const { broker, get, post, put } = await startApi()
    const cases: [
      string,
      Promise<{ status: number; json: { code: number; message: string } }>,
      number,
      number,
      RegExp,
    ][] = [
      ['SQL', post('/rules', { rawsql: 'SELECT FROM' }), 400, 108, /line 1, column/],
      ['no SQL', post('/rules', {}), 400, 107, /rawsql/],
      [
        'action',
        post('/rules', { rawsql: 'SELECT * FROM "a"', actions: [{ name: 'nope' }] }),
        400,
        108,
        /no action "nope"/,
      ],
      [
        'resource',
        post('/rules', {
          rawsql: 'SELECT * FROM "a"',
          actions: [{ name: 'data_to_webserver', params: { $resource: 'x' } }],
        }),
        400,
        108,
        /\$resource/,
      ],
      ['when', post('/rules', { rawsql: 'SELECT * FROM "a"', on_action_failed: 'wait' }), 400, 108, /on_action_failed/],
      ['absent', get('/rules/rule:none'), 404, 108, /no rule/],
      ['changed', put('/rules/rule:none', {}), 404, 108, /no rule/],
      ['type', post('/resources', { type: 'nope' }), 400, 108, /no type "nope"/],
      ['setting', post('/resources', { type: 'web_hook', config: { uri: 'x' } }), 400, 108, /uri/],
      ['absent resource', get('/resources/resource:none'), 404, 108, /no resource/],
    ]
    for (const [name, pending, status, code, message] of cases) {
      const response = await pending
      assert.deepEqual([response.status, response.json.code], [status, code], `${name}: ${response.json.message}`)
      assert.match(response.json.message, message)
    }
    assert.deepEqual((await broker.request('/api/v5/connectors')).json, [])
    assert.deepEqual((await broker.request('/api/v5/rules')).json.data, [])
  })

  test('SQL is tested and converted, events and types are listed', async () => {
    const { get, post } = await startApi()
    const run = (rawsql: string, ctx: object) => post('/rules?test=true', { rawsql, ctx })
    const passed = await run('SELECT payload.t AS t FROM "a/#" WHERE t > 20', { topic: 'a/b', payload: '{"t":21}' })
    assert.deepEqual(passed.json, { code: 0, data: { t: 21 } })
    const each = await run('FOREACH payload.list FROM "a"', { topic: 'a', payload: { list: [{ x: 1 }] } })
    assert.ok(Array.isArray(each.json.data), each.text)
    const noMatch = await run('SELECT * FROM "a" WHERE qos = 7', { topic: 'a' })
    assert.deepEqual([noMatch.status, noMatch.json.code, noMatch.json.reason], [404, 108, 'NOT_MATCH'])
    const event = await run('SELECT clientid FROM "$events/client_connected"', { clientid: 'c1' })
    assert.deepEqual(event.json, { code: 0, data: { clientid: 'c1' } })
    const wrong = await run('SELECT', {})
    assert.deepEqual([wrong.status, wrong.json.code], [400, 108])
    const converted = await post('/rules/convert', {
      rawsql: `SELECT * FROM "message.publish" WHERE topic =~ 't/#' and qos = 1`,
    })
    assert.equal(converted.json.data.rawsql, 'SELECT * FROM "t/#" WHERE qos = 1')
    assert.ok(
      (await get('/rule_events')).json.data.some((one: { event: string }) => one.event === '$events/client_connected'),
    )
    const names = (await get('/actions')).json.data.map((one: { name: string }) => one.name)
    for (const name of ['inspect', 'do_nothing', 'republish', 'data_to_webserver'])
      assert.ok(names.includes(name), name)
    assert.ok((await get('/resource_types')).json.data.some((one: { name: string }) => one.name === 'web_hook'))
    assert.equal((await get('/resource_types/web_hook')).json.data.connector, 'http')
  })

  test('actions of NanoMQ become a connector and an action with the next number', async () => {
    const { broker, get, post, put, remove } = await startApi()
    const params = { table: 'readings', username: 'u', password: 'secret', host: '127.0.0.1' }
    const rawsql = 'SELECT topic, payload.t AS temperature FROM "nano"'
    const made = await post('/rules', { rawsql, actions: [{ name: 'mysql', params }] })
    assert.deepEqual(made.json, { code: 0, data: { rawsql, id: 1, enabled: true }, actions: [] }, made.text)
    const second = await post('/rules', { rawsql, actions: [{ name: 'postgresql', params }] })
    assert.equal(second.json.data.id, 2)
    for (const path of ['/rules/rule:1', '/rules/1']) assert.equal((await get(path)).json.data.rawsql, rawsql)
    const action = (await broker.request('/api/v5/actions/mysql:nanomq_rule_1_0')).json
    assert.equal(action.parameters.sql, 'INSERT INTO readings (topic, temperature) VALUES (${topic}, ${temperature})')
    assert.doesNotMatch((await broker.request('/api/v5/connectors')).text, /secret/)
    assert.equal((await put('/rules/rule:1', { enabled: false })).json.data.enabled, false)
    const refusals: [object, number][] = [
      [{ name: 'mysql', params: { table: 'x' } }, 107],
      [{ name: 'mysql', params: { ...params, extra: 1 } }, 108],
      [{ name: 'mysql', params: { ...params, table: 'x; DROP' } }, 108],
    ]
    for (const [sent, code] of refusals) {
      const refused = await post('/rules', { rawsql, actions: [sent] })
      assert.deepEqual([refused.status, refused.json.code], [400, code], refused.text)
    }
    for (const id of [1, 2]) assert.deepEqual((await remove(`/rules/${id}?force=true`)).json, { code: 0 })
    assert.deepEqual((await broker.request('/api/v5/connectors')).json, [])
  })

  test('a connector is tested before its settings are stored', async (t) => {
    const { broker } = await startApi()
    const service = await HttpService.start(t)
    const probe = (what: string, body: object) => broker.request(`/api/v5/${what}_probe`, { method: 'POST', body })
    const url = `http://127.0.0.1:${service.port}`
    assert.equal((await probe('connectors', { type: 'http', url })).status, 204)
    service.stop()
    const refused = await probe('connectors', { type: 'http', url })
    assert.deepEqual([refused.status, refused.json.reason], [400, 'TEST_FAILED'], refused.text)
    const wrong = await probe('connectors', { type: 'http', url: 'ftp://x' })
    assert.match(wrong.json.message, /url/)
    const alone = await probe('actions', { type: 'http', connector: 'nowhere' })
    assert.match(alone.json.message, /connector not found: http:nowhere/)
    assert.deepEqual((await broker.request('/api/v5/connectors')).json, [])
  })

  test('with `on_action_failed: stop`, a failed action runs its fallbacks and no further action; it can be changed and deleted with its rule', async (t) => {
    const { broker, get, post, put, remove } = await startApi()
    const service = await HttpService.start(t)
    const config = { url: `http://127.0.0.1:${service.port}` }
    await post('/resources', { type: 'web_hook', id: 'resource:second', config })
    const hook = { name: 'data_to_webserver', params: { $resource: 'resource:second', payload_tmpl: '${payload}' } }
    const actions = [
      { ...republishTo('wrong/#'), fallbacks: [{ ...hook, fallbacks: [] }, republishTo('fallback')] },
      republishTo('never'),
    ]
    const created = await post('/rules', { rawsql: 'SELECT payload FROM "f/in"', actions, on_action_failed: 'stop' })
    assert.equal(created.status, 200, created.text)
    const { id, on_action_failed: whenFailed } = created.json.data
    assert.equal(whenFailed, 'stop')
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    t.after(() => client.end(true))
    const received: string[] = []
    client.on('message', (topic) => void received.push(topic))
    await client.subscribeAsync(['fallback', 'never', 'end'], { qos: 1 })
    await client.publishAsync('f/in', 'hello', { qos: 1 })
    await service.until((requests) => requests.length === 1)
    assert.equal(service.received[0].body, 'hello')
    let found
    do found = (await get(`/rules/${id}`)).json.data
    while (found.actions[0].fallbacks[0].metrics[0].success !== 1)
    assert.deepEqual(found.actions.map(countsOf), [
      ['republish', 1, 0, 1],
      ['republish', 0, 0, 0],
    ])
    assert.deepEqual(found.actions[0].fallbacks.map(countsOf), [
      ['data_to_webserver', 1, 1, 0],
      ['republish', 1, 1, 0],
    ])
    const bare = id.slice('rule:'.length)
    const inV5 = (await broker.request(`/api/v5/rules/${bare}`)).json
    assert.equal(inV5.on_action_failed, 'stop')
    assert.equal(inV5.actions[0].fallbacks.length, 2)
    // A change without `actions` keeps them, so the resource of the fallback is in use.
    assert.equal((await put(`/rules/${id}`, { description: 'd' })).json.data.on_action_failed, 'stop')
    assert.equal((await remove('/resources/resource:second')).status, 400)
    const changed = await put(`/rules/${id}`, { on_action_failed: 'continue' })
    assert.equal(changed.json.data.on_action_failed, 'continue', changed.text)
    await client.publishAsync('f/in', 'again', { qos: 1 })
    await client.publishAsync('end', '', { qos: 1 })
    while (received.at(-1) !== 'end') await new Promise((resolve) => client.once('message', resolve))
    assert.deepEqual(received.toSorted(), ['end', 'fallback', 'fallback', 'never'])
    await service.until((requests) => requests.length === 2)
    do found = (await get(`/rules/${id}`)).json.data
    while (found.actions[0].fallbacks[0].metrics[0].success !== 2)
    const nested = [{ ...republishTo('a'), fallbacks: [{ ...republishTo('b'), fallbacks: [republishTo('c')] }] }]
    const refused = await put(`/rules/${id}`, { actions: nested })
    assert.deepEqual([refused.status, refused.json.code], [400, 108], refused.text)
    assert.deepEqual((await remove(`/rules/${id}`)).json, { code: 0 })
    assert.deepEqual((await broker.request('/api/v5/actions')).json, [])
    assert.deepEqual((await remove('/resources/resource:second')).json, { code: 0 })
  })
})
