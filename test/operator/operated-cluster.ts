// An operator, an API server and clusters, for the tests of the operator.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { resourceKinds } from '../../src/deploy/index.ts'
import { KubeClient } from '../../src/kubernetes/index.ts'
import { type BrokerApi, type BrokerDrain, type RunningOperator, startOperator } from '../../src/operator/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { startInstantKubelet } from '../kube/instant-kubelet.ts'
import { startKubeApi, type KubeApi } from '../kube/kube-api.ts'
import { getPath, type KubeObject } from '../kube/kube-object.ts'

const namespace = 'default'
const manager = 'test'

export interface OperatedCluster {
  readonly api: KubeApi
  /** Requests that changed something. */
  readonly writes: () => readonly string[]
  readonly startOperator: (identity?: string) => Promise<RunningOperator>
  readonly apply: (name: string, spec: object, kind?: string) => void
  readonly find: (kind: string, name: string) => KubeObject | undefined
  readonly list: (kind: string) => readonly KubeObject[]
  readonly condition: (
    name: string,
    type: string,
  ) => { readonly status?: string; readonly reason?: string; readonly message?: string }
  /** Waits until the cluster has reached the wanted state. */
  readonly untilComplete: (name: string) => Promise<void>
  /** Pods that are not ready, by their image. */
  readonly brokenImages: Set<string>
  readonly drains: string[]
  /** Clients that are connected to each pod. */
  readonly clients: Map<string, number>
}

export async function startCluster(t: TestContext): Promise<OperatedCluster> {
  const api = await startKubeApi()
  t.after(() => api.close())
  const { operations } = api
  const brokenImages = new Set<string>()
  startInstantKubelet(operations, (pod) => !brokenImages.has(readImage(pod)))
  for (const kind of resourceKinds) {
    operations.create(operations.getKind('CustomResourceDefinition'), '', defineResource(kind), { manager })
  }
  const drains: string[] = []
  const clients = new Map<string, number>()
  const brokers = createBrokers(api, drains, clients)
  const find = (kind: string, name: string): KubeObject | undefined =>
    operations.store.get(operations.getKind(kind), namespace, name)
  const condition: OperatedCluster['condition'] = (name, type) => {
    const conditions = (getPath(find('GodwitCluster', name), '.status.conditions') ?? []) as { type: string }[]
    return conditions.find((candidate) => candidate.type === type) ?? {}
  }
  return {
    api,
    writes: () => api.requests.filter((request) => !request.startsWith('GET') && !request.includes('/leases')),
    brokenImages,
    drains,
    clients,
    find,
    condition,
    list: (kind) => {
      const apiVersion = kind === 'Event' ? 'events.k8s.io/v1' : undefined
      return operations.store.list(operations.getKind(kind, apiVersion), namespace)
    },
    apply: (name, spec, kind = 'GodwitCluster') => {
      const type = operations.getKind(kind)
      const apiVersion = `${type.group}/${type.version}`
      operations.apply(
        { type, namespace, name },
        { apiVersion, kind, metadata: { name }, spec },
        { manager, isForced: true },
      )
    },
    untilComplete: (name) =>
      eventually(() => {
        const resource = find('GodwitCluster', name)
        assert.equal(getPath(resource, '.status.observedGeneration'), resource?.metadata.generation)
        assert.equal(condition(name, 'Progressing').reason, 'Complete', JSON.stringify(getPath(resource, '.status')))
      }),
    startOperator: async (identity = 'operator-1') => {
      const operator = await startOperator({
        client: createClient(api),
        namespaces: [namespace],
        acceptsEmqx: true,
        usesLeaderElection: true,
        identity,
        log: silentLog,
        healthPort: 0,
        brokers,
      })
      t.after(() => operator.stop())
      return operator
    },
  }
}

function createClient(api: KubeApi): KubeClient {
  return new KubeClient({
    server: api.url,
    authorities: undefined,
    clientCertificate: undefined,
    serverName: undefined,
    skipsVerification: false,
    readToken: () => undefined,
    namespace: 'kube-system',
  })
}

const ignore = (): void => {}
const silentLog = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** A definition that accepts every specification: the operator checks it. */
export function defineResource({ group, kind, plural }: (typeof resourceKinds)[number]): object {
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1beta2',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: free, status: free } } },
        },
      ],
    },
  }
}

function readImage(pod: KubeObject): string {
  return (getPath(pod, '.spec.containers') as { image: string }[])[0]?.image ?? ''
}

/** The brokers of pods that run nothing: each has applied the files that the API server has. */
function createBrokers({ operations }: KubeApi, drains: string[], clients: Map<string, number>): BrokerApi {
  const drained = new Map<string, number>()
  const findPod = (host: string): KubeObject => {
    const pods = operations.store.list(operations.getKind('Pod'))
    const pod = pods.find((candidate) => getPath(candidate, '.status.podIP') === host)
    assert.ok(pod, host)
    return pod
  }
  const report = (host: string): BrokerDrain => ({
    connected: clients.get(findPod(host).metadata.name) ?? 0,
    startedAtMs: drained.get(host),
  })
  return {
    drain: async ({ host }) => {
      if (!drained.has(host)) drains.push(findPod(host).metadata.name)
      drained.set(host, drained.get(host) ?? Date.now())
      return report(host)
    },
    cancelDrain: async ({ host }) => void drained.delete(host),
    readDrain: async ({ host }) => report(host),
    readReport: async ({ host }) => {
      const { labels = {}, namespace: own = '' } = findPod(host).metadata
      const type = operations.getKind('ConfigMap')
      const hashes = ['config', 'acl'].flatMap((folder) => {
        const map = operations.store.get(type, own, `${labels['apps.godwit.io/instance']}-${folder}`)
        const files = Object.entries((map?.['data'] ?? {}) as { [key: string]: string })
        return files.map(
          ([file, text]) => [`${folder}/${file}`, createHash('sha256').update(text).digest('hex')] as const,
        )
      })
      return { version: '1.0.0', files: { hashes: new Map(hashes), problems: [] } }
    },
  }
}
