// The place of one shard at the database that all shards of a process share. The keeper (store-owner.ts) opens it, lets
// shards in, and asks all of them out before it opens it anew: LevelDB forgets a failure only when its last user has gone.
//
//   shard                         keeper
//     |---------- enter ----------->|  opens what is not open
//     |<--------- granted ----------|
//     |   (a commit fails)          |
//     |---------- renew ----------->|  does the disk take anything?
//     |<-- recalled | failing ------|  recalled: to all that are in; failing: and `ailing` to all
//     |---------- left ------------>|
//     |---------- enter ----------->|  opens it when nobody is in any more
//     |<--------- granted ----------|

import assert from 'node:assert/strict'
import { StorageFailure } from './store.ts'

/** From a shard to the keeper. Survives a structured clone. */
export type StoreRequest =
  /** `suspicion`: what could not be read when it was let in before, so that it is repaired first. */
  | { readonly ask: 'enter'; readonly suspectedDamage: string | undefined }
  /** A write has failed: everybody is to leave and to come back. `suspicion`: what cannot be read. */
  | { readonly ask: 'renew'; readonly suspectedDamage: string | undefined }
  /** It has closed its handle. Not sound: the last thing that it wrote may not be there, or something is unreadable. */
  | { readonly ask: 'left'; readonly isIntact: boolean }

/** From the keeper to a shard. Survives a structured clone. */
export type StoreNotice =
  /** Bodies with ids up to `sharedBodiesUpTo` may be referred to by sessions of several shards. */
  | { readonly tell: 'granted'; readonly sharedPayloadsUpTo: number }
  | { readonly tell: 'recalled' }
  | { readonly tell: 'failing'; readonly why: string }
  /** The disk takes nothing, whoever writes: to all, unasked. It is over with `serving`. */
  | { readonly tell: 'ailing'; readonly why: string }
  | { readonly tell: 'serving' }

/** What the keeper's grant says. */
export type Grant = Extract<StoreNotice, { tell: 'granted' }>

interface PendingRequest {
  readonly expectedNotice: 'granted' | 'recalled'
  resolve(notice: StoreNotice): void
  reject(error: unknown): void
}

/** The shard's end. Hand it what the keeper says by `note`. */
export class StoreClient {
  /** Hears that all are asked out; to be answered by `left` and `enter`. */
  onRecall: () => void
  /** Hears when `trouble` has changed. */
  onTrouble: () => void
  /** Why the disk takes nothing, as another one of the shards has found; undefined while nobody has. */
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

  /** Resolves when the database may be joined; rejects with StorageFailure where it cannot be opened now. */
  async join(suspectedDamage: string | undefined): Promise<Grant> {
    const notice = await this.#ask({ ask: 'enter', suspectedDamage }, 'granted')
    assert(notice.tell === 'granted')
    return notice
  }

  /** Resolves when everybody is asked out, this one too; rejects with StorageFailure while the disk takes nothing. */
  async requestReopen(suspectedDamage: string | undefined): Promise<void> {
    await this.#ask({ ask: 'renew', suspectedDamage }, 'recalled')
  }

  leave(isIntact: boolean): void {
    this.#post({ ask: 'left', isIntact })
  }

  /** What the keeper says. */
  handleNotice(notice: StoreNotice): void {
    if (notice.tell === 'ailing') return this.#changeTrouble(notice.why)
    if (notice.tell === 'serving') return this.#changeTrouble(undefined)
    const pending = this.#pending
    if (notice.tell === 'recalled' && pending?.expectedNotice !== 'recalled') return this.onRecall()
    // A renewal that is under way already has been answered by its recall.
    if (pending === undefined) return
    this.#pending = undefined
    if (notice.tell === 'failing') pending.reject(new StorageFailure(notice.why))
    else pending.resolve(notice)
  }

  #changeTrouble(trouble: string | undefined): void {
    if (this.trouble === trouble) return
    this.trouble = trouble
    this.onTrouble()
  }

  #ask(request: StoreRequest, answer: PendingRequest['expectedNotice']): Promise<StoreNotice> {
    assert(this.#pending === undefined, 'one question at a time')
    return new Promise((resolve, reject) => {
      this.#pending = { expectedNotice: answer, resolve, reject }
      this.#post(request)
    })
  }
}
