/** Our own mistake: thrown, never caught inside a room. The shard stops and is started again. */
export class BrokenInvariant extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BrokenInvariant'
  }
}

/** Holds in production too. `message` says what was thought to be impossible. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BrokenInvariant(message)
}
