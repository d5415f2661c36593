// How much one configuration may ask of us. A text can come from an administrator's upload, so each of these is a
// wall against a text that is small to send and large to read.

export const hoconLimits = {
  /** Characters of the text and of all that it includes, together. */
  textCharacters: 1_048_576,
  /** Objects and arrays inside each other, the parts of dotted keys counted too. */
  depth: 64,
  /** Values written in the text and in all that it includes. */
  values: 100_000,
  /** Files that include each other in a chain. */
  includeDepth: 10,
  /** Files included altogether. */
  includes: 64,
  /** Steps taken to resolve substitutions: each value read, each definition looked at. */
  steps: 500_000,
  /** Substitutions that lead to substitutions, and objects inside them, in one chain. */
  chain: 256,
  /** Characters that joining may make, so that a text of doublings ends before memory does. */
  joinedCharacters: 4_194_304,
  /** Groups under names of one kind: listeners of one kind, bridges, users with settings of their own. */
  namedGroups: 4_096,
  /** Faults told of one text; what is wrong beyond them is mostly their echo. */
  faults: 50,
} as const

/** Keys by which JavaScript objects can be poisoned. We keep maps, but what we hand on may not. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
