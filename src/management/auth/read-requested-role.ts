// The role of an account or a program has two names in a body: `tags` in the fourth version of the API, `role` in the fifth.
// Both versions take both.

import { type ApiError, refuse } from '../http/api-error.ts'

/** Returns the role in the body, undefined if there is none, or a refusal if the two names have different values. */
export function readRequestedRole<Requested extends string>({
  role,
  tags,
}: {
  readonly role?: Requested | undefined
  readonly tags?: Requested | undefined
}): Requested | undefined | ApiError {
  if (role !== undefined && tags !== undefined && role !== tags) {
    return refuse('invalidParameter', 'role and tags in the body differ; send one of them')
  }
  return role ?? tags
}
