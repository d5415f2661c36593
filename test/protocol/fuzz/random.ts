// Random numbers from a seed: the same seed gives the same run on every machine.

/** xorshift32: fast, and random enough for fuzzing. */
export class Random {
  private state: number

  constructor(seed: number) {
    // A state of zero would stay zero; the product makes small seeds different.
    this.state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 1
    for (let round = 0; round < 8; round++) this.uint32()
  }

  uint32(): number {
    let state = this.state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.state = state
    return state >>> 0
  }

  /** 0 to `limit - 1`. */
  below(limit: number): number {
    return this.uint32() % limit
  }

  oneIn(chances: number): boolean {
    return this.below(chances) === 0
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]
  }
}
