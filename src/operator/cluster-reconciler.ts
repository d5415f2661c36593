// Brings one cluster from its observed state to the wanted one, and writes its status.

import { isDeepStrictEqual } from 'node:util'
import {
  computeStatus,
  fileNames,
  formatSettled,
  listTransitions,
  nameObjects,
  planCluster,
  readPath,
  fromJson,
  type ClusterPlan,
  type ClusterResource,
  type Condition,
  type JsonValue,
  type LiveObject,
  type ObservedCluster,
  type PlanStep,
} from '../deploy/index.ts'
import {
  formatApiVersion,
  type KubeClient,
  type KubeFields,
  type KubeResource,
  type ResourceKind,
} from '../kubernetes/index.ts'
import { hashText, validateDocument } from '../manifests/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { BrokerApi } from './broker-api.ts'
import type { ClusterCache } from './cluster-cache.ts'
import { StepRunner, fieldManager } from './run-steps.ts'
import { observeCluster, type PodMemory } from './observe-cluster.ts'
import { readCertificates } from './certificate-expiry.ts'
import { createEvent } from './create-event.ts'
import { events, podMonitors, serviceAccounts, storageClasses } from './watched-kinds.ts'

export interface ReconcilerOptions {
  readonly client: KubeClient
  readonly cache: ClusterCache
  readonly brokers: BrokerApi
  readonly log: Log
  readonly identity: string
  readonly nowMs: () => number
}

/** Time until brokers are asked again while something is awaited of them. */
const pollMs = 1_000
/** Time until a cluster without changes is checked again. */
const idleMs = 300_000
/** Settled contents that are remembered for each cluster: a few for each of its objects. */
const maxSettled = 256

export class ClusterReconciler {
  readonly #options: ReconcilerOptions
  readonly #pods = new Map<string, PodMemory>()
  readonly #settled = new Map<string, Set<string>>()
  readonly #expandable = new Map<string, boolean>()
  #hasPodMonitors = false

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Reads what does not change while the operator runs: the types of the API server and its storage classes. */
  async start(): Promise<void> {
    this.#hasPodMonitors = await this.#hasType(podMonitors)
    await this.#readStorageClasses()
  }

  /** Resolves with the time after which the cluster is handled again; undefined: at its next change. */
  async reconcile(kind: ResourceKind, namespace: string, name: string): Promise<number | undefined> {
    const { cache } = this.#options
    const resource = cache.findResource(kind.kind, namespace, name)
    const key = `${kind.kind}/${namespace}/${name}`
    if (resource === undefined || resource.metadata.deletionTimestamp !== undefined) {
      this.#settled.delete(key)
      return undefined
    }
    const document = { ...resource, apiVersion: formatApiVersion(kind), kind: kind.kind, status: undefined }
    const node = fromJson(dropUndefined(document))
    if (node === undefined) return undefined
    const read = validateDocument(node)
    const cluster = read.resource?.subject === 'cluster' ? read.resource : undefined
    const observed = await this.#observe(resource, cluster, key)
    const plan = cluster === undefined ? undefined : this.#plan(cluster, resource, kind, observed)
    if (cluster !== undefined && plan !== undefined) await this.#runSteps(cluster, resource, plan, key)
    const after = plan === undefined ? observed : await this.#observe(resource, cluster, key)
    await this.#writeStatus(kind, resource, {
      cluster,
      faults: read.faults,
      plan,
      observed: after,
      version: this.#findVersion(after),
      certificates: cluster === undefined ? [] : readCertificates(cluster, cache.listObjects(namespace, name)),
    })
    const isWaiting =
      plan !== undefined && (plan.set.progress.reason !== 'Complete' || this.#hasPendingFiles(plan, after))
    return isWaiting ? pollMs : idleMs
  }

  async #observe(resource: KubeResource, cluster: ClusterResource | undefined, key: string): Promise<ObservedCluster> {
    const { cache, client, nowMs } = this.#options
    const { name, namespace = '' } = resource.metadata
    const objects = cache.listObjects(namespace, name)
    await this.#queryBrokers(objects, name)
    const account = cluster?.spec.serviceAccountName ?? ''
    const address = { kind: serviceAccounts, namespace, name: account === '' ? name : account }
    const settled = this.#settled.get(key) ?? new Set<string>()
    const hasServiceAccount = settled.has(`account/${address.name}`) || (await client.find(address)) !== undefined
    if (hasServiceAccount) this.#remember(key, `account/${address.name}`)
    return observeCluster({
      resource,
      objects,
      hasPodMonitors: this.#hasPodMonitors,
      hasServiceAccount,
      settled,
      nowMs: nowMs(),
      findPodMemory: (uid) => this.#pods.get(uid),
      isExpandable: (storageClass) => this.#expandable.get(storageClass) === true,
    })
  }

  /** Asks ready brokers for their files and their drain. A broker that does not respond is asked again at the next run. */
  async #queryBrokers(objects: readonly KubeResource[], instance: string): Promise<void> {
    const runner = this.#createRunner(objects, instance)
    const pods = objects.filter(({ kind }) => kind === 'Pod')
    await Promise.all(
      pods.map(async (pod) => {
        const { uid } = pod.metadata
        const memory = this.#pods.get(uid) ?? {}
        this.#pods.set(uid, memory)
        const address = runner.findBroker(pod.metadata.name)
        if (address === undefined) return
        try {
          const report = await this.#options.brokers.readReport(address)
          memory.files = report.files
          memory.version = report.version
          const { startedAtMs, connected } = await this.#options.brokers.readDrain(address)
          memory.drain = startedAtMs === undefined ? undefined : { startedAtMs, connected }
        } catch (error) {
          this.#options.log.debug('broker does not respond', { pod: pod.metadata.name, problem: String(error) })
        }
      }),
    )
  }

  #plan(cluster: ClusterResource, resource: KubeResource, kind: ResourceKind, observed: ObservedCluster): ClusterPlan {
    const { name, uid, namespace = '' } = resource.metadata
    const owner = { apiVersion: formatApiVersion(kind), kind: kind.kind, name, uid }
    return planCluster(cluster, observed, { owner, namespace, hashText })
  }

  async #runSteps(cluster: ClusterResource, resource: KubeResource, plan: ClusterPlan, key: string): Promise<void> {
    const { name, namespace = '' } = resource.metadata
    const runner = this.#createRunner(this.#options.cache.listObjects(namespace, name), name)
    for (const step of plan.steps) {
      const live = await runner.run(step, { cluster, resource, namespace })
      if (step.step === 'apply' && live !== undefined) {
        this.#remember(key, formatSettled(step.object.kind, step.object.metadata.name, live as LiveObject))
      }
      this.#recordDrain(step, runner)
    }
  }

  #recordDrain(step: PlanStep, runner: StepRunner): void {
    if (step.step !== 'drain' && step.step !== 'cancel-drain') return
    const memory = this.#pods.get(step.pod.uid) ?? {}
    const startedAtMs = memory.drain?.startedAtMs ?? this.#options.nowMs()
    memory.drain = step.step === 'drain' ? { startedAtMs, connected: runner.connected } : undefined
    this.#pods.set(step.pod.uid, memory)
  }

  #createRunner(objects: readonly KubeResource[], instance: string): StepRunner {
    const { client, brokers, log } = this.#options
    const secret = objects.find(
      ({ kind, metadata }) => kind === 'Secret' && metadata.name === nameObjects(instance).operator,
    )
    const encoded = readPath(secret, 'data', fileNames.operatorPrivateKey)
    const privateKey = typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString() : undefined
    return new StepRunner({ client, brokers, log, objects, privateKey })
  }

  #remember(key: string, entry: string): void {
    const settled = this.#settled.get(key) ?? new Set<string>()
    settled.add(entry)
    for (const oldest of settled) {
      if (settled.size <= maxSettled) break
      settled.delete(oldest)
    }
    this.#settled.set(key, settled)
  }

  #findVersion({ pods }: ObservedCluster): string {
    const versions = pods.flatMap(({ uid }) => this.#pods.get(uid)?.version ?? [])
    return [...new Set(versions)].toSorted((a, b) => a.localeCompare(b)).join(', ')
  }

  #hasPendingFiles({ files }: ClusterPlan, { pods }: ObservedCluster): boolean {
    return pods.some((pod) => pod.isReady && [...files].some(([path, hash]) => pod.files?.hashes.get(path) !== hash))
  }

  async #writeStatus(
    kind: ResourceKind,
    resource: KubeResource,
    facts: Pick<
      Parameters<typeof computeStatus>[0],
      'cluster' | 'faults' | 'plan' | 'observed' | 'version' | 'certificates'
    >,
  ): Promise<void> {
    const { client, identity, nowMs, log } = this.#options
    const { name, namespace = '', generation = 0 } = resource.metadata
    const previous = (readPath(resource, 'status', 'conditions') ?? []) as readonly Condition[]
    const set = facts.observed.objects.find((object) => object.kind === 'StatefulSet')
    const updateRevision = readPath(set, 'status', 'updateRevision')
    const status = computeStatus({ ...facts, generation, name, updateRevision, previous })
    if (isDeepStrictEqual(readPath(resource, 'status'), status)) return
    const body = { apiVersion: formatApiVersion(kind), kind: kind.kind, metadata: { name }, status }
    await client.apply({ kind, namespace, name, subresource: 'status' }, body, fieldManager)
    for (const transition of listTransitions(previous, status.conditions)) {
      log.info('condition changed', { namespace, name, reason: transition.reason, note: transition.note })
      const event = createEvent(transition, { kind, resource, identity, nowMs: nowMs() })
      await client.create({ kind: events, namespace }, event)
    }
  }

  async #hasType({ group, version, plural }: ResourceKind): Promise<boolean> {
    try {
      const list = await this.#options.client.request('GET', `/apis/${group}/${version}`)
      const resources = readPath(list, 'resources')
      return Array.isArray(resources) && resources.some((item) => readPath(item, 'name') === plural)
    } catch (error) {
      this.#options.log.debug('type not found', { plural, problem: String(error) })
      return false
    }
  }

  /** Without the right to read storage classes, volumes are not enlarged. */
  async #readStorageClasses(): Promise<void> {
    try {
      const { items } = await this.#options.client.listPage({ kind: storageClasses }, {})
      for (const item of items) this.#expandable.set(item.metadata.name, item['allowVolumeExpansion'] === true)
    } catch (error) {
      this.#options.log.warn('storage classes not read', { problem: String(error), effect: 'volumes are not enlarged' })
    }
  }
}

function dropUndefined(fields: KubeFields): JsonValue {
  return JSON.parse(JSON.stringify(fields)) as JsonValue
}
