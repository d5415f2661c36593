// Type of the definition of a function of the rule language. Checks, error messages and documentation are derived from definitions.

import type { RuleEvent } from '../events/rule-event.ts'
import type { HostFunctions } from './host-functions.ts'
import type { Budget, RuleValue } from '../../values/index.ts'

/**
 * Kinds of parameters, and what the implementation gets:
 * any: the value. text: a string. bytes: a Uint8Array. integer: number or bigint. number: any number.
 * array: an array. map: a map; a text that is a JSON object is opened.
 */
export type ParameterKind = 'any' | 'text' | 'bytes' | 'integer' | 'number' | 'array' | 'map'

export interface Parameter {
  readonly name: string
  readonly kind: ParameterKind
}

export interface Signature {
  /** The parameters as written in the definition: `text: text, start: integer`. */
  readonly text: string
  readonly parameters: readonly Parameter[]
  /** True if the last parameter, written `...name: kind`, accepts any number of arguments. */
  readonly isVariadic: boolean
}

/** The values that a function can use in addition to its arguments. */
export interface Call {
  readonly event: RuleEvent
  readonly host: HostFunctions
  readonly budget: Budget
  /** Belongs to one call in the SQL. A function may cache a value there that it computes from a constant argument. */
  readonly site: { memo: unknown }
}

export type RunFunction = (args: readonly RuleValue[], call: Call) => RuleValue

export const functionSubjects = [
  'Arithmetic',
  'Types',
  'Conversion',
  'Text',
  'Regular expressions',
  'Arrays',
  'Maps',
  'Bits',
  'Hashes and encodings',
  'Schemas',
  'Time',
  'Message',
  'Conditions and system',
] as const
export type FunctionSubject = (typeof functionSubjects)[number]

export interface RuleFunction {
  readonly name: string
  readonly subject: FunctionSubject
  readonly signatures: readonly Signature[]
  readonly returns: string
  /** One sentence. */
  readonly description: string
  readonly run: RunFunction
}

/** A definition as the files of this folder write it. Each signature is a list like `text: text, start: integer`. */
export interface FunctionDefinition {
  readonly signatures: readonly string[]
  readonly returns: string
  readonly description: string
  readonly run: RunFunction
}

export type FunctionDefinitions = Readonly<Record<string, FunctionDefinition>>

export function readSignature(text: string): Signature {
  const parts = text === '' ? [] : text.split(', ')
  const parameters = parts.map((part) => {
    const [name, kind] = part.replace('...', '').split(': ')
    return { name, kind: kind as ParameterKind }
  })
  return { text, parameters, isVariadic: text.includes('...') }
}
