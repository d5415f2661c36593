// Detects repeated records of an epoch (RFC 6347 4.1.2.6).

const windowSize = 64
const mask = (1n << BigInt(windowSize)) - 1n

export class ReplayWindow {
  #latest = -1
  /** Bit n: the record `latest - n` was received. */
  #seen = 0n

  isNew(sequence: number): boolean {
    const behind = this.#latest - sequence
    if (behind < 0) return true
    return behind < windowSize && ((this.#seen >> BigInt(behind)) & 1n) === 0n
  }

  /** Only for an authenticated record. */
  recordSequence(sequence: number): void {
    const ahead = sequence - this.#latest
    if (ahead <= 0) this.#seen |= 1n << BigInt(-ahead)
    else {
      this.#seen = ahead >= windowSize ? 1n : ((this.#seen << BigInt(ahead)) | 1n) & mask
      this.#latest = sequence
    }
  }

  /** Returns whether no later record was received. */
  isLatest(sequence: number): boolean {
    return sequence === this.#latest
  }
}
