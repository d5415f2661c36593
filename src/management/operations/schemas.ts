import type { Caller } from '../../contract/index.ts'
import type { RuleProblem } from './rules.ts'

/** A schema of the schema registry. */
export interface Schema {
  readonly name: string
  readonly type: 'json' | 'avro' | 'protobuf'
  readonly source: string
  readonly description: string
}

/** Operations of the node on schemas. */
export interface SchemaOperations {
  schemas(): readonly Schema[]
  /** Adds or replaces it; `settings` undefined: deletes it. Undefined: done. */
  putSchema(name: string, settings: Omit<Schema, 'name'> | undefined, by: Caller): Promise<RuleProblem | undefined>
  /** IDs of rules whose SQL names the schema. */
  rulesWithSchema(name: string): readonly string[]
}
