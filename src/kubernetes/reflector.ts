// A copy of all objects of one kind: listed once, then kept by a watch.

import { Backoff } from './retry-backoff.ts'
import type { KubeClient, WatchEvent } from './kube-client.ts'
import { KubeRequestError, type KubeResource } from './kube-types.ts'
import type { ResourceAddress } from './resource-path.ts'

export interface ReflectorOptions {
  readonly client: Pick<KubeClient, 'listPage' | 'watch'>
  /** Collection in one namespace, or in all. */
  readonly address: ResourceAddress
  readonly labelSelector?: string | undefined
  /** Returns what is kept of an object. */
  readonly reduce?: (object: KubeResource) => KubeResource
  /** An object was added, changed or deleted. `object` is its last state. */
  readonly onChange: (object: KubeResource) => void
  readonly onProblem: (problem: string) => void
}

const pageLimit = 500
const watchTimeoutSeconds = 290
const minBackoffMs = 1_000
const maxBackoffMs = 30_000

/** The version is not known to the server any more: all objects are listed again. */
class ExpiredError extends Error {}

export class Reflector {
  readonly #options: ReflectorOptions
  readonly #objects = new Map<string, KubeResource>()
  readonly #ending = new AbortController()
  readonly #synced = Promise.withResolvers<undefined>()
  readonly #backoff = new Backoff(minBackoffMs, maxBackoffMs)
  #resourceVersion: string | undefined
  #isSynced = false

  constructor(options: ReflectorOptions) {
    this.#options = options
  }

  /** Resolves when the objects were listed for the first time. */
  get synced(): Promise<undefined> {
    return this.#synced.promise
  }

  get isSynced(): boolean {
    return this.#isSynced
  }

  get(namespace: string, name: string): KubeResource | undefined {
    return this.#objects.get(`${namespace}/${name}`)
  }

  list(): IterableIterator<KubeResource> {
    return this.#objects.values()
  }

  /** Runs until `stop`. Failures are reported and repeated after 1 to 30 s. */
  async run(): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      try {
        await this.#listAndWatch()
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ExpiredError) {
          this.#resourceVersion = undefined
          continue
        }
        this.#options.onProblem(error instanceof Error ? error.message : String(error))
        await waitUnlessEnded(this.#backoff.recordFailure(), signal)
      }
    }
  }

  stop(): void {
    this.#ending.abort()
  }

  async #listAndWatch(): Promise<void> {
    const { client, address, labelSelector } = this.#options
    this.#resourceVersion ??= await this.#listAll()
    if (!this.#isSynced) {
      this.#isSynced = true
      this.#synced.resolve(undefined)
    }
    const { signal } = this.#ending
    const options = {
      resourceVersion: this.#resourceVersion,
      labelSelector,
      timeoutSeconds: watchTimeoutSeconds,
      signal,
    }
    try {
      await client.watch(address, options, (event) => this.#handleEvent(event))
    } catch (error) {
      if (error instanceof KubeRequestError && error.statusCode === 410) throw new ExpiredError()
      throw error
    }
    this.#backoff.recordSuccess()
  }

  /** Replaces the copy, and reports what has changed. Returns the version of the list. */
  async #listAll(): Promise<string> {
    const { client, address, labelSelector } = this.#options
    const found = new Map<string, KubeResource>()
    let version = ''
    let next: string | undefined
    do {
      const page = await client.listPage(address, { limit: pageLimit, labelSelector, continue: next })
      for (const item of page.items) found.set(createKey(item), item)
      version = page.resourceVersion
      next = page.next
    } while (next !== undefined)
    for (const [key, object] of this.#objects) if (!found.has(key)) this.#remove(key, object)
    for (const object of found.values()) this.#store(object)
    return version
  }

  #handleEvent({ type, object }: WatchEvent): void {
    if (type === 'ERROR') {
      if (object['code'] === 410) throw new ExpiredError()
      throw new Error(`the watch has failed: ${String(object['message'])}`)
    }
    const resource = object as KubeResource
    // The server responds as it should: the next failure is a new one.
    this.#backoff.recordSuccess()
    if (type === 'DELETED') this.#remove(createKey(resource), resource)
    else if (type !== 'BOOKMARK') this.#store(resource)
    this.#resourceVersion = resource.metadata.resourceVersion
  }

  #store(object: KubeResource): void {
    const { reduce, onChange } = this.#options
    const key = createKey(object)
    const known = this.#objects.get(key)?.metadata
    if (known?.resourceVersion === object.metadata.resourceVersion && known.uid === object.metadata.uid) return
    const kept = reduce === undefined ? object : reduce(object)
    this.#objects.set(key, kept)
    onChange(kept)
  }

  #remove(key: string, object: KubeResource): void {
    if (this.#objects.delete(key)) this.#options.onChange(object)
  }
}

function createKey({ metadata: { namespace = '', name } }: KubeResource): string {
  return `${namespace}/${name}`
}

/** Resolves after the time, or when the signal is aborted. */
function waitUnlessEnded(timeMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, timeMs)
    signal.addEventListener('abort', end)
  })
}
