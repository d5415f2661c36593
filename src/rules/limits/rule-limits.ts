// Limits of rules: of their SQL, their templates and their results.

/** Characters of one SQL statement. */
export const maxSqlLength = 65_536

/** Depth of the syntax tree. A chain of operators such as a + b + c has the depth of its length. */
export const maxTreeDepth = 1_000

/** Expressions, fields and path segments of one SQL statement. */
export const maxSqlNodes = 10_000

/** Warnings that are collected for one statement. */
export const maxWarnings = 20

/** Entries after FROM. */
export const maxSources = 256

/** Digits that a float is formatted or rounded to. */
export const maxDecimals = 100

/** Keys and positions of a path, in SQL, in templates and in arguments of functions. */
export const maxPathKeys = 64

/** Bytes of one rendered template. */
export const maxRenderedBytes = 16_777_216

/** Results of one message: those of all rules, for each action. */
export const maxMessageResults = 10_000

/** Characters of the JSON of the results of one message, if a rule has several for it. */
export const maxMessageResultBytes = 4_194_304

/**
 * Characters of the JSON of the results of one message, of rules that have one result for it, as far as a result is larger than 64 KiB and
 * than four times the payload.
 */
export const maxSingleResultBytes = 16_777_216
