// Function calls: the signature is chosen at compile time, the kinds of arguments are checked at each call.

import { convertArgument } from '../functions/arguments.ts'
import { functionTable } from '../functions/function-table.ts'
import type { RuleFunction, Signature } from '../functions/rule-function.ts'
import { quoteText, RuleError } from '../../values/index.ts'
import type { CallNode } from '../sql/sql-syntax.ts'
import type { Compilation } from './compilation.ts'
import type { Evaluate } from './frame.ts'

/** A call that cannot work compiles with a warning and is an error when it is evaluated. */
export function compileCall(call: CallNode, args: readonly Evaluate[], compilation: Compilation): Evaluate {
  const definition = functionTable.get(call.name)
  compilation.recordSchema(call)
  if (definition === undefined) {
    compilation.warnUnknownFunction(call, functionTable.keys())
    return createFailingCall(`there is no function ${quoteText(call.name)}`)
  }
  const signature = definition.signatures.find((candidate) => takes(candidate, args.length))
  if (signature === undefined) {
    const message = `${call.name} does not take ${args.length} argument${args.length === 1 ? '' : 's'}`
    compilation.warn('wrong-argument-count', call, message, formatForms(definition))
    return createFailingCall(message)
  }
  return compileKnown(definition, signature, args)
}

function createFailingCall(message: string): Evaluate {
  return () => {
    throw new RuleError(message)
  }
}

function takes(signature: Signature, count: number): boolean {
  const { parameters, isVariadic } = signature
  return isVariadic ? count >= parameters.length - 1 : count === parameters.length
}

function formatForms(definition: RuleFunction): string {
  return definition.signatures.map(({ text }) => `${definition.name}(${text})`).join(' or ')
}

function compileKnown(definition: RuleFunction, signature: Signature, args: readonly Evaluate[]): Evaluate {
  const { name, run } = definition
  const { parameters } = signature
  const site = { memo: undefined }
  return (frame) => {
    frame.budget.countSteps(1)
    const values = args.map((arg, index) => {
      const parameter = parameters[Math.min(index, parameters.length - 1)]
      return convertArgument(arg(frame), parameter, name, frame.budget)
    })
    return run(values, { event: frame.event, host: frame.host, budget: frame.budget, site })
  }
}
