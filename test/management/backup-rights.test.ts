// Archives do not bypass permissions: a caller cannot use them to read other namespaces or to manage accounts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, type ApiResponse, startBrokerWithApi } from './api.ts'

type Outcome = readonly [status: number, reason: string | undefined]

const outcomeOf = ({ status, json }: ApiResponse): Outcome => [status, json?.reason]

test('an API key without permission for accounts neither reads nor restores them in archives', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=1'] })
  const post = (path: string, body: unknown, as = administrator): Promise<ApiResponse> =>
    broker.request(`/api/v5/${path}`, { as, method: 'POST', body })
  const user = { username: 'ann', password: 'a long password' }
  assert.equal((await post('users', user)).status, 200)
  const { json: key } = await post('api_key', { name: 'program', desc: '', enable: true })
  const as = `${key.api_key}:${key.api_secret}`
  const { json: whole } = await post('data/export', undefined)
  const path = `data/files/${whole.filename}`
  await broker.request('/api/v5/users/ann', { method: 'DELETE' })

  await t.test(
    'the key cannot download or import an archive with accounts, whichever administrator created it',
    async () => {
      assert.deepEqual(outcomeOf(await broker.request(`/api/v5/${path}`, { as })), [403, 'FORBIDDEN'])
      assert.deepEqual(outcomeOf(await post('data/import', { filename: whole.filename }, as)), [403, 'FORBIDDEN'])
      const dry = { filename: whole.filename, dry_run: true }
      assert.deepEqual(outcomeOf(await post('data/import', dry, as)), [403, 'FORBIDDEN'])
      assert.deepEqual((await broker.request('/api/v5/users')).json.data.length, 1)
    },
  )

  await t.test('the key cannot import an archive with accounts that it uploaded itself', async () => {
    const bytes = await (
      await fetch(`${broker.url}/api/v5/${path}`, {
        headers: { authorization: `Basic ${Buffer.from(administrator).toString('base64')}` },
      })
    ).arrayBuffer()
    await broker.request(`/api/v5/${path}`, { method: 'DELETE' })
    const form = new FormData()
    form.append('anything', new Blob([bytes]), whole.filename)
    const authorization = `Basic ${Buffer.from(as).toString('base64')}`
    const sent = await fetch(`${broker.url}/api/v5/data/files`, {
      method: 'POST',
      headers: { authorization },
      body: form,
    })
    const { reason } = (await sent.json()) as { reason?: string }
    assert.ok(sent.status === 200 || reason === 'FORBIDDEN', `${sent.status} ${reason}`)
    const imported = await post('data/import', { filename: whole.filename }, as)
    assert.ok(imported.status === 403 || imported.status === 404, imported.text)
    assert.deepEqual((await broker.request('/api/v5/users')).json.data.length, 1)
  })

  await t.test('an export of the key contains no accounts, and the key can import it', async () => {
    const made = await post('data/export', undefined, as)
    assert.equal(made.status, 200, made.text)
    const verified = await post('data/verify', { filename: made.json.filename }, as)
    assert.equal(verified.status, 200, verified.text)
    const members = verified.json.data.members.map(({ name }: { name: string }) => name).join(' ')
    assert.doesNotMatch(members, /account|admin|api_key|api-key/)
    assert.equal((await broker.request(`/api/v5/data/files/${made.json.filename}`, { as })).status, 200)
    assert.equal((await post('data/import', { filename: made.json.filename }, as)).status, 200)
  })

  await t.test('the configuration does not bypass this permission', async () => {
    const change = (data: unknown, who = as): Promise<ApiResponse> =>
      broker.request('/api/v4/configuration/http_server', {
        as: who,
        method: 'POST',
        body: { data: { http_server: data } },
      })
    const issuer = { jwt: { issuer: 'somebody' } }
    for (const data of [{ auth_type: 'no_auth' }, { username: 'program' }, issuer]) {
      const { status, json, text } = await change(data)
      assert.deepEqual([status, json.code], [403, 103], text)
    }
    const text = await broker.request('/api/v4/config_update', {
      as,
      method: 'POST',
      body: 'http_server.auth_type = no_auth',
    })
    assert.equal(text.status, 403, text.text)
    assert.equal(
      (await change({ max_body: '2MB' })).status,
      200,
      'the key can change settings that do not concern accounts',
    )
    assert.equal((await change(issuer, administrator)).status, 200)
    // For this key a rollback is refused, because that version has another authentication of administrators.
    const { data: versions } = (await broker.request('/api/v4/configuration_history')).json
    const first = versions.map(({ number }: { number: number }) => number).toSorted((x: number, y: number) => x - y)[0]
    const back = await broker.request(`/api/v4/configuration_history/${first}/rollback`, { as, method: 'POST' })
    assert.equal(back.status, 403, back.text)
    assert.equal((await broker.request('/api/v4/brokers', { as: null })).status, 401)
    const own = await post('data/export', undefined, as)
    assert.equal((await post('data/import', { filename: own.json.filename }, as)).status, 200, own.text)
  })

  await t.test('restored accounts can log in as soon as the administrator gets the response', async () => {
    await post('users', { ...user, username: 'bob' })
    const { json } = await post('data/export', { table_sets: ['dashboard_users'] })
    await broker.request('/api/v5/users/bob', { method: 'DELETE' })
    const restored = await post('data/import', { filename: json.filename })
    assert.equal(restored.status, 200, restored.text)
    assert.equal((await broker.request('/api/v4/brokers', { as: 'bob:a long password' })).status, 200)
  })
})
