// The operator: watches resources, and reconciles each of them.

import { KeyedQueue, type KubeClient, type ResourceKind } from '../kubernetes/index.ts'
import type { Log } from '../telemetry/index.ts'
import { brokerApi, type BrokerApi } from './broker-api.ts'
import { ClusterCache } from './cluster-cache.ts'
import { ClusterReconciler } from './cluster-reconciler.ts'
import { type HealthServer, startHealthServer } from './health-server.ts'
import { LeaderLease } from './leader-lease.ts'
import { listClusterKinds } from './watched-kinds.ts'

export interface OperatorOptions {
  readonly client: KubeClient
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined
  /** Resources of the group of EMQX are served as well. */
  readonly acceptsEmqx: boolean
  readonly usesLeaderElection: boolean
  /** Unique among the operators. */
  readonly identity: string
  readonly log: Log
  /** Port of probes and metrics; 0: a free one. */
  readonly healthPort: number
  /** Default: requests to the pods. */
  readonly brokers?: BrokerApi
}

export interface RunningOperator {
  readonly healthPort: number
  /** Resolves when the operator has ended: stopped, or without its lease. */
  readonly ended: Promise<'stopped' | 'lost'>
  stop(): Promise<void>
}

/** Clusters that are handled at the same time. */
const maxRuns = 8

export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const operator = new Operator(options)
  return operator.start()
}

class Operator {
  readonly #options: OperatorOptions
  readonly #kinds: readonly ResourceKind[]
  readonly #queue: KeyedQueue
  readonly #cache: ClusterCache
  readonly #reconciler: ClusterReconciler
  readonly #lease: LeaderLease | undefined
  #isReady = false
  #isLeading = false
  #isSynced = false
  #runs = 0
  #failures = 0

  constructor(options: OperatorOptions) {
    const { client, namespaces, log, identity, brokers = brokerApi } = options
    this.#options = options
    this.#kinds = listClusterKinds(options.acceptsEmqx)
    this.#queue = new KeyedQueue({
      handle: (key) => this.#handle(key),
      onProblem: (key, error, retryInMs) => {
        this.#failures += 1
        log.error('cluster not reconciled', { key, problem: String(error), retryInMs })
      },
      maxRuns,
    })
    this.#cache = new ClusterCache({
      client,
      namespaces,
      clusterKinds: this.#kinds,
      onChange: (namespace, name) => this.#enqueue(namespace, name),
      onProblem: (kind, problem) => log.warn('watch failed', { kind, problem }),
    })
    this.#reconciler = new ClusterReconciler({
      client,
      cache: this.#cache,
      brokers,
      log,
      identity,
      nowMs: () => Date.now(),
    })
    const namespace = client.namespace
    this.#lease = options.usesLeaderElection
      ? new LeaderLease({ client, namespace, identity, log, nowMs: () => performance.now(), wallMs: () => Date.now() })
      : undefined
  }

  async start(): Promise<RunningOperator> {
    const health = await startHealthServer(this.#options.healthPort, {
      isReady: () => this.#isReady,
      readMetrics: () => ({
        godwit_operator_leader: {
          help: 'Whether this operator has the lease.',
          type: 'gauge',
          value: Number(this.#isLeading),
        },
        godwit_operator_queue_length: {
          help: 'Clusters that wait or are handled.',
          type: 'gauge',
          value: this.#queue.length,
        },
        godwit_operator_reconciliations_total: { help: 'Runs over clusters.', type: 'counter', value: this.#runs },
        godwit_operator_failures_total: { help: 'Runs that failed.', type: 'counter', value: this.#failures },
      }),
    })
    const ended = this.#run()
    return { healthPort: health.port, ended, stop: () => this.#stop(health, ended) }
  }

  async #run(): Promise<'stopped' | 'lost'> {
    const { log } = this.#options
    this.#isReady = true
    if (this.#lease !== undefined && !(await this.#lease.acquire())) return 'stopped'
    this.#isLeading = true
    const held = this.#lease?.hold() ?? this.#stopping.promise
    await this.#reconciler.start()
    const started = this.#cache.start()
    const begin = async (): Promise<'stopped' | 'lost'> => {
      await started
      // Without the list of all objects, what exists would seem to be missing.
      this.#isSynced = true
      for (const { namespace, name } of this.#cache.listResources()) this.#enqueue(namespace, name)
      return held
    }
    const result = await Promise.race([held, begin()])
    this.#isLeading = false
    this.#cache.stop()
    if (result === 'lost') log.error('lease lost', { remedy: 'the process ends and is started again' })
    return result
  }
  readonly #stopping = Promise.withResolvers<'stopped'>()

  async #stop(health: HealthServer, ended: Promise<unknown>): Promise<void> {
    this.#cache.stop()
    await this.#queue.stop()
    this.#stopping.resolve('stopped')
    await this.#lease?.stop()
    await ended
    await health.close()
    this.#options.client.close()
  }

  #enqueue(namespace: string, name: string): void {
    if (name === '' || !this.#isSynced) return
    for (const kind of this.#kinds) {
      if (this.#cache.findResource(kind.kind, namespace, name) !== undefined) {
        this.#queue.add(`${kind.kind}/${namespace}/${name}`)
      }
    }
  }

  async #handle(key: string): Promise<number | undefined> {
    const [kindName, namespace = '', name = ''] = key.split('/')
    const kind = this.#kinds.find((candidate) => candidate.kind === kindName)
    if (kind === undefined || !this.#isLeading) return undefined
    this.#runs += 1
    return this.#reconciler.reconcile(kind, namespace, name)
  }
}
