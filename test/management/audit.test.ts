// The audit log records each change with its account, for each way to change something. It is limited and contains no secrets.

import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { AuditEntry } from '../../src/management/audited-request.ts'
import { openAuditLog } from '../../src/node/observe/audit-log.ts'
import { type BrokerWithApi, restartBroker, startBrokerWithApi } from './api.ts'
import { requestOverSocket } from './http.ts'

type Row = Record<string, unknown>

async function rows(broker: BrokerWithApi, query = ''): Promise<Row[]> {
  const { status, json, text } = await broker.request(`/api/v5/audit${query}`)
  assert.equal(status, 200, text)
  return json.data
}

test('every change is recorded with account, operation, address and result, also over a restart', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=1'] })
  const password = 'a long password of ann'
  await broker.request('/api/v5/users', { method: 'POST', body: { username: 'ann', password, role: 'viewer' } })
  await broker.request('/api/v4/auth_username', { method: 'POST', body: [{ username: 'c', password: 'secret-of-c' }] })
  await broker.request('/api/v4/acl', { as: `ann:${password}`, method: 'POST', body: { topic: 'a' } })
  await broker.request('/api/v5/login', { as: null, method: 'POST', body: { username: 'ann', password } })
  await broker.request('/api/v5/login', { as: null, method: 'POST', body: { username: 'ann', password: 'guessed' } })
  await broker.request('/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'a', payload: 'x', clientid: 'c' } })
  await broker.request('/api/v4/config_update', { method: 'POST', body: 'mqtt { password = "hidden-in-text" ' })
  await requestOverSocket(join(broker.dataDirectory, 'ctl.sock'), '/api/v4/users/nobody', { method: 'DELETE' })
  broker.process.child.kill('SIGHUP')
  let found = await rows(broker)
  while (!found.some(({ via }) => via === 'signal')) found = await rows(broker)
  const recorded = found.map(({ username, by, via, operation, outcome, status }) => [
    username,
    by,
    via,
    operation,
    outcome,
    status,
  ])
  assert.deepEqual(recorded.slice(0, 1), [['', 'signal', 'signal', 'reload_configuration', 'done', 0]])
  assert.deepEqual(recorded.slice(1), [
    ['local', 'socket', 'ctl', 'delete_user', 'refused', 404],
    ['admin', 'account', 'v4', recorded[2]?.[3], 'refused', 400],
    ['ann', 'account', 'v5', 'login', 'done', 200],
    ['ann', 'account', 'v4', recorded[4]?.[3], 'refused', 403],
    ['admin', 'account', 'v4', recorded[5]?.[3], 'done', 200],
    ['admin', 'account', 'v5', 'add_user', 'done', 200],
  ])
  const made = found.at(-1)
  assert.deepEqual(made?.['request'], { username: 'ann', password: '******', role: 'viewer' })
  assert.deepEqual([made?.['address'], made?.['path'], made?.['namespace']], ['127.0.0.1', '/api/v5/users', null])
  const onDisk = readdirSync(join(broker.dataDirectory, 'audit'))
    .map((name) => readFileSync(join(broker.dataDirectory, 'audit', name), 'utf8'))
    .join('')
  assert.doesNotMatch(onDisk, /a long password|secret-of-c|guessed|hidden-in-text/)
  const again = await restartBroker(broker)
  const [restarted, ...before] = await rows(again)
  assert.deepEqual([restarted?.['via'], restarted?.['path']], ['ctl', '/api/v4/ctrl/restart'])
  assert.deepEqual(before, found)
  assert.deepEqual(
    (await rows(again, '?username=ann&outcome=done')).map(({ operation }) => operation),
    ['login'],
  )
  assert.equal((await rows(again, '?via=ctl')).length, 2)
  assert.equal((await rows(again, `?until=${Number(made?.['at_ms'])}`)).length, 1)
  const page = await again.request('/api/v5/audit?page=2&limit=3')
  assert.deepEqual(page.json.data, found.slice(2, 5))
  const { max_bytes: maxBytes, ...meta } = page.json.meta
  assert.deepEqual(meta, { page: 2, limit: 3, count: found.length + 1, hasnext: true })
  assert.ok(maxBytes > 1_000_000)
  assert.equal((await again.request('/api/v5/audit?since=yesterday')).json.reason, 'BAD_REQUEST')
})

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'godwit-audit-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const silent = { error: () => assert.fail('nothing fails here'), warn: () => {}, info: () => {}, debug: () => {} }

function entry(number: number): AuditEntry {
  const who = { name: 'ann', by: 'account', role: 'administrator', namespace: null, address: '::1', via: 'v5' } as const
  const what = { operation: 'add_user', method: 'POST', path: '/api/v5/users', request: 'x'.repeat(100) }
  return { atMs: number, ...who, ...what, status: 200, code: 0, outcome: 'done', message: '', tookMs: 1 }
}

test('the audit log is limited on disk, and its oldest entries are deleted first', async (t) => {
  const path = folder(t)
  const log = openAuditLog(path, silent, 20_000)
  for (let number = 0; number < 30; number++) {
    await Promise.all(Array.from({ length: 10 }, (_, more) => log.record(entry(number * 10 + more))))
  }
  const sizes = readdirSync(join(path, 'audit')).map((name) => statSync(join(path, 'audit', name)).size)
  assert.ok(sizes.reduce((sum, size) => sum + size) <= 20_000, sizes.join(' '))
  const { items, count } = await log.list({}, { page: 1, limit: 5 })
  assert.deepEqual(
    items.map(({ atMs }) => atMs),
    [299, 298, 297, 296, 295],
  )
  assert.ok(count > 20 && count < 100, `${count}`)
  await log.close()
})

test('when the size limit of the audit log is lowered, the oldest entries are deleted', async (t) => {
  const path = folder(t)
  const log = openAuditLog(path, silent, 100_000)
  for (let number = 0; number < 200; number++) void log.record(entry(number))
  await log.record(entry(200))
  await log.changeSize(4_000)
  assert.equal(log.maxBytes, 4_000)
  const sizes = readdirSync(join(path, 'audit')).map((name) => statSync(join(path, 'audit', name)).size)
  assert.ok(sizes.reduce((sum, size) => sum + size) <= 4_000, sizes.join(' '))
  await log.record(entry(201))
  const { items } = await log.list({}, { page: 1, limit: 3 })
  assert.deepEqual(
    items.map(({ atMs }) => atMs),
    [201, 200, 199],
  )
  await log.close()
})

test('an incomplete line after a crash does not hide other entries of the audit log', async (t) => {
  const path = folder(t)
  const before = openAuditLog(path, silent, 20_000)
  await before.record(entry(1))
  await before.close()
  appendFileSync(join(path, 'audit', 'audit.jsonl'), '{"atMs":2,"na')
  const after = openAuditLog(path, silent, 20_000)
  await after.record(entry(3))
  const { items } = await after.list({}, { page: 1, limit: 10 })
  assert.deepEqual(
    items.map(({ atMs }) => atMs),
    [3, 1],
  )
  await after.close()
})
