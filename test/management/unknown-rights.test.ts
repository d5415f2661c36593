// An account never has more permissions than its request says, whatever keys the request uses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi()
const password = 'a long password'

const paths = [
  ['POST', '/api/v4/users', { username: 'eve', password }],
  ['PUT', '/api/v4/users/eve', { tags: 'viewer' }],
  ['POST', '/api/v4/apps', { app_id: 'eve' }],
  ['PUT', '/api/v4/apps/eve', {}],
  ['POST', '/api/v5/users', { username: 'eve', password }],
  ['PUT', '/api/v5/users/eve', {}],
  ['POST', '/api/v5/api_key', { name: 'eve', desc: '', enable: true }],
  ['PUT', '/api/v5/api_key/eve', {}],
] as const

test('an unknown key that could mean permissions is refused with its name and the remedy', async () => {
  const broker = await sharedBroker()
  const words =
    'roles Role ROLE scope permission permissions is_admin isAdmin admin superuser is_superuser tag Tags group'
  for (const [method, path, good] of paths) {
    for (const key of [...words.split(' '), 'access', 'read_only', 'rights', 'name-space', '__proto__role']) {
      const { status, json } = await broker.request(path, { method, body: { ...good, [key]: 'viewer' } })
      assert.deepEqual([status, json.code], [400, 108], `${method} ${path} ${key}`)
      assert.match(json.message, /could mean rights; use role, tags|could mean rights; use /, key)
      assert.ok(json.message.includes(JSON.stringify(key)))
    }
    const inQuery = await broker.request(`${path}?role=viewer`, { method, body: good })
    assert.deepEqual([inQuery.status, inQuery.json.code], [400, 108], `${path} in the query`)
  }
  const inV4 = { username: 'eve', password, namespace: 'plant' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body: inV4 })).status, 400)
  assert.equal((await broker.request('/api/v4/users')).json.data.length, 1, 'no account was created')
})

test('`role` and `tags` have the same meaning in both versions of the API', async () => {
  const broker = await sharedBroker()
  for (const [number, spelled] of [
    { role: 'viewer' },
    { tags: 'viewer' },
    { role: 'viewer', tags: 'viewer' },
  ].entries()) {
    for (const version of ['v4', 'v5']) {
      const username = `ann-${version}-${number}`
      const made = await broker.request(`/api/${version}/users`, {
        method: 'POST',
        body: { username, password, ...spelled },
      })
      assert.equal(made.status, 200, made.text)
      const { json } = await broker.request('/api/v4/users')
      assert.equal(json.data.find((user: { username: string }) => user.username === username).tags, 'viewer')
    }
    const app = await broker.request('/api/v4/apps', { method: 'POST', body: { app_id: `app-${number}`, ...spelled } })
    assert.equal(app.status, 200)
    assert.equal((await broker.request(`/api/v4/apps/app-${number}`)).json.data.tags, 'viewer')
    const key = { name: `key-${number}`, desc: '', enable: true, ...spelled }
    assert.equal((await broker.request('/api/v5/api_key', { method: 'POST', body: key })).json.role, 'viewer')
  }
  const change = await broker.request('/api/v4/users/ann-v4-0', { method: 'PUT', body: { role: 'administrator' } })
  assert.equal(change.status, 200)
  for (const version of ['v4', 'v5']) {
    const body = { username: 'bob', password, role: 'viewer', tags: 'administrator' }
    const { status, json } = await broker.request(`/api/${version}/users`, { method: 'POST', body })
    assert.deepEqual([status, json.code], [400, 108])
    assert.match(json.message, /role and tags in the body differ/)
  }
  assert.equal((await broker.request('/api/v4/users/ann-v4-0', { method: 'PUT', body: {} })).json.code, 107)
})

test('a record that the API returned is accepted unchanged: null means no restriction', async () => {
  const broker = await sharedBroker()
  const body = { username: 'carl', password, role: 'viewer', scopes: null, namespace: null }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body })).status, 200)
  const { json } = await broker.request('/api/v5/users')
  const record = json.data.find((user: { username: string }) => user.username === 'carl')
  assert.equal((await broker.request('/api/v5/users/carl', { method: 'PUT', body: record })).status, 200)
  const limited = { ...body, username: 'dora', scopes: ['clients:read'] }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body: limited })).status, 400)
})
