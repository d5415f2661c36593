// Limits of the rule engine. An error that comes from a limit contains the name of the limit.

/** Characters of one SQL statement. */
export const maxSqlLength = 65_536

/** Depth of nested expressions, and of nested groups of a regular expression. */
export const maxExpressionDepth = 100

/** Depth of the syntax tree. A chain of operators such as a + b + c has the depth of its length. */
export const maxTreeDepth = 1_000

/** Expressions, fields and path segments of one SQL statement. */
export const maxSqlNodes = 10_000

/** Warnings that are collected for one statement. */
export const maxWarnings = 20

/** Entries after FROM. */
export const maxSources = 256

/** Depth of arrays and objects in JSON and in values. */
export const maxValueDepth = 256

/** Bits of an integer. A larger result is a rule error. */
export const maxIntegerBits = 4_096

/** Digits that a float is formatted or rounded to. */
export const maxDecimals = 100

/** Keys and positions of a path, in SQL, in templates and in arguments of functions. */
export const maxPathKeys = 64

/** Instructions of a compiled regular expression. */
export const maxRegexInstructions = 2_000

/** Work of one evaluation. One step is a function call, an item, or 16 characters or elements read or written. */
export const maxSteps = 1_000_000

/** Bytes of text, and eight for each array element or object member, that one evaluation may create. */
export const maxCreatedBytes = 16_777_216

/** Bytes of one rendered template. */
export const maxRenderedBytes = 16_777_216

/** Depth of nested filters of a running jq program. */
export const maxJqDepth = 1_000

/** Characters of a jq program. */
export const maxJqLength = 16_384

/** Characters of the source of a schema. */
export const maxSchemaLength = 262_144

/** Types, fields and keywords of one schema. */
export const maxSchemaNodes = 10_000

/** Depth of nested types or schemas in the source of a schema. */
export const maxSchemaDepth = 100

/** Results of one message: those of all rules, for each action. */
export const maxMessageResults = 10_000

/** Characters of the JSON of the results of one message, if a rule has several for it. */
export const maxMessageResultBytes = 4_194_304

/**
 * Characters of the JSON of the results of one message, of rules that have one result for it, as far as a result is larger than 64 KiB and
 * than four times the payload.
 */
export const maxSingleResultBytes = 16_777_216
