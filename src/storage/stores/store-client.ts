// The connection of one shard to the database that all shards of a process share. The store owner (store-owner.ts) opens the database and
// grants access to shards. Before it opens the database again, it requests all shards to close it: LevelDB clears an error only when its
// last user has closed it.
//
//   shard                         store owner
//     |---------- enter ----------->|  opens the database if it is not open
//     |<--------- granted ----------|
//     |   (a commit fails)          |
//     |---------- renew ----------->|  probes the disk
//     |<-- recalled | failing ------|  recalled: to all shards that have it open; failing: and `ailing` to all
//     |---------- left ------------>|
//     |---------- enter ----------->|  opens it when all have left
//     |<--------- granted ----------|

import assert from 'node:assert/strict'
import { StorageFailure } from '../store.ts'

/** A message from a shard to the store owner. Must survive a structured clone. */
export type StoreRequest =
  /** `suspectedDamage`: what this shard could not read before, so that it is repaired first. */
  | { readonly kind: 'enter'; readonly suspectedDamage: string | undefined }
  /**
   * A write has failed: all shards must close the database and open it again. `suspectedDamage`: what is unreadable.
   */
  | { readonly kind: 'renew'; readonly suspectedDamage: string | undefined }
  /** The shard has closed its handle. Not intact: its last write may be missing, or something is unreadable. */
  | { readonly kind: 'left'; readonly isIntact: boolean }

/** A message from the store owner to a shard. Must survive a structured clone. */
export type StoreNotice =
  /** Payloads with IDs up to `sharedPayloadsUpTo` may be used by sessions of several shards. */
  | { readonly kind: 'granted'; readonly sharedPayloadsUpTo: number }
  | { readonly kind: 'recalled' }
  | { readonly kind: 'failing'; readonly why: string }
  /** The disk fails. Sent to all shards without a request. `serving`: the disk works again. */
  | { readonly kind: 'ailing'; readonly why: string }
  | { readonly kind: 'serving' }

/** The content of the store owner's grant. */
export type Grant = Extract<StoreNotice, { kind: 'granted' }>

interface PendingRequest {
  readonly expectedNotice: 'granted' | 'recalled'
  resolve(notice: StoreNotice): void
  reject(error: unknown): void
}

/** The store client of a shard. The caller passes notices of the store owner to `handleNotice`. */
export class StoreClient {
  /** Called when all shards must close the database; the response is `left`, then `enter`. */
  onRecall: () => void
  /** Called when `trouble` has changed. */
  onTrouble: () => void
  /** Failure of the disk that another shard reported; undefined: there is none. */
  trouble: string | undefined
  readonly #post: (request: StoreRequest) => void
  #pending: PendingRequest | undefined

  constructor(post: (request: StoreRequest) => void) {
    this.onRecall = () => {}
    this.onTrouble = () => {}
    this.trouble = undefined
    this.#post = post
    this.#pending = undefined
  }

  /** Resolves when the database may be opened; rejects with StorageFailure if it cannot be opened now. */
  async join(suspectedDamage: string | undefined): Promise<Grant> {
    const notice = await this.#send({ kind: 'enter', suspectedDamage }, 'granted')
    assert(notice.kind === 'granted')
    return notice
  }

  /**
   * Resolves when all shards, including this one, were requested to close the database; rejects with StorageFailure while the disk
   * fails.
   */
  async requestReopen(suspectedDamage: string | undefined): Promise<void> {
    await this.#send({ kind: 'renew', suspectedDamage }, 'recalled')
  }

  leave(isIntact: boolean): void {
    this.#post({ kind: 'left', isIntact })
  }

  /** Handles a notice of the store owner. */
  handleNotice(notice: StoreNotice): void {
    if (notice.kind === 'ailing') return this.#changeTrouble(notice.why)
    if (notice.kind === 'serving') return this.#changeTrouble(undefined)
    const pending = this.#pending
    if (notice.kind === 'recalled' && pending?.expectedNotice !== 'recalled') return this.onRecall()
    // The recall is the response to a pending request.
    if (pending === undefined) return
    this.#pending = undefined
    if (notice.kind === 'failing') pending.reject(new StorageFailure(notice.why))
    else pending.resolve(notice)
  }

  #changeTrouble(trouble: string | undefined): void {
    if (this.trouble === trouble) return
    this.trouble = trouble
    this.onTrouble()
  }

  #send(request: StoreRequest, expectedNotice: PendingRequest['expectedNotice']): Promise<StoreNotice> {
    assert(this.#pending === undefined, 'one request at a time')
    return new Promise((resolve, reject) => {
      this.#pending = { expectedNotice, resolve, reject }
      this.#post(request)
    })
  }
}
