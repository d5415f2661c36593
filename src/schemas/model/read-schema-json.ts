// Schemas that are JSON: their text as a value, with the place of an error.

import { decodeJson, findJsonError, RuleError, type RuleValue } from '../../values/index.ts'
import { checkLength, SchemaError } from './compiled-schema.ts'

/** Throws SchemaError with line and column if the text is not JSON. */
export function readSchemaJson(source: string): RuleValue {
  checkLength(source)
  try {
    return decodeJson(source)
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    if (error.kind === 'limit') throw new SchemaError({ path: '' }, error.message)
    const at = findJsonError(source)
    const summary = at >= source.length ? 'not JSON: the text ends too early' : 'not JSON: unexpected character'
    throw new SchemaError({ source, at }, summary)
  }
}
