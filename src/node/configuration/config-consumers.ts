// Applies changes of the configuration: each setting that applies while the broker runs has one consumer.

import type { GodwitConfig } from '../../config/index.ts'

/** Why a change fails, as a sentence for administrators. */
export interface Problem {
  readonly problem: string
}

export interface ConfigConsumer {
  /** Returns whether this consumer applies the setting. */
  canApply(key: string): boolean
  /** Files named by settings may have changed as well: then it is always called. */
  readonly isAlwaysApplied?: boolean
  /** Applies `config`; or changes nothing and returns why. */
  apply(config: GodwitConfig): Promise<Problem | undefined>
}

/**
 * Calls each consumer of a changed setting, in order. If one fails, those before it apply `before` again. Rejects for
 * an internal error.
 */
export async function applyEverywhere(
  owners: readonly ConfigConsumer[],
  keys: readonly string[],
  { before, after }: { readonly before: GodwitConfig; readonly after: GodwitConfig },
): Promise<Problem | undefined> {
  const concerned = owners.filter((owner) => owner.isAlwaysApplied === true || keys.some((key) => owner.canApply(key)))
  const begun: ConfigConsumer[] = []
  let problem: Problem | undefined
  let isDone = false
  try {
    for (const owner of concerned) {
      problem = await owner.apply(after)
      if (problem !== undefined) return problem
      begun.push(owner)
    }
    isDone = true
    return undefined
  } finally {
    if (!isDone) for (const owner of begun.toReversed()) await owner.apply(before)
  }
}
