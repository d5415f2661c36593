// The operator on the API server of test/kube, with pods that run nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getPath } from '../kube/kube-object.ts'
import { eventually } from '../e2e/eventually.ts'
import { startCluster, type OperatedCluster } from './operated-cluster.ts'

const spec = { image: 'registry.example/godwit:1.0', replicas: 3, config: 'auth.allow_anonymous = true\n' }

function names(cluster: OperatedCluster, kind: string): string[] {
  return cluster.list(kind).map(({ metadata }) => metadata.name)
}

function images(cluster: OperatedCluster): unknown[] {
  return cluster.list('Pod').map((pod) => (getPath(pod, '.spec.containers') as { image: string }[])[0]?.image)
}

test('a cluster gets its objects, its Secrets and its status, and a second pass writes nothing', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', spec)
  const first = await cluster.startOperator()
  await cluster.untilComplete('plant')
  assert.deepEqual(names(cluster, 'Pod'), ['plant-0', 'plant-1', 'plant-2'])
  assert.deepEqual(names(cluster, 'Service'), ['plant', 'plant-headless'])
  assert.deepEqual(names(cluster, 'ConfigMap'), ['plant-acl', 'plant-config'])
  assert.deepEqual(names(cluster, 'Secret'), ['plant-admin', 'plant-operator'])
  assert.deepEqual(names(cluster, 'PodDisruptionBudget'), ['plant'])
  await eventually(() => assert.equal(cluster.condition('plant', 'Healthy').status, 'True'))
  assert.equal(cluster.condition('plant', 'ConfigApplied').status, 'True')
  assert.equal(cluster.condition('plant', 'Clustered').status, 'False')
  assert.equal(getPath(cluster.find('GodwitCluster', 'plant'), '.status.readyReplicas'), 3)
  const uid = cluster.find('GodwitCluster', 'plant')?.metadata.uid
  for (const kind of ['StatefulSet', 'Service', 'Secret']) {
    for (const { metadata } of cluster.list(kind))
      assert.deepEqual(
        metadata.ownerReferences?.map((owner) => owner.uid),
        [uid],
      )
  }
  await first.stop()
  const { length } = cluster.writes()
  const password = getPath(cluster.find('Secret', 'plant-admin'), '.data.password')
  const second = await cluster.startOperator('operator-2')
  await eventually(async () => {
    const response = await fetch(`http://127.0.0.1:${second.healthPort}/metrics`)
    assert.match(await response.text(), /^godwit_operator_reconciliations_total [1-9]/m)
  })
  await second.stop()
  assert.deepEqual(cluster.writes().slice(length), [])
  assert.equal(getPath(cluster.find('Secret', 'plant-admin'), '.data.password'), password)
})

test('a field that another manager has changed is written back, and an object that is not rendered any more is deleted', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', spec)
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  const { operations } = cluster.api
  const type = operations.getKind('ConfigMap')
  const target = { type, namespace: 'default', name: 'plant-config' }
  const before = cluster.find('ConfigMap', 'plant-config')?.['data']
  operations.update(target, (map) => ({ ...map, data: { 'godwit.conf': 'other' } }), { manager: 'kubectl' })
  await eventually(() => assert.deepEqual(cluster.find('ConfigMap', 'plant-config')?.['data'], before))
  cluster.apply('plant', { ...spec, replicas: 1 })
  await cluster.untilComplete('plant')
  await eventually(() => assert.deepEqual(names(cluster, 'PodDisruptionBudget'), []))
})

test('a new image replaces one pod after the other from the top, each after a drain', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', spec)
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  cluster.apply('plant', { ...spec, image: 'registry.example/godwit:2.0' })
  await cluster.untilComplete('plant')
  assert.deepEqual(new Set(images(cluster)), new Set(['registry.example/godwit:2.0']))
  assert.deepEqual(cluster.drains, ['plant-2', 'plant-1', 'plant-0'])
})

test('a revision that never gets ready stops at one pod, and a corrected one goes on', async (t) => {
  const cluster = await startCluster(t)
  cluster.brokenImages.add('registry.example/godwit:broken')
  cluster.apply('plant', spec)
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  cluster.apply('plant', { ...spec, image: 'registry.example/godwit:broken' })
  await eventually(() =>
    assert.match(String(cluster.condition('plant', 'Progressing').message), /plant-2 of the new revision is not ready/),
  )
  const [good, broken] = [spec.image, 'registry.example/godwit:broken']
  assert.deepEqual(images(cluster), [good, good, broken])
  cluster.apply('plant', { ...spec, image: 'registry.example/godwit:2.0' })
  await cluster.untilComplete('plant')
  assert.deepEqual(new Set(images(cluster)), new Set(['registry.example/godwit:2.0']))
})

test('fewer replicas: the top pod is drained, then the next; the claims stay, and are used again', async (t) => {
  const cluster = await startCluster(t)
  const storage = { resources: { requests: { storage: '1Gi' } } }
  cluster.apply('plant', { ...spec, storage })
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  const claims = names(cluster, 'PersistentVolumeClaim')
  cluster.apply('plant', { ...spec, storage, replicas: 1 })
  await cluster.untilComplete('plant')
  assert.deepEqual(cluster.drains, ['plant-2', 'plant-1'])
  assert.deepEqual(names(cluster, 'Pod'), ['plant-0'])
  assert.deepEqual(names(cluster, 'PersistentVolumeClaim'), claims)
  cluster.apply('plant', { ...spec, storage, replicas: 3 })
  await cluster.untilComplete('plant')
  assert.deepEqual(names(cluster, 'PersistentVolumeClaim'), claims)
})

test('clients that do not leave in time stop the removal, unless drain.force is set', async (t) => {
  const cluster = await startCluster(t)
  const drain = { timeoutSeconds: 1 }
  cluster.apply('plant', { ...spec, drain })
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  cluster.clients.set('plant-2', 5)
  cluster.apply('plant', { ...spec, drain, replicas: 2 })
  await eventually(() => assert.equal(cluster.condition('plant', 'Degraded').reason, 'DrainTimeout'))
  assert.match(String(cluster.condition('plant', 'Degraded').message), /plant-2 has 5 clients after 1 s/)
  assert.deepEqual(names(cluster, 'Pod'), ['plant-0', 'plant-1', 'plant-2'])
  cluster.apply('plant', { ...spec, drain: { ...drain, force: true }, replicas: 2 })
  await cluster.untilComplete('plant')
  assert.deepEqual(names(cluster, 'Pod'), ['plant-0', 'plant-1'])
  assert.equal(cluster.condition('plant', 'Degraded').status, 'False')
})

test('an invalid specification changes nothing that runs, and is reported with its field', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', spec)
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  const { length } = cluster.writes()
  cluster.apply('plant', { ...spec, replicas: 5, config: 'mqtt.max_packet_size = many\n' })
  await eventually(() => assert.equal(cluster.condition('plant', 'SpecValid').status, 'False'))
  assert.match(String(cluster.condition('plant', 'SpecValid').message), /spec\.config.*max_packet_size/)
  assert.deepEqual(names(cluster, 'Pod'), ['plant-0', 'plant-1', 'plant-2'])
  const further = cluster.writes().slice(length)
  assert.ok(
    further.every((request) => /\/status|\/events/.test(request)),
    further.join('\n'),
  )
  await eventually(() => assert.ok(cluster.list('Event').some((event) => event['reason'] === 'Invalid')))
})

function createStorage(size: string): object {
  return { storageClassName: 'fast', resources: { requests: { storage: size } } }
}

test('larger volumes: claims are enlarged, and the set is created again around its pods', async (t) => {
  const cluster = await startCluster(t)
  const { operations } = cluster.api
  const type = operations.getKind('StorageClass')
  operations.create(
    type,
    '',
    { metadata: { name: 'fast' }, provisioner: 'x', allowVolumeExpansion: true },
    { manager: 'test' },
  )
  cluster.apply('plant', { ...spec, storage: createStorage('1Gi') })
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  const pods = cluster.list('Pod').map(({ metadata }) => metadata.uid)
  const set = cluster.find('StatefulSet', 'plant')?.metadata.uid
  cluster.apply('plant', { ...spec, storage: createStorage('2Gi') })
  await eventually(() => assert.notEqual(cluster.find('StatefulSet', 'plant')?.metadata.uid ?? set, set))
  await cluster.untilComplete('plant')
  const sizes = cluster.list('PersistentVolumeClaim').map((claim) => getPath(claim, '.spec.resources.requests.storage'))
  assert.deepEqual(sizes, ['2Gi', '2Gi', '2Gi'])
  assert.deepEqual(
    cluster.list('Pod').map(({ metadata }) => metadata.uid),
    pods,
  )
})

test('a StatefulSet of another owner is left alone', async (t) => {
  const cluster = await startCluster(t)
  const { operations } = cluster.api
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const labels = { 'apps.godwit.io/instance': 'plant' }
  const body = {
    metadata: { name: 'plant', labels },
    spec: { replicas: 0, serviceName: 's', selector: { matchLabels: { a: 'b' } }, template },
  }
  operations.create(operations.getKind('StatefulSet'), 'default', body, { manager: 'test' })
  cluster.apply('plant', spec)
  await cluster.startOperator()
  await eventually(() => assert.equal(cluster.condition('plant', 'Degraded').reason, 'NameTaken'))
  assert.deepEqual(names(cluster, 'ConfigMap'), [])
})

test('deletion: the objects go, the claims stay', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', { ...spec, storage: { resources: { requests: { storage: '1Gi' } } } })
  await cluster.startOperator()
  await cluster.untilComplete('plant')
  const { operations } = cluster.api
  operations.delete({ type: operations.getKind('GodwitCluster'), namespace: 'default', name: 'plant' })
  await eventually(() => {
    for (const kind of ['Pod', 'StatefulSet', 'Service', 'ConfigMap', 'Secret'])
      assert.deepEqual(names(cluster, kind), [], kind)
  })
  assert.equal(names(cluster, 'PersistentVolumeClaim').length, 3)
})

test('of two operators one works, and the other takes over at once when it stops', async (t) => {
  const cluster = await startCluster(t)
  cluster.apply('plant', spec)
  const first = await cluster.startOperator('operator-1')
  await cluster.untilComplete('plant')
  await cluster.startOperator('operator-2')
  const findHolder = () => {
    const { operations } = cluster.api
    return getPath(
      operations.store.get(operations.getKind('Lease'), 'kube-system', 'godwit-operator'),
      '.spec.holderIdentity',
    )
  }
  assert.equal(findHolder(), 'operator-1')
  await first.stop()
  await eventually(() => assert.equal(findHolder(), 'operator-2'))
  cluster.apply('plant', { ...spec, replicas: 2 })
  await cluster.untilComplete('plant')
})
