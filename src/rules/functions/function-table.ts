// All functions of the rule language. Documentation and API listings are generated from this table.

import { arithmeticFunctions } from './arithmetic.ts'
import { arrayFunctions } from './arrays.ts'
import { bitFunctions } from './bits.ts'
import { conversionFunctions } from './conversion.ts'
import { encodingFunctions } from './encodings.ts'
import { mapFunctions } from './maps.ts'
import { messageFunctions } from './message.ts'
import { regularExpressionFunctions } from './regular-expressions.ts'
import { readSignature, type FunctionDefinitions, type FunctionSubject, type RuleFunction } from './rule-function.ts'
import { schemaFunctions } from './schema-functions.ts'
import { systemFunctions } from './system.ts'
import { textFunctions } from './text.ts'
import { timeFunctions } from './time.ts'
import { typeFunctions } from './types.ts'

const bySubject: Readonly<Record<FunctionSubject, FunctionDefinitions>> = {
  Arithmetic: arithmeticFunctions,
  Types: typeFunctions,
  Conversion: conversionFunctions,
  Text: textFunctions,
  'Regular expressions': regularExpressionFunctions,
  Arrays: arrayFunctions,
  Maps: mapFunctions,
  Bits: bitFunctions,
  'Hashes and encodings': encodingFunctions,
  Schemas: schemaFunctions,
  Time: timeFunctions,
  Message: messageFunctions,
  'Conditions and system': systemFunctions,
}

function readTable(): Map<string, RuleFunction> {
  const table = new Map<string, RuleFunction>()
  for (const [subject, definitions] of Object.entries(bySubject)) {
    for (const [name, { signatures, ...rest }] of Object.entries(definitions)) {
      table.set(name, { name, subject: subject as FunctionSubject, signatures: signatures.map(readSignature), ...rest })
    }
  }
  return table
}

export const functionTable: ReadonlyMap<string, RuleFunction> = readTable()
