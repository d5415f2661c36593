// Who carries a change of configuration out: each setting that takes hold while the broker runs has one owner.

import type { GodwitConfig } from '../../config/index.ts'

/** What cannot be done, in a sentence for the operator. */
export interface Problem {
  readonly problem: string
}

export interface ConfigOwner {
  /** Whether the setting is this owner's. */
  owns(key: string): boolean
  /** Whether something besides settings may have changed, such as files that they name: then it is always asked. */
  readonly isAlwaysAsked?: boolean
  /** From now on it is as `config` says; or it stays as it is, and this is why. */
  apply(config: GodwitConfig): Promise<Problem | undefined>
}

/**
 * Asks each owner of what has changed, in order. Where one refuses, those before it are put back as they were in
 * `before`.
 */
export async function applyEverywhere(
  owners: readonly ConfigOwner[],
  keys: readonly string[],
  { before, after }: { readonly before: GodwitConfig; readonly after: GodwitConfig },
): Promise<Problem | undefined> {
  const concerned = owners.filter((owner) => owner.isAlwaysAsked === true || keys.some((key) => owner.owns(key)))
  const done: ConfigOwner[] = []
  for (const owner of concerned) {
    const problem = await owner.apply(after)
    if (problem !== undefined) {
      for (const earlier of done.toReversed()) await earlier.apply(before)
      return problem
    }
    done.push(owner)
  }
  return undefined
}
