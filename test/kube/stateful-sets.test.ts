// The controller of StatefulSets: what the operator relies on when it scales, updates and recreates a set.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getPath, type KubeObject } from './kube-object.ts'
import { startInstantKubelet } from './instant-kubelet.ts'
import { startKubeApi, type KubeApi } from './kube-api.ts'
import { requestUntil, startApi } from './kube-requests.ts'

const sets = '/apis/apps/v1/namespaces/default/statefulsets'
const manager = 'test'

const createSet = (replicas: number, image = 'a', partition = 0): object => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 's' },
  spec: {
    replicas,
    serviceName: 's-headless',
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
    selector: { matchLabels: { app: 's' } },
    template: { metadata: { labels: { app: 's' } }, spec: { containers: [{ name: 'c', image }] } },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
})

test('claims stay when a set becomes smaller, and are used again', async (t) => {
  const { request, api } = await startApi(t)
  await request('POST', sets, createSet(3))
  const isReady = (replicas: number) =>
    requestUntil(
      () => request('GET', `${sets}/s`),
      ({ get }) => get('.status.readyReplicas') === replicas && get('.status.replicas') === replicas,
    )
  await isReady(3)
  const claims = list(api, 'PersistentVolumeClaim').map(({ metadata }) => metadata.uid)
  await request('PATCH', `${sets}/s`, { spec: { replicas: 1 } }, 'merge')
  await isReady(1)
  await request('PATCH', `${sets}/s`, { spec: { replicas: 3 } }, 'merge')
  await isReady(3)
  assert.deepEqual(
    list(api, 'PersistentVolumeClaim').map(({ metadata }) => metadata.uid),
    claims,
  )
  assert.deepEqual(
    list(api, 'Pod').map(({ metadata }) => metadata.name),
    ['s-0', 's-1', 's-2'],
  )
})

test('an update begins at the highest ordinal, ends at the partition, and stops at a pod that is not ready', async (t) => {
  const api = await startKubeApi()
  t.after(() => api.close())
  startInstantKubelet(api.operations, (pod) => imageOf(pod) !== 'broken')
  const { operations } = api
  const type = operations.getKind('StatefulSet')
  const target = { type, namespace: 'default', name: 's' }
  const update = (image: string, partition: number) =>
    operations.apply(target, createSet(3, image, partition), { manager, isForced: true })
  const images = () => list(api, 'Pod').map(imageOf)
  update('a', 0)
  await settle(api)
  update('b', 2)
  await settle(api)
  assert.deepEqual(images(), ['a', 'a', 'b'])
  update('b', 0)
  await settle(api)
  assert.deepEqual(images(), ['b', 'b', 'b'])
  update('broken', 0)
  await settle(api)
  assert.deepEqual(images(), ['b', 'b', 'broken'])
  update('c', 0)
  await settle(api)
  assert.deepEqual(images(), ['c', 'c', 'c'])
})

test('a pod below the partition is created again as it was', async (t) => {
  const { api } = await startApi(t)
  const { operations } = api
  const target = { type: operations.getKind('StatefulSet'), namespace: 'default', name: 's' }
  operations.apply(target, createSet(2, 'a'), { manager, isForced: true })
  await settle(api)
  operations.apply(target, createSet(2, 'b', 1), { manager, isForced: true })
  await settle(api)
  operations.delete({ type: operations.getKind('Pod'), namespace: 'default', name: 's-0' })
  await settle(api)
  assert.deepEqual(list(api, 'Pod').map(imageOf), ['a', 'b'])
})

test('a set that is deleted without its pods and created again adopts them', async (t) => {
  const { api } = await startApi(t)
  const { operations } = api
  const target = { type: operations.getKind('StatefulSet'), namespace: 'default', name: 's' }
  operations.apply(target, createSet(2), { manager, isForced: true })
  await settle(api)
  const before = list(api, 'Pod').map(({ metadata }) => metadata.uid)
  operations.delete(target, { propagationPolicy: 'Orphan' })
  await settle(api)
  assert.equal(operations.store.get(target.type, 'default', 's'), undefined)
  operations.apply(target, createSet(2), { manager, isForced: true })
  await settle(api)
  assert.deepEqual(
    list(api, 'Pod').map(({ metadata }) => metadata.uid),
    before,
  )
})

test('fields of a set that cannot change are refused, and a claim cannot become smaller', async (t) => {
  const { request, api } = await startApi(t)
  await request('POST', sets, createSet(1))
  await settle(api)
  const change = await request('PATCH', `${sets}/s`, { spec: { serviceName: 'other' } }, 'merge')
  assert.equal(change.statusCode, 422)
  assert.match(String(change.get('.message')), /updates to statefulset spec for fields other than/)
  const claim = '/api/v1/namespaces/default/persistentvolumeclaims/data-s-0'
  const smaller = { spec: { resources: { requests: { storage: '1Mi' } } } }
  assert.equal((await request('PATCH', claim, smaller, 'merge')).statusCode, 422)
})

test('a budget limits evictions', async (t) => {
  const { request, api } = await startApi(t)
  await request('POST', sets, createSet(2))
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  await request('POST', budgets, {
    metadata: { name: 'b' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 's' } } },
  })
  await settle(api)
  const evict = () => request('POST', '/api/v1/namespaces/default/pods/s-0/eviction', {})
  assert.equal((await evict()).statusCode, 429)
  await request('PATCH', `${budgets}/b`, { spec: { minAvailable: 1 } }, 'merge')
  await settle(api)
  assert.equal((await evict()).statusCode, 201)
})

function list(api: KubeApi, kind: string): KubeObject[] {
  return api.operations.store.list(api.operations.getKind(kind), 'default')
}

function imageOf(pod: KubeObject): unknown {
  return (getPath(pod, '.spec.containers') as { image: string }[])[0]?.image
}

/** Waits until no controller changes anything more. */
async function settle({ operations: { store } }: KubeApi): Promise<void> {
  let revision = -1
  while (store.revision !== revision) {
    revision = store.revision
    for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate)
  }
}
