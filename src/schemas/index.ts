// Entry point of the module schemas: JSON Schema, Avro and Protobuf, compiled once, and used to encode, decode and check values within a budget. The
// module is pure.

export { compileSchema } from './compile-schema.ts'
export { SchemaError, type CompiledSchema, type SchemaDefinition, type SchemaType } from './model/compiled-schema.ts'
export { SchemaRegistry, loadSparkplugSchema } from './schema-registry.ts'
export * as schemaLimits from './model/schema-limits.ts'
