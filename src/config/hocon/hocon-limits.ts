// Limits of one configuration. A text may come from an upload, so these protect against a text that is small to send
// and expensive to read.

export const hoconLimits = {
  /** Characters of the text and all included texts together. */
  maxTextCharacters: 1_048_576,
  /** Depth of objects and arrays, including the parts of dotted keys. */
  maxDepth: 64,
  /** Values in the text and all included texts. */
  maxValues: 100_000,
  /** Depth of includes. */
  maxIncludeDepth: 10,
  /** Total number of includes. */
  maxIncludes: 64,
  /** Steps to resolve substitutions: values read and definitions visited. */
  maxSteps: 500_000,
  /** Depth of substitutions that lead to substitutions, and of objects in them. */
  maxSubstitutionDepth: 256,
  /** Characters created by concatenation, so that repeated doubling ends before memory is exhausted. */
  maxJoinedCharacters: 4_194_304,
  /** Named groups of one kind: listeners of one kind, bridges, users with their own settings. */
  maxNamedGroups: 4_096,
  /** Reported errors of one text; further ones are usually consequences. */
  maxErrors: 50,
} as const

/** Keys that change the prototype of JavaScript objects. Maps are safe, but later consumers may use objects. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
