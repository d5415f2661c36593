// Objects of built-in types: names, versions, patches, selectors, deletion. An API server of Kubernetes does the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestUntil, startApi } from './kube-requests.ts'

const maps = '/api/v1/namespaces/default/configmaps'

test('an object gets a uid, a version and a time, and its name only once', async (t) => {
  const { request } = await startApi(t)
  const created = await request('POST', maps, { metadata: { name: 'a' }, data: { k: 'v' } })
  assert.equal(created.statusCode, 201)
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp'])
    assert.ok(created.get(`.metadata.${field}`), field)
  const again = await request('POST', maps, { metadata: { name: 'a' } })
  assert.deepEqual([again.statusCode, again.get('.reason')], [409, 'AlreadyExists'])
  const invalid = await request('POST', maps, { metadata: { name: 'Not_Valid' } })
  assert.deepEqual([invalid.statusCode, invalid.get('.reason')], [422, 'Invalid'])
  const absent = await request('GET', `${maps}/none`)
  assert.deepEqual([absent.statusCode, absent.get('.reason'), absent.get('.kind')], [404, 'NotFound', 'Status'])
  const generated = await request('POST', maps, { metadata: { generateName: 'g-' } })
  assert.match(String(generated.get('.metadata.name')), /^g-.{5}$/)
  const elsewhere = await request('POST', '/api/v1/namespaces/none/configmaps', { metadata: { name: 'a' } })
  assert.equal(elsewhere.statusCode, 404)
})

test('a write with an old version is refused, and a write of the same object changes nothing', async (t) => {
  const { request } = await startApi(t)
  const first = await request('POST', maps, { metadata: { name: 'a' }, data: { k: 'v' } })
  const second = await request('PUT', `${maps}/a`, { ...first.body, data: { k: 'w' } })
  assert.notEqual(second.get('.metadata.resourceVersion'), first.get('.metadata.resourceVersion'))
  assert.equal((await request('PUT', `${maps}/a`, { ...first.body, data: { k: 'x' } })).get('.reason'), 'Conflict')
  const same = await request('PUT', `${maps}/a`, second.body)
  assert.equal(same.get('.metadata.resourceVersion'), second.get('.metadata.resourceVersion'))
  const oldPatch = { metadata: { resourceVersion: first.get('.metadata.resourceVersion') }, data: { k: 'y' } }
  assert.equal((await request('PATCH', `${maps}/a`, oldPatch, 'merge')).statusCode, 409)
})

test('merge patches delete with null, JSON patches check with test, and dry runs store nothing', async (t) => {
  const { request } = await startApi(t)
  await request('POST', maps, { metadata: { name: 'a' }, data: { k: 'v' } })
  const merged = await request('PATCH', `${maps}/a`, { data: { k: null, z: '1' } }, 'merge')
  assert.deepEqual(merged.body['data'], { z: '1' })
  const failing = [{ op: 'test', path: '/data/z', value: 'no' }]
  assert.equal((await request('PATCH', `${maps}/a`, failing, 'json-patch')).statusCode, 422)
  const operations = [
    { op: 'test', path: '/data/z', value: '1' },
    { op: 'add', path: '/data/y', value: '2' },
    { op: 'move', from: '/data/z', path: '/data/x' },
  ]
  assert.deepEqual((await request('PATCH', `${maps}/a`, operations, 'json-patch')).body['data'], { y: '2', x: '1' })
  assert.equal((await request('POST', `${maps}?dryRun=All`, { metadata: { name: 'dry' } })).statusCode, 201)
  assert.equal((await request('GET', `${maps}/dry`)).statusCode, 404)
})

test('lists have selectors and limits, and items without kind', async (t) => {
  const { request } = await startApi(t)
  for (const name of ['a', 'b', 'c']) await request('POST', maps, { metadata: { name, labels: { l: name } } })
  const list = async (query: string): Promise<string[]> => {
    const { body } = await request('GET', `${maps}?${query}`)
    return (body['items'] as { metadata: { name: string }; kind?: string }[]).map((item) => {
      assert.equal(item.kind, undefined)
      return item.metadata.name
    })
  }
  assert.deepEqual(await list(`labelSelector=${encodeURIComponent('l in (a,b)')}`), ['a', 'b'])
  assert.deepEqual(await list(`labelSelector=${encodeURIComponent('l,l notin (a),l!=b')}`), ['c'])
  assert.deepEqual(await list('fieldSelector=metadata.name%3Db'), ['b'])
  const part = await request('GET', `${maps}?limit=2`)
  assert.equal((part.body['items'] as unknown[]).length, 2)
  assert.deepEqual(await list(`limit=2&continue=${String(part.get('.metadata.continue'))}`), ['c'])
})

test('a watch has each change in order, and an object that leaves the selector as deleted', async (t) => {
  const { request, watch, api } = await startApi(t)
  const version = (await request('GET', maps)).get('.metadata.resourceVersion')
  await request('POST', maps, { metadata: { name: 'a', labels: { l: '1' } } })
  await request('PATCH', `${maps}/a`, { data: { q: '1' } }, 'merge')
  await request('PATCH', `${maps}/a`, { metadata: { labels: { l: '2' } } }, 'merge')
  await request('DELETE', `${maps}/a`)
  const read = async (query: string): Promise<{ type: string; version: number }[]> => {
    const events = []
    for await (const { type, object } of watch(`${maps}?watch=true&timeoutSeconds=0&${query}`)) {
      events.push({ type, version: Number((object['metadata'] as { resourceVersion: string }).resourceVersion) })
    }
    return events
  }
  const all = await read(`resourceVersion=${String(version)}`)
  assert.deepEqual(
    all.map(({ type }) => type),
    ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED'],
  )
  assert.deepEqual(
    all,
    all.toSorted((a, b) => a.version - b.version),
  )
  const selected = await read(`resourceVersion=${String(version)}&labelSelector=l%3D1`)
  assert.deepEqual(
    selected.map(({ type }) => type),
    ['ADDED', 'MODIFIED', 'DELETED'],
  )
  await request('POST', maps, { metadata: { name: 'b' } })
  const initial = await read('sendInitialEvents=true&allowWatchBookmarks=true')
  assert.deepEqual(
    initial.map(({ type }) => type),
    ['ADDED', 'BOOKMARK', 'BOOKMARK'],
  )
  api.operations.store.compact()
  const { value: expired } = await watch(`${maps}?watch=true&resourceVersion=${String(version)}`).next()
  assert.deepEqual([expired.type, expired.object.code, expired.object.reason], ['ERROR', 410, 'Expired'])
})

test('deletion waits for finalizers, checks preconditions and deletes dependents', async (t) => {
  const { request } = await startApi(t)
  const owner = await request('POST', maps, { metadata: { name: 'owner', finalizers: ['example.io/x'] } })
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.get('.metadata.uid') }
  await request('POST', maps, { metadata: { name: 'child', ownerReferences: [reference] } })
  assert.equal((await request('DELETE', `${maps}/owner`, { preconditions: { uid: 'other' } })).statusCode, 409)
  assert.ok((await request('DELETE', `${maps}/owner`)).get('.metadata.deletionTimestamp'))
  const addition = { metadata: { finalizers: ['example.io/x', 'example.io/y'] } }
  assert.equal((await request('PATCH', `${maps}/owner`, addition, 'merge')).statusCode, 422)
  assert.equal((await request('GET', `${maps}/child`)).statusCode, 200)
  await request('PATCH', `${maps}/owner`, { metadata: { finalizers: null } }, 'merge')
  assert.equal((await request('GET', `${maps}/owner`)).statusCode, 404)
  await requestUntil(
    () => request('GET', `${maps}/child`),
    ({ statusCode }) => statusCode === 404,
  )
})

test('orphans stay without an owner, and a foreground deletion waits for dependents', async (t) => {
  const { request } = await startApi(t)
  for (const policy of ['Orphan', 'Foreground']) {
    const owner = await request('POST', maps, { metadata: { name: policy.toLowerCase() } })
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: policy.toLowerCase(),
      uid: owner.get('.metadata.uid'),
    }
    await request('POST', maps, { metadata: { name: `child-${policy.toLowerCase()}`, ownerReferences: [reference] } })
    await request('DELETE', `${maps}/${policy.toLowerCase()}`, { propagationPolicy: policy })
    await requestUntil(
      () => request('GET', `${maps}/${policy.toLowerCase()}`),
      ({ statusCode }) => statusCode === 404,
    )
  }
  assert.deepEqual((await request('GET', `${maps}/child-orphan`)).get('.metadata.ownerReferences'), [])
  assert.equal((await request('GET', `${maps}/child-foreground`)).statusCode, 404)
})

test('a lease has times with six decimals, and the second holder loses', async (t) => {
  const { request } = await startApi(t)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  const spec = { holderIdentity: 'A', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' }
  const lease = await request('POST', leases, { metadata: { name: 'l' }, spec })
  await request('PUT', `${leases}/l`, { ...lease.body, spec: { ...spec, holderIdentity: 'B' } })
  assert.equal((await request('PUT', `${leases}/l`, lease.body)).statusCode, 409)
  const seconds = { ...spec, renewTime: '2026-01-01T00:00:00Z' }
  assert.equal((await request('POST', leases, { metadata: { name: 'm' }, spec: seconds })).statusCode, 400)
})

test('strings of a secret are stored as data', async (t) => {
  const { request } = await startApi(t)
  const secrets = '/api/v1/namespaces/default/secrets'
  const body = { metadata: { name: 's' }, data: { a: 'eA==' }, stringData: { b: 'y' } }
  const secret = await request('POST', secrets, body)
  assert.deepEqual(secret.body['data'], { a: 'eA==', b: 'eQ==' })
  assert.equal(secret.body['stringData'], undefined)
})

test('discovery lists groups, versions and resources', async (t) => {
  const { request } = await startApi(t)
  assert.match(String((await request('GET', '/version')).get('.gitVersion')), /^v1\./)
  const { body } = await request('GET', '/apis/apps/v1')
  const names = (body['resources'] as { name: string }[]).map(({ name }) => name)
  assert.deepEqual(names.slice(0, 3), ['statefulsets', 'statefulsets/status', 'statefulsets/scale'])
  const groups = (await request('GET', '/apis')).body['groups'] as { name: string }[]
  assert.ok(groups.some(({ name }) => name === 'policy'))
})
