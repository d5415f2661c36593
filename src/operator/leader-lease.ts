// Leader election by a Lease: of several operators, one works. Times are those of the monotonic clock of this process, so that clocks that
// differ between machines or jump do not matter: https://kubernetes.io/docs/concepts/architecture/leases/

import { isConflict, isNotFound, type KubeClient, type KubeResource } from '../kubernetes/index.ts'
import type { Log } from '../telemetry/index.ts'
import { createLeaseBody } from './lease-body.ts'
import { readPath } from '../deploy/index.ts'
import { leases } from './watched-kinds.ts'

export interface LeaseOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>
  readonly namespace: string
  readonly identity: string
  readonly log: Log
  /** Monotonic clock. */
  readonly nowMs: () => number
  /** Wall clock, for the times in the Lease, which other operators do not use. */
  readonly wallMs: () => number
}

/** A lease that was not renewed for this time is free. */
const durationMs = 15_000
/** A leader that could not renew for this time stops working: before others may begin. */
const renewDeadlineMs = 10_000
const retryMs = 2_000
const leaseName = 'godwit-operator'

export class LeaderLease {
  readonly #options: LeaseOptions
  #isStopped = false
  #held: KubeResource | undefined
  #wake: (() => void) | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Resolves when this operator has the lease; false: it was stopped before. */
  async acquire(): Promise<boolean> {
    const { log, nowMs } = this.#options
    let seenVersion = ''
    let seenAtMs = nowMs()
    while (!this.#isStopped) {
      try {
        const lease = await this.#find()
        const version = lease?.metadata.resourceVersion ?? ''
        if (version !== seenVersion) [seenVersion, seenAtMs] = [version, nowMs()]
        const holder = readPath(lease, 'spec', 'holderIdentity')
        const isFree = holder === undefined || holder === '' || holder === this.#options.identity
        if (isFree || nowMs() - seenAtMs >= durationMs) {
          this.#held = await this.#write(lease)
          log.info('lease acquired', { identity: this.#options.identity })
          return true
        }
      } catch (error) {
        if (!isConflict(error)) log.warn('lease not acquired', { problem: String(error) })
      }
      await this.#wait(retryMs)
    }
    return false
  }

  /** Renews the lease. Resolves when it is lost, or after `stop`. */
  async hold(): Promise<'lost' | 'stopped'> {
    const { log, nowMs } = this.#options
    let renewedAtMs = nowMs()
    while (!this.#isStopped) {
      await this.#wait(retryMs)
      if (this.#isStopped) break
      try {
        this.#held = await this.#write(this.#held)
        renewedAtMs = nowMs()
      } catch (error) {
        const isTaken = isConflict(error) || isNotFound(error)
        log.warn('lease not renewed', { problem: String(error) })
        if (isTaken || nowMs() - renewedAtMs >= renewDeadlineMs) return 'lost'
      }
    }
    return 'stopped'
  }

  /** Gives the lease back, so that another operator begins at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake?.()
    const held = this.#held
    if (held === undefined) return
    try {
      await this.#write(held, '')
    } catch (error) {
      // Another operator begins when the lease has expired.
      this.#options.log.warn('lease not released', { problem: String(error) })
    }
  }

  #find(): Promise<KubeResource | undefined> {
    return this.#options.client.find({ kind: leases, namespace: this.#options.namespace, name: leaseName })
  }

  #write(lease: KubeResource | undefined, holder = this.#options.identity): Promise<KubeResource> {
    const { client, namespace, wallMs } = this.#options
    const body = createLeaseBody(lease, {
      name: leaseName,
      holder,
      durationSeconds: durationMs / 1_000,
      nowMs: wallMs(),
    })
    if (lease === undefined) return client.create({ kind: leases, namespace }, body)
    return client.replace({ kind: leases, namespace, name: leaseName }, body)
  }

  #wait(timeMs: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
