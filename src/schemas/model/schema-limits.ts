// Limits of schemas.

/** Characters of the source of a schema. */
export const maxSchemaLength = 262_144

/** Types, fields and keywords of one schema. */
export const maxSchemaNodes = 10_000

/** Depth of nested types or schemas in the source of a schema. */
export const maxSchemaDepth = 100
