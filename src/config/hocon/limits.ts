// Limits of one configuration. A text may come from an upload, so these protect against a text that is small to send
// and expensive to read.

export const hoconLimits = {
  /** Characters of the text and all included texts together. */
  textCharacters: 1_048_576,
  /** Depth of objects and arrays, including the parts of dotted keys. */
  depth: 64,
  /** Values in the text and all included texts. */
  values: 100_000,
  /** Depth of includes. */
  includeDepth: 10,
  /** Total number of includes. */
  includes: 64,
  /** Steps to resolve substitutions: values read and definitions visited. */
  steps: 500_000,
  /** Depth of substitutions that lead to substitutions, and of objects in them. */
  chain: 256,
  /** Characters created by concatenation, so that repeated doubling ends before memory is exhausted. */
  joinedCharacters: 4_194_304,
  /** Named groups of one kind: listeners of one kind, bridges, users with their own settings. */
  namedGroups: 4_096,
  /** Reported errors of one text; further ones are usually consequences. */
  faults: 50,
} as const

/** Keys that change the prototype of JavaScript objects. Maps are safe, but later consumers may use objects. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
