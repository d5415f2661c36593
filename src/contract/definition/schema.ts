// Schemas, with the library for JSON Schema: types and checks of values are derived from them.

import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

export { Type, type Static, type TObject, type TSchema }

/** An error in a value: its path (`/data/qos`; empty for the whole value) and a text. */
export interface ShapeError {
  readonly path: string
  readonly message: string
  /** A required key is missing. */
  readonly isMissing: boolean
}

/** Checks values against one schema. */
export interface Shape {
  /** undefined: the value is valid. */
  findFault(value: unknown): ShapeError | undefined
}

/** Compiles the check of a schema at its first use: compiling all the hundreds of schemas would slow the start. */
export function compileShape(schema: TSchema): Shape {
  let validator: Validator | undefined
  return {
    findFault: (value) => {
      validator ??= Compile(schema)
      if (validator.Check(value)) return undefined
      const errors = validator.Errors(value)
      const [first] = errors
      if (first === undefined) return { path: '', message: 'does not match the schema', isMissing: false }
      const isMissing = first.keyword === 'required'
      const missing = first.keyword === 'required' ? first.params.requiredProperties : []
      const path = missing.length === 0 ? first.instancePath : `${first.instancePath}/${missing[0]}`
      return { path, message: formatSchemaErrors(first, errors), isMissing }
    },
  }
}

type SchemaError = ReturnType<Validator['Errors']>[number]

const unionKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'type', 'anyOf', 'boolean'])

/** For a union the library reports each branch; this makes one message of all. */
function formatSchemaErrors(first: SchemaError, errors: readonly SchemaError[]): string {
  const atSamePlace = errors.filter(({ instancePath }) => instancePath === first.instancePath)
  const narrower = atSamePlace.find(({ keyword }) => !unionKeywords.has(keyword))
  if (narrower !== undefined) return narrower.message
  const allowed = atSamePlace.flatMap((error) => {
    if (error.keyword === 'enum') return error.params.allowedValues
    return error.keyword === 'const' ? [error.params.allowedValue] : []
  })
  if (allowed.length > 0) return `must be ${formatChoices(allowed)}`
  const types = atSamePlace.flatMap((error) => (error.keyword === 'type' ? error.params.type : []))
  if (types.length > 0) return `must be ${formatChoices(types)}`
  return first.keyword === 'boolean' ? 'is not a known key' : first.message
}

function formatChoices(choices: readonly unknown[]): string {
  const words = [...new Set(choices.map(String))]
  const last = words.pop() ?? ''
  return words.length === 0 ? last : `${words.join(', ')} or ${last}`
}
