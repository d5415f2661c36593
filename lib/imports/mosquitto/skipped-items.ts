// Collects what an import skips. It stores a count and one example for each reason, so its memory does not depend on the file.

const maxExampleCharacters = 100

/** Skipped items, counted by reason. */
export class SkippedItems {
  readonly #reasons = new Map<string, { count: number; readonly example: string }>()

  /** `reason` follows the count in a sentence: `messages whose topic is invalid`. */
  add(reason: string, example: string): void {
    const before = this.#reasons.get(reason)
    if (before === undefined) this.#reasons.set(reason, { count: 1, example: example.slice(0, maxExampleCharacters) })
    else before.count += 1
  }

  /** Returns a sentence for each reason: `3 messages whose topic is invalid, such as "a/+"`. */
  formatSentences(): string[] {
    return [...this.#reasons].map(
      ([reason, { count, example }]) => `${count} ${reason}, such as ${JSON.stringify(example)}`,
    )
  }
}
