// Who carries a change of configuration out: each setting that takes hold while the broker runs has one owner.

import type { GodwitConfig } from '../../config/index.ts'

/** What cannot be done, in a sentence for the operator. */
export interface Problem {
  readonly problem: string
}

export interface ConfigConsumer {
  /** Whether the setting is this owner's. */
  owns(key: string): boolean
  /** Whether something besides settings may have changed, such as files that they name: then it is always asked. */
  readonly isAlwaysApplied?: boolean
  /** From now on it is as `config` says; or it stays as it is, and this is why. */
  apply(config: GodwitConfig): Promise<Problem | undefined>
}

/**
 * Asks each owner of what has changed, in order. Where one refuses, or makes a mistake, those before it are put back as
 * they were in `before`. Rejects with the mistake.
 */
export async function applyEverywhere(
  owners: readonly ConfigConsumer[],
  keys: readonly string[],
  { before, after }: { readonly before: GodwitConfig; readonly after: GodwitConfig },
): Promise<Problem | undefined> {
  const concerned = owners.filter((owner) => owner.isAlwaysApplied === true || keys.some((key) => owner.owns(key)))
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
