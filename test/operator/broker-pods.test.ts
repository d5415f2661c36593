// The operator as a process, on the API server of test/kube, with pods that are real brokers.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { resourceKinds } from '../../src/deploy/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { atEnd, runGodwit, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { startKubeApi } from '../kube/kube-api.ts'
import { getPath, type KubeObject } from '../kube/kube-object.ts'
import { Authority } from '../transports/certificates.ts'
import { defineResource } from './operated-cluster.ts'
import { startProcessKubelet } from './process-kubelet.ts'

const manager = 'test'
const authority = new Authority('test')
const image = 'registry.example/godwit:1.0'
const storage = { resources: { requests: { storage: '1Gi' } } }

async function startNode(t: TestContext) {
  const folder = await temporaryFolder(t)
  const api = await startKubeApi()
  atEnd(t, () => api.close())
  const { operations } = api
  const kubelet = startProcessKubelet(operations, folder)
  atEnd(t, () => kubelet.stop())
  for (const kind of resourceKinds) {
    operations.create(operations.getKind('CustomResourceDefinition'), '', defineResource(kind), { manager })
  }
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(
    kubeconfig,
    `current-context: test
contexts: [{ name: test, context: { cluster: test } }]
clusters: [{ name: test, cluster: { server: '${api.url}' } }]
`,
  )
  const find = (kind: string, name: string): KubeObject | undefined =>
    operations.store.get(operations.getKind(kind), 'default', name)
  const address = (pod: string): string => {
    const found = getPath(find('Pod', pod), '.status.podIP')
    assert.equal(typeof found, 'string', pod)
    return found as string
  }
  return {
    kubelet,
    find,
    startOperator: (): WatchedProcess =>
      runGodwit(t, ['deploy', 'operator', '--kubeconfig', kubeconfig, '--no-leader-election', '--health-port', '0']),
    apply: (spec: object): void => {
      const type = operations.getKind('GodwitCluster')
      const body = { apiVersion: 'apps.godwit.io/v1beta2', kind: 'GodwitCluster', metadata: { name: 'plant' }, spec }
      operations.apply({ type, namespace: 'default', name: 'plant' }, body, { manager, isForced: true })
    },
    /** Waits until the cluster is healthy: all pods are ready, and have applied their files. */
    untilHealthy: () =>
      eventually(() => {
        const resource = find('GodwitCluster', 'plant')
        assert.equal(getPath(resource, '.status.observedGeneration'), resource?.metadata.generation)
        const conditions = (getPath(resource, '.status.conditions') ?? []) as { type: string; status: string }[]
        const healthy = conditions.find(({ type }) => type === 'Healthy')
        assert.equal(healthy?.status, 'True', JSON.stringify(conditions))
      }),
    connect: async (pod: string, options: IClientOptions = {}): Promise<MqttClient> => {
      const url = options.ca === undefined ? `mqtt://${address(pod)}:1883` : `mqtts://${address(pod)}:8883`
      const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, ...options })
      atEnd(t, () => client.endAsync(true))
      return client
    },
  }
}

const persistent = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const

function createSpec(
  changes: object = {},
  certificate = authority.issue('first', { hostNames: ['localhost'] }),
): object {
  return {
    image,
    replicas: 2,
    storage,
    config: 'auth.allow_anonymous = true\n',
    emqxTemplate: {
      listener: {
        ports: { mqtt: 1883, mqtts: 8883, api: 8081 },
        certificate: { mqtts: { stringData: { 'tls.cert': certificate.certificate, 'tls.key': certificate.key } } },
      },
    },
    ...changes,
  }
}

test('brokers in pods: messages, changes without a restart, a removed pod with its sessions, and kills', async (t) => {
  const node = await startNode(t)
  const { find, connect, apply, untilHealthy } = node
  const certificate = authority.issue('first', { hostNames: ['localhost'] })
  const template = (createSpec({}, certificate) as { emqxTemplate: object }).emqxTemplate
  apply(createSpec({}, certificate))
  const operator = node.startOperator()
  await untilHealthy()

  const subscriber = await connect('plant-1', { clientId: 'meter', ...persistent })
  await subscriber.subscribeAsync('plant/#', { qos: 1 })
  const publisher = await connect('plant-1')
  const received = new Promise<string>((resolve) =>
    subscriber.once('message', (_topic, payload) => resolve(payload.toString())),
  )
  await publisher.publishAsync('plant/1', 'hello', { qos: 1 })
  assert.equal(await received, 'hello')

  const pods = ['plant-0', 'plant-1'].map((name) => find('Pod', name)?.metadata.uid)
  const processes = ['plant-0', 'plant-1'].map((name) => node.kubelet.findProcess(name)?.child.pid)
  const other = authority.issue('second', { hostNames: ['localhost'] })
  const listener = (createSpec({}, other) as { emqxTemplate: { listener: object } }).emqxTemplate.listener
  const acl = [{ permission: 'deny', action: 'subscribe', topics: { filter: ['secret/#'] } }, { permission: 'allow' }]
  apply(createSpec({ emqxTemplate: { ...template, acl, listener } }))
  await untilHealthy()
  await assert.rejects(subscriber.subscribeAsync('secret/1'))
  const secure = await connect('plant-0', { ca: authority.certificate, servername: 'localhost' })
  const { stream } = secure as unknown as { stream: { getPeerCertificate(): { subject: { CN: string } } } }
  assert.equal(stream.getPeerCertificate().subject.CN, 'second')
  assert.deepEqual(
    ['plant-0', 'plant-1'].map((name) => find('Pod', name)?.metadata.uid),
    pods,
  )
  assert.deepEqual(
    ['plant-0', 'plant-1'].map((name) => node.kubelet.findProcess(name)?.child.pid),
    processes,
  )

  await subscriber.endAsync()
  await publisher.publishAsync('plant/2', 'later', { qos: 1 })
  const disconnected = new Promise<number | undefined>((resolve) =>
    publisher.once('disconnect', ({ reasonCode }) => resolve(reasonCode)),
  )
  apply(createSpec({ replicas: 1, emqxTemplate: { ...template, acl, listener } }))
  await untilHealthy()
  assert.equal(await disconnected, 0x9c)
  await eventually(() => assert.equal(find('Pod', 'plant-1'), undefined))

  operator.child.kill('SIGKILL')
  await operator.ended
  apply(createSpec({ replicas: 2, emqxTemplate: { ...template, acl, listener } }))
  node.startOperator()
  await untilHealthy()
  const returned = await connect('plant-1', { clientId: 'meter', ...persistent, autoUseTopicAlias: false })
  const stored = await new Promise<string>((resolve) =>
    returned.once('message', (_topic, payload) => resolve(payload.toString())),
  )
  assert.equal(stored, 'later')

  const uid = find('Pod', 'plant-1')?.metadata.uid
  const killed = node.kubelet.findProcess('plant-1')
  killed?.child.kill('SIGKILL')
  await killed?.ended
  await eventually(() => assert.notEqual(node.kubelet.findProcess('plant-1'), killed))
  await untilHealthy()
  assert.equal(find('Pod', 'plant-1')?.metadata.uid, uid)
  await eventually(async () => assert.ok(await connect('plant-1').catch(() => undefined)))

  apply(createSpec({ image: 'registry.example/godwit:2.0', emqxTemplate: { ...template, acl, listener } }))
  await untilHealthy()
  for (const name of ['plant-0', 'plant-1']) {
    const [container] = getPath(find('Pod', name), '.spec.containers') as { image: string }[]
    assert.equal(container?.image, 'registry.example/godwit:2.0')
  }
})
