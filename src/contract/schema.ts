// The library that says what JSON looks like: schemas that are JSON Schema, types made of them, and checks of values.

import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

export { Type, type Static, type TObject, type TSchema }

/** What is wrong with a value: where (`/data/qos`, empty for the whole) and in words. */
export interface ShapeFault {
  readonly path: string
  readonly message: string
  /** A key that must be there is not. */
  readonly isMissing: boolean
}

/** Checks values against one schema. */
export interface Shape {
  /** undefined: nothing is wrong. */
  faultOf(value: unknown): ShapeFault | undefined
}

/** Compiles the check of a schema when it is first asked: there are hundreds, and a start needs none. */
export function shapeOf(schema: TSchema): Shape {
  let validator: Validator | undefined
  return {
    faultOf: (value) => {
      validator ??= Compile(schema)
      if (validator.Check(value)) return undefined
      const [first] = validator.Errors(value)
      if (first === undefined) return { path: '', message: 'is not of the right shape', isMissing: false }
      const isMissing = first.keyword === 'required'
      const missing = first.keyword === 'required' ? first.params.requiredProperties : []
      const path = missing.length === 0 ? first.instancePath : `${first.instancePath}/${missing[0]}`
      return { path, message: first.message, isMissing }
    },
  }
}
