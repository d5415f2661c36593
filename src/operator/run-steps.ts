// Carries out the steps of a plan.

import { fileNames, nameObjects, readPath, type ClusterResource, type PlanStep } from '../deploy/index.ts'
import {
  formatApiVersion,
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeFields,
  type KubeResource,
  type ResourceAddress,
  type ResourceKind,
} from '../kubernetes/index.ts'
import { createSecrets } from '../manifests/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { BrokerAddress, BrokerApi } from './broker-api.ts'
import { objectKinds, podMonitors, serviceAccounts } from './watched-kinds.ts'

/** Owner of the fields that the operator applies. */
export const fieldManager = 'godwit-operator'

export interface StepRunnerOptions {
  readonly client: KubeClient
  readonly brokers: BrokerApi
  readonly log: Log
  readonly objects: readonly KubeResource[]
  /** Undefined: the Secret of the operator does not exist yet. */
  readonly privateKey: string | undefined
}

export interface StepContext {
  readonly cluster: ClusterResource
  readonly resource: KubeResource
  readonly namespace: string
}

export class StepRunner {
  readonly #options: StepRunnerOptions
  /** Clients of the broker that was drained last; undefined: it does not respond. */
  connected: number | undefined

  constructor(options: StepRunnerOptions) {
    this.#options = options
  }

  /** Resolves with the object after an apply. */
  async run(step: PlanStep, context: StepContext): Promise<KubeResource | undefined> {
    const { client, log } = this.#options
    const { namespace } = context
    switch (step.step) {
      case 'create-secrets':
        return this.#createSecrets(step.names, context)
      case 'create': {
        const { object } = step
        return this.#createOnce({ kind: findKind(object.kind), namespace }, object)
      }
      case 'apply': {
        const { kind, metadata } = step.object
        log.info('object applied', { namespace, kind, name: metadata.name })
        return client.apply({ kind: findKind(kind), namespace, name: metadata.name }, step.object, fieldManager)
      }
      case 'delete':
        return this.#delete(step.object.kind, step.object.metadata, context, 'Background')
      case 'orphan':
        return this.#delete(step.object.kind, step.object.metadata, context, 'Orphan')
      case 'grow-claim': {
        const { name, storage } = step
        const body = { spec: { resources: { requests: { storage } } } }
        log.info('volume enlarged', { namespace, claim: name, storage })
        await client.mergePatch({ kind: findKind('PersistentVolumeClaim'), namespace, name }, body)
        return undefined
      }
      case 'drain':
      case 'cancel-drain':
        await this.#drain(step)
        return undefined
      default:
        return step satisfies never
    }
  }

  /** Returns the API of the broker in a ready pod. */
  findBroker(podName: string): BrokerAddress | undefined {
    const { objects, privateKey } = this.#options
    const pod = objects.find(({ kind, metadata }) => kind === 'Pod' && metadata.name === podName)
    const host = readPath(pod, 'status', 'podIP')
    const containers = readPath(pod, 'spec', 'containers')
    const ports = Array.isArray(containers) ? containers.flatMap((container) => readPath(container, 'ports') ?? []) : []
    const port = readPath(
      ports.find((item) => readPath(item, 'name') === 'api'),
      'containerPort',
    )
    if (privateKey === undefined || typeof host !== 'string' || typeof port !== 'number') return undefined
    return { host, port, privateKey }
  }

  async #drain({ step, pod }: Extract<PlanStep, { readonly step: 'drain' | 'cancel-drain' }>): Promise<void> {
    const { brokers, log } = this.#options
    this.connected = undefined
    const address = this.findBroker(pod.name)
    if (address === undefined) return
    try {
      if (step === 'cancel-drain') {
        await brokers.cancelDrain(address)
        log.info('drain ended', { pod: pod.name })
        return
      }
      this.connected = (await brokers.drain(address)).connected
      log.info('broker drained', { pod: pod.name, connected: this.connected })
    } catch (error) {
      // The plan decides by the time since the first attempt.
      log.warn('broker not drained', { pod: pod.name, problem: String(error) })
    }
  }

  async #delete(
    kind: string,
    { name, uid }: { readonly name: string; readonly uid: string },
    { namespace }: StepContext,
    propagationPolicy: 'Background' | 'Orphan',
  ): Promise<undefined> {
    const { client, log } = this.#options
    log.info('object deleted', { namespace, kind, name, propagationPolicy })
    try {
      await client.delete({ kind: findKind(kind), namespace, name }, { propagationPolicy, preconditions: { uid } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Creates the Secrets once. An object that exists is never overwritten. */
  async #createSecrets(missing: readonly string[], { cluster, resource, namespace }: StepContext): Promise<undefined> {
    const { name } = cluster.metadata
    const secrets = createSecrets()
    const names = nameObjects(name)
    const contents = new Map<string, Readonly<Record<string, string>>>([
      [names.admin, { username: secrets.adminUsername, password: secrets.adminPassword }],
      [
        names.operator,
        {
          [fileNames.operatorPrivateKey]: secrets.operatorPrivateKey,
          [fileNames.operatorPublicKey]: secrets.operatorPublicKey,
        },
      ],
    ])
    for (const [secretName, stringData] of contents) {
      if (!missing.includes(secretName)) continue
      const owner = findOwner(resource, cluster)
      const metadata = { name: secretName, labels: listSecretLabels(name), ownerReferences: [owner] }
      const body = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData }
      await this.#createOnce({ kind: findKind('Secret'), namespace }, body)
    }
  }

  /** An object that was created meanwhile stays as it is. */
  async #createOnce(address: ResourceAddress, body: KubeFields): Promise<undefined> {
    try {
      await this.#options.client.create(address, body)
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

function findOwner({ metadata: { name, uid } }: KubeResource, { group, kind }: ClusterResource): object {
  const apiVersion = formatApiVersion({ group, version: 'v1beta2', plural: '', kind })
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

function listSecretLabels(name: string): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/name': 'godwit',
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'godwit-operator',
    'apps.godwit.io/instance': name,
  }
}

function findKind(kind: string): ResourceKind {
  if (kind === 'ServiceAccount') return serviceAccounts
  if (kind === 'PodMonitor') return podMonitors
  const found = objectKinds[kind]
  if (found === undefined) throw new Error(`objects of the kind ${kind} are not written`)
  return found
}
