// Files of the backup directory over the API, and the rights to use archives: a caller cannot use them to read other namespaces or to manage
// accounts. Other tests cover the contents of archives, their export and their import.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatBasicAuthorization, createClient } from '../../src/contract/index.ts'
import { administrator, type ApiResponse, type BrokerWithApi, shareBrokerWithApi } from './api.ts'
import { sendBytes, statusIn } from './http.ts'
import { endpoints } from '../../src/api/endpoints.ts'

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=1'] })

type Check = (broker: BrokerWithApi) => Promise<void>

const checks: [name: string, run: Check][] = []
const check = (name: string, run: Check): void => void checks.push([name, run])

/** One broker for all checks. The backup directory is removed after each of them. */
test('files of the backup directory are listed, uploaded, downloaded and deleted over the API, with all roles and invalid names', async (t) => {
  const broker = await sharedBroker()
  for (const [name, run] of checks) {
    await t.test(name, () => run(broker))
    rmSync(join(broker.dataDirectory, 'backup'), { recursive: true, force: true })
  }
})

type Outcome = readonly [status: number, code: number, reason: string | undefined]

const outcomeOf = ({ status, json }: ApiResponse): Outcome => [status, json.code, json.reason]
const basic = (as: string): string => `Basic ${Buffer.from(as).toString('base64')}`

async function* content(): AsyncGenerator<Uint8Array> {
  for (let piece = 0; piece < 100; piece++) yield Buffer.alloc(10_000, 'x')
}

function putFile(broker: BrokerWithApi, name: string, content: string, ...folder: string[]): void {
  const path = join(broker.dataDirectory, 'backup', ...folder)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, name), content)
}

async function upload(broker: BrokerWithApi, form: FormData, as = administrator, query = ''): Promise<ApiResponse> {
  const headers = { authorization: basic(as) }
  const response = await fetch(`${broker.url}/api/v5/data/files${query}`, { method: 'POST', headers, body: form })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

function formWith(name: string, field = 'filename', content = 'no archive'): FormData {
  const form = new FormData()
  form.append(field, new Blob([content]), name)
  return form
}

async function makeUser(broker: BrokerWithApi, username: string, role: string): Promise<string> {
  const body = { username, password: 'a long password', role }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body })).status, 200)
  return `${username}:a long password`
}

check('files are listed in pages, the newest first, with node, time and size', async (broker) => {
  assert.deepEqual((await broker.request('/api/v5/data/files')).json, {
    code: 0,
    data: [],
    meta: { page: 1, limit: 100, count: 0, hasnext: false },
  })
  for (const name of ['a.tar.gz', 'b.tar.gz', 'c.tar.gz']) putFile(broker, name, name)
  const { data, meta } = (await broker.request('/api/v5/data/files?page=1&limit=2')).json
  assert.deepEqual(meta, { page: 1, limit: 2, count: 3, hasnext: true })
  assert.deepEqual(Object.keys(data[0]), ['filename', 'node', 'created_at', 'created_at_sec', 'size'])
  assert.equal(data[0].size, 8)
  assert.match(data[0].created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/)
  assert.equal(Math.floor(Date.parse(data[0].created_at) / 1_000), data[0].created_at_sec)
  for (const wrong of ['page=0', 'limit=0', 'limit=10001', 'page=x'])
    assert.deepEqual(outcomeOf(await broker.request(`/api/v5/data/files?${wrong}`)), [400, 108, 'BAD_REQUEST'], wrong)
})

check('a file is downloaded unchanged and deleted; afterwards it is 404', async (broker) => {
  const content = 'x'.repeat(300_000)
  putFile(broker, 'a.tar.gz', content)
  const found = await broker.request('/api/v5/data/files/a.tar.gz')
  assert.equal(found.headers.get('content-type'), 'application/octet-stream')
  assert.equal(found.headers.get('content-disposition'), null)
  assert.equal(found.text, content)
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/data/files/a.tar.gz?node=elsewhere')), [
    400,
    108,
    'BAD_REQUEST',
  ])
  const otherNode = await broker.request('/api/v5/data/files/a.tar.gz?node=elsewhere', { method: 'DELETE' })
  assert.deepEqual(outcomeOf(otherNode), [400, 108, 'BAD_REQUEST'])
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/data/files/a.tar.gz', { method: 'DELETE' })), [
    200,
    0,
    undefined,
  ])
  for (const method of ['GET', 'DELETE'] as const)
    assert.deepEqual(outcomeOf(await broker.request('/api/v5/data/files/a.tar.gz', { method })), [
      404,
      108,
      'NOT_FOUND',
    ])
})

check('no file name reaches a file outside of the backup directory', async (broker) => {
  putFile(broker, 'a.tar.gz', 'x')
  writeFileSync(join(broker.dataDirectory, 'outside.tar.gz'), 'not yours')
  symlinkSync(join(broker.dataDirectory, 'outside.tar.gz'), join(broker.dataDirectory, 'backup', 'link.tar.gz'))
  const names = [
    '..%2foutside.tar.gz',
    '%2e%2e%2foutside.tar.gz',
    '..%5coutside.tar.gz',
    encodeURIComponent(join(broker.dataDirectory, 'outside.tar.gz')),
    'a.tar.gz%00',
    '%00.tar.gz',
    `${'a'.repeat(300)}.tar.gz`,
    '%ef%bc%8e%ef%bc%8e%2foutside.tar.gz',
    '..tar.gz',
    'a.tar',
    'link.tar.gz',
  ]
  for (const name of names) {
    for (const method of ['GET', 'DELETE'] as const) {
      const { status, text } = await broker.request(`/api/v5/data/files/${name}`, { method })
      assert.ok(status === 400 || status === 404, `${method} ${name}: ${status}`)
      assert.doesNotMatch(text, /not yours/)
    }
    const body = { filename: decodeURIComponent(name) }
    for (const path of ['import', 'verify']) {
      const { status } = await broker.request(`/api/v5/data/${path}`, { method: 'POST', body })
      assert.ok(status >= 400, `${path} ${name}: ${status}`)
    }
  }
  for (const name of ['../outside.tar.gz', '/tmp/x.tar.gz', '..\\x.tar.gz', 'a\u0000.tar.gz'])
    assert.deepEqual(outcomeOf(await upload(broker, formWith(name))), [400, 108, 'BAD_REQUEST'], name)
  assert.equal(readFileSync(join(broker.dataDirectory, 'outside.tar.gz'), 'utf8'), 'not yours')
  const { data } = (await broker.request('/api/v5/data/files')).json
  assert.deepEqual(
    data.map(({ filename }: { filename: string }) => filename),
    ['a.tar.gz'],
  )
})

check('an upload that is not a form with a named archive is refused, and no file is stored', async (broker) => {
  const post = (headers: Record<string, string>, body: string): Promise<ApiResponse> =>
    broker.request('/api/v5/data/files', { method: 'POST', headers, body })
  const form = (text: string): Promise<ApiResponse> => post({ 'content-type': 'multipart/form-data; boundary=b' }, text)
  const bad = {
    JSON: await post({ 'content-type': 'application/json' }, '{}'),
    'a form without a boundary': await post({ 'content-type': 'multipart/form-data' }, 'x'),
    'an empty form': await form('--b--\r\n'),
    'a field and no file': await form('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n'),
    'a file without a name': await form(
      '--b\r\ncontent-disposition: form-data; name="filename"; filename=""\r\n\r\nx\r\n--b--\r\n',
    ),
    'a form without an end': await form(
      '--b\r\ncontent-disposition: form-data; name="filename"; filename="a.tar.gz"\r\n\r\nxxx',
    ),
    'no form at all': await form('x'.repeat(10_000)),
    'a name that is not an archive': await upload(broker, formWith('a.zip')),
  }
  for (const [what, response] of Object.entries(bad))
    assert.deepEqual(outcomeOf(response), [400, 108, 'BAD_REQUEST'], what)
  const folder = join(broker.dataDirectory, 'backup')
  assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], [])
})

check('an aborted upload leaves no file, and the broker continues', async (broker) => {
  const head = [
    'POST /api/v5/data/files HTTP/1.1',
    'Host: a',
    `Authorization: ${basic(administrator)}`,
    'Content-Type: multipart/form-data; boundary=b',
    'Content-Length: 1000000',
    'Connection: close',
  ].join('\r\n')
  const part = '--b\r\ncontent-disposition: form-data; name="filename"; filename="half.tar.gz"\r\n\r\n'
  const url = new URL(broker.url)
  const socket = connect(Number(url.port), url.hostname)
  socket.write(`${head}\r\n\r\n${part}${'x'.repeat(1_000)}`)
  const folder = join(broker.dataDirectory, 'backup')
  while (!existsSync(folder) || readdirSync(folder).length === 0) await broker.request('/api/v5/data/files')
  socket.destroy()
  while (readdirSync(folder).length > 0) await broker.request('/api/v5/data/files')
  assert.deepEqual((await broker.request('/api/v5/data/files')).json.data, [])
})

check('a viewer can list files, but not read or change them', async (broker) => {
  putFile(broker, 'a.tar.gz', 'x')
  const as = await makeUser(broker, 'vic', 'viewer')
  assert.equal((await broker.request('/api/v5/data/files', { as })).status, 200)
  const path = '/api/v5/data/files/a.tar.gz'
  const body = { filename: 'a.tar.gz' }
  for (const response of [
    await broker.request(path, { as }),
    await broker.request(path, { as, method: 'DELETE' }),
    await broker.request('/api/v5/data/import', { as, method: 'POST', body }),
    await broker.request('/api/v5/data/export', { as, method: 'POST' }),
    await broker.request('/api/v5/data/verify', { as, method: 'POST', body }),
    await broker.request('/api/v5/data/diff', { as, method: 'POST', body: { first: 'a.tar.gz' } }),
    await upload(broker, formWith('b.tar.gz'), as),
  ])
    assert.deepEqual(outcomeOf(response), [403, 103, 'UNAUTHORIZED_ROLE'])
})

check(
  'files of a namespace are separate, and an administrator of one namespace sees no other, whatever the request',
  async (broker) => {
    putFile(broker, 'all.tar.gz', 'x')
    putFile(broker, 'plant.tar.gz', 'x', 'ns', 'plant')
    const as = await makeUser(broker, 'pat', 'ns:plant::administrator')
    const namesFor = async (path: string, who = administrator): Promise<string[]> =>
      (await broker.request(path, { as: who })).json.data.map(({ filename }: { filename: string }) => filename)
    assert.deepEqual(await namesFor('/api/v5/data/files'), ['all.tar.gz'])
    assert.deepEqual(await namesFor('/api/v5/data/files?namespace=plant'), ['plant.tar.gz'])
    assert.deepEqual(await namesFor('/api/v5/data/files', as), ['plant.tar.gz'])
    assert.equal((await broker.request('/api/v5/data/files?namespace=other', { as })).status, 403)
    assert.equal((await broker.request('/api/v5/data/files/all.tar.gz', { as })).status, 404)
    // An administrator without the right to manage accounts has only archives that are known to contain none.
    const made = await broker.request('/api/v5/data/export', { as, method: 'POST' })
    const own = `/api/v5/data/files/${made.json.filename}`
    assert.equal((await broker.request(own, { as })).status, 200)
    assert.equal((await broker.request(`${own}?namespace=other`, { as })).status, 403)
    const odd = await broker.request('/api/v5/data/files?namespace=..')
    assert.deepEqual(outcomeOf(odd), [400, 108, 'BAD_REQUEST'])
  },
)

check('import and export check the body before they start', async (broker) => {
  const post = async (path: string, body: unknown): Promise<Outcome> =>
    outcomeOf(await broker.request(`/api/v5/data/${path}`, { method: 'POST', body }))
  assert.deepEqual(await post('import', {}), [400, 107, 'BAD_REQUEST'])
  assert.deepEqual(await post('import', 'no json'), [400, 109, 'BAD_REQUEST'])
  const wrongFlag = { filename: 'a.tar.gz', allow_security_profile_mismatch: 'yes' }
  assert.deepEqual(await post('import', wrongFlag), [400, 108, 'BAD_REQUEST'])
  assert.deepEqual(await post('import', { filename: 'a.tar.gz', node: 'elsewhere' }), [400, 108, 'BAD_REQUEST'])
  assert.deepEqual(await post('export', { table_sets: 'psk' }), [400, 108, 'BAD_REQUEST'])
  assert.deepEqual((await broker.request('/api/v5/data/progress')).json, { code: 0, data: null })
})

check('the typed client uploads a stream, and returns the reason of a refusal', async (broker) => {
  const [name = '', password = ''] = administrator.split(':')
  const client = createClient(endpoints, {
    at: { url: broker.url },
    authorization: formatBasicAuthorization(name, password),
  })
  const sent = await client.upload_backup_file({ body: { filename: 'a".zip', content: content() } })
  assert.ok('failure' in sent)
  assert.deepEqual([sent.failure.status, sent.failure.reason], [400, 'BAD_REQUEST'])
  putFile(broker, 'b.tar.gz', 'as it is')
  const found = await client.download_backup_file({ params: { filename: 'b.tar.gz' } })
  assert.ok('reply' in found)
  assert.equal(Buffer.concat(await found.reply.toArray()).toString(), 'as it is')
  const absent = await client.download_backup_file({ params: { filename: 'c.tar.gz' } })
  assert.ok('failure' in absent)
  assert.equal(absent.failure.reason, 'NOT_FOUND')
})

check('an upload before authentication is refused', async (broker) => {
  const text = await sendBytes(
    broker.url,
    'POST /api/v5/data/files HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc',
  )
  assert.equal(statusIn(text), 401)
  assert.match(text, /AUTHORIZATION_HEADER_ERROR/)
})

const reasonOf = ({ status, json }: ApiResponse): [status: number, reason: string | undefined] => [status, json?.reason]

function isForbidden({ status, text }: ApiResponse, key: RegExp): void {
  assert.equal(status, 403, text)
  assert.match(text, key)
}

test('an API key without permission for accounts neither reads nor restores them in archives', async (t) => {
  const broker = await sharedBroker()
  const before = (await broker.request('/api/v5/users')).json.data
  const post = (path: string, body: unknown, as = administrator): Promise<ApiResponse> =>
    broker.request(`/api/v5/${path}`, { as, method: 'POST', body })
  const user = { username: 'amy', password: 'a long password' }
  assert.equal((await post('users', user)).status, 200)
  const { json: key } = await post('api_key', { name: 'program', desc: '', enable: true })
  const as = `${key.api_key}:${key.api_secret}`
  const { json: whole } = await post('data/export', undefined)
  const path = `data/files/${whole.filename}`
  await broker.request('/api/v5/users/amy', { method: 'DELETE' })

  await t.test(
    'the key cannot download or import an archive with accounts, whichever administrator created it',
    async () => {
      assert.deepEqual(reasonOf(await broker.request(`/api/v5/${path}`, { as })), [403, 'FORBIDDEN'])
      assert.deepEqual(reasonOf(await post('data/import', { filename: whole.filename }, as)), [403, 'FORBIDDEN'])
      const dry = { filename: whole.filename, dry_run: true }
      assert.deepEqual(reasonOf(await post('data/import', dry, as)), [403, 'FORBIDDEN'])
      assert.deepEqual((await broker.request('/api/v5/users')).json.data, before)
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
    assert.deepEqual((await broker.request('/api/v5/users')).json.data, before)
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

  await t.test('nor do settings that decide who else can use the management', async () => {
    const sso = {
      issuer: 'http://127.0.0.1:9/realm',
      client_id: 'x',
      redirect_uri: 'http://127.0.0.1:9/dashboard/',
      default_role: 'administrator',
    }
    const settings = { oidc: sso, allow_origins: ['https://elsewhere.example'] }
    const set = (dashboard: unknown, who: string): Promise<ApiResponse> =>
      broker.request('/api/v4/configuration/dashboard', { as: who, method: 'POST', body: { data: { dashboard } } })
    const version = async (): Promise<number> =>
      Math.max(
        ...(await broker.request('/api/v4/configuration_history')).json.data.map(
          ({ number }: { number: number }) => number,
        ),
      )
    for (const [name, value] of Object.entries(settings)) {
      const key = new RegExp(`dashboard\\.${name}`)
      isForbidden(await set({ [name]: value }, as), key)
      const body = `dashboard.${name} = ${JSON.stringify(value)}`
      for (const path of ['config_update?merge=true', 'config_update'])
        isForbidden(await broker.request(`/api/v4/${path}`, { as, method: 'POST', body }), key)
      const without = await version()
      assert.equal((await set({ [name]: value }, administrator)).status, 200)
      const back = await broker.request(`/api/v4/configuration_history/${without}/rollback`, { as, method: 'POST' })
      isForbidden(back, key)
      const unset = { keys: [`dashboard.${name}`] }
      isForbidden(await broker.request('/api/v4/configuration_unset', { as, method: 'POST', body: unset }), key)
    }
    isForbidden(await set({ oidc: { roles: { anyone: 'administrator' } } }, as), /dashboard\.oidc\.roles/)
    const profile = await broker.request('/api/v4/config_update?merge=true', {
      as,
      method: 'POST',
      body: 'node.security_profile = legacy',
    })
    isForbidden(profile, /node\.security_profile/)
    const { json: own } = await post('data/export', undefined, as)
    const unset = { keys: ['dashboard.oidc', 'dashboard.allow_origins'] }
    assert.equal((await broker.request('/api/v4/configuration_unset', { method: 'POST', body: unset })).status, 200)
    const imported = await post('data/import', { filename: own.filename }, as)
    assert.deepEqual(reasonOf(imported), [400, 'BAD_REQUEST'], 'the other parts of the archive are imported')
    assert.match(imported.text, /dashboard\.allow_origins, dashboard\.oidc\.issuer/)
    const { dashboard } = (await broker.request('/api/v4/configuration/dashboard')).json.data
    assert.deepEqual([dashboard.allow_origins, dashboard.oidc.issuer], [[], 'none'])
    assert.equal((await set({ enable: true }, as)).status, 200)
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
