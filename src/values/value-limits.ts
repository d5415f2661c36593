// Limits of values and of the work on them. An error that comes from a limit contains the name of the limit.

/** Depth of nested expressions, and of nested groups of a regular expression. */
export const maxExpressionDepth = 100

/** Depth of arrays and objects in JSON and in values. */
export const maxValueDepth = 256

/** Bits of an integer. A larger result is a rule error. */
export const maxIntegerBits = 4_096

/** Work of one evaluation. One step is a function call, an item, or 16 characters or elements read or written. */
export const maxSteps = 1_000_000

/** Bytes of text, and eight for each array element or object member, that one evaluation may create. */
export const maxCreatedBytes = 16_777_216
