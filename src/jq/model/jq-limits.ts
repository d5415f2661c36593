// Limits of jq programs.

/** Depth of nested filters of a running jq program. */
export const maxJqDepth = 1_000

/** Characters of a jq program. */
export const maxJqLength = 16_384
