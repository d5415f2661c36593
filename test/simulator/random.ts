// The only random generator of the simulated world: the same seed gives the same numbers on every machine.
// sfc32 (Small Fast Counter), seeded with a splitmix step so that adjacent seeds give unrelated numbers.

export class Random {
  private a: number
  private b: number
  private c: number
  private counter: number

  constructor(seed: number) {
    let state = seed >>> 0
    const mix = (): number => {
      state = (state + 0x9e3779b9) | 0
      let word = state ^ (state >>> 16)
      word = Math.imul(word, 0x21f0aaad)
      word ^= word >>> 15
      word = Math.imul(word, 0x735a2d97)
      return word ^ (word >>> 15)
    }
    this.a = mix()
    this.b = mix()
    this.c = mix() ^ Math.floor(seed / 0x1_0000_0000)
    this.counter = 1
    for (let round = 0; round < 12; round++) this.word()
  }

  /** 0 to 2^32 - 1. */
  word(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum
    return sum >>> 0
  }

  /** From 0 up to but not including 1. */
  fraction(): number {
    return this.word() / 0x1_0000_0000
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1))
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('nothing to pick from')
    return choices[this.between(0, choices.length - 1)]
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (let at = 0; at < length; at++) bytes[at] = this.word() & 0xff
    return bytes
  }
}
