// All functions of the rule language. Documentation and API listings are generated from this table.

import { arithmeticFunctions } from './arithmetic-functions.ts'
import { arrayFunctions } from './array-functions.ts'
import { bitFunctions } from './bit-functions.ts'
import { conversionFunctions } from './conversion-functions.ts'
import { encodingFunctions } from './encoding-functions.ts'
import { mapFunctions } from './map-functions.ts'
import { messageFunctions } from './message-functions.ts'
import { regularExpressionFunctions } from './regex-functions.ts'
import { readSignature, type FunctionDefinitions, type FunctionSubject, type RuleFunction } from './rule-function.ts'
import { schemaFunctions } from './schema-functions.ts'
import { systemFunctions } from './system-functions.ts'
import { textFunctions } from './text-functions.ts'
import { timeFunctions } from './time-functions.ts'
import { typeFunctions } from './type-functions.ts'

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
