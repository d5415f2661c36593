// Bans by client ID, user name, address or address range. An expired ban has no effect, and is deleted when it is
// found.

import { isInRange, parseAddress, parseAddressRange, type Address, type AddressRange } from '../../config/index.ts'
import type { AccessRecordKey, BanRecord } from '../../records/index.ts'

type BanKey = Extract<AccessRecordKey, { kind: 'ban' }>

/** The properties of a client that bans concern. */
export interface BanSubject {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' if unknown. */
  readonly peerAddress: string
}

interface RangeBan {
  readonly range: AddressRange
  readonly record: BanRecord
}

export class BanList {
  readonly #byClientId = new Map<string, BanRecord>()
  readonly #byUsername = new Map<string, BanRecord>()
  /** Single addresses, by their bits, independent of their spelling. */
  readonly #byAddress = new Map<string, BanRecord>()
  /** Ranges, by their bits and length. */
  readonly #byRange = new Map<string, RangeBan>()

  get count(): number {
    return this.#byClientId.size + this.#byUsername.size + this.#byAddress.size + this.#byRange.size
  }

  put(record: BanRecord): void {
    if (record.as === 'clientid') this.#byClientId.set(record.who, record)
    else if (record.as === 'username') this.#byUsername.set(record.who, record)
    else {
      const range = parseAddressRange(record.who)
      // It was validated when it was stored. An invalid address bans no client.
      if (range === undefined) return
      if (isSingle(range)) this.#byAddress.set(toRangeKey(range), record)
      else this.#byRange.set(toRangeKey(range), { range, record })
    }
  }

  delete({ as, who }: BanKey): void {
    if (as === 'clientid') this.#byClientId.delete(who)
    else if (as === 'username') this.#byUsername.delete(who)
    else {
      const range = parseAddressRange(who)
      if (range === undefined) return
      this.#byAddress.delete(toRangeKey(range))
      this.#byRange.delete(toRangeKey(range))
    }
  }

  /** Returns the ban of this client; undefined if there is none. */
  find({ clientId, username, peerAddress }: BanSubject, nowMs: number): BanRecord | undefined {
    if (this.count === 0) return undefined
    const byName =
      findActive(this.#byClientId, clientId, nowMs) ??
      (username === undefined ? undefined : findActive(this.#byUsername, username, nowMs))
    if (byName !== undefined) return byName
    const address = parseAddress(peerAddress)
    return address === undefined ? undefined : this.#findAddress(address, nowMs)
  }

  #findAddress(address: Address, nowMs: number): BanRecord | undefined {
    const single = findActive(this.#byAddress, toRangeKey({ ...address, prefixBits: countAddressBits(address) }), nowMs)
    if (single !== undefined) return single
    for (const [key, { range, record }] of this.#byRange) {
      if (hasExpired(record, nowMs)) this.#byRange.delete(key)
      else if (isInRange(address, range)) return record
    }
    return undefined
  }
}

function findActive(bans: Map<string, BanRecord>, key: string, nowMs: number): BanRecord | undefined {
  const record = bans.get(key)
  if (record === undefined || !hasExpired(record, nowMs)) return record
  bans.delete(key)
  return undefined
}

/** Returns whether a ban has expired. */
export function hasExpired({ untilMs }: BanRecord, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs
}

function isSingle(range: AddressRange): boolean {
  return range.prefixBits === countAddressBits(range)
}

function countAddressBits({ family }: Address): number {
  return family === 4 ? 32 : 128
}

/** The same for every spelling of a range: bits beyond its length are omitted. */
function toRangeKey({ family, words, prefixBits }: AddressRange): string {
  const counting = words.map((word, index) => {
    const bits = Math.min(32, Math.max(0, prefixBits - index * 32))
    return bits === 0 ? 0 : (word & (0xffff_ffff << (32 - bits))) >>> 0
  })
  return `${family} ${counting.join(' ')} / ${prefixBits}`
}
