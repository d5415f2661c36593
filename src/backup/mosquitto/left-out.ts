// What an import does not take over: each reason once, with a number and an example, however large the file is.

const maxExampleCharacters = 100

/** Counts by reason. */
export class LeftOut {
  readonly #reasons = new Map<string, { count: number; readonly example: string }>()

  /** `reason`: a plural noun with what is said of it. */
  add(reason: string, example: string): void {
    const before = this.#reasons.get(reason)
    if (before === undefined) this.#reasons.set(reason, { count: 1, example: example.slice(0, maxExampleCharacters) })
    else before.count += 1
  }

  /** A sentence for each reason. */
  sentences(): string[] {
    return [...this.#reasons].map(
      ([reason, { count, example }]) => `${count} ${reason}, such as ${JSON.stringify(example)}`,
    )
  }
}
