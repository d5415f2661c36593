// Limits of regular expressions.

/** Instructions of a compiled regular expression. */
export const maxRegexInstructions = 2_000
