// Turns expressions into closures.

import { matchesFilter } from '../../protocol/index.ts'
import {
  calculate,
  compare,
  isArray,
  isNumber,
  isText,
  joinTexts,
  getKind,
  negate,
  readKey,
  readPosition,
  RuleError,
  type RuleValue,
  type Step,
  equalsStrictly,
  toTextForm,
} from '../../values/index.ts'
import { compileCall } from './compile-call.ts'
import type { Compilation } from './compilation.ts'
import type { Evaluate, Frame } from './frame.ts'
import type { Scope } from './scope.ts'
import type { CaseNode, Expression, Path, PathNode, Segment } from '../sql/sql-syntax.ts'

export function compileExpression(expression: Expression, scope: Scope, compilation: Compilation): Evaluate {
  const compile = (inner: Expression): Evaluate => compileExpression(inner, scope, compilation)
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression
      return () => value
    }
    case 'path':
      return compilePath(expression, scope, compilation)
    case 'call':
      return compileCall(expression, expression.args.map(compile), compilation)
    case 'case':
      return compileCase(expression, compile)
    case 'array':
      return compileArray(expression.items.map(compile))
    case 'range':
      return compileRange(expression.from, expression.to)
    case 'slice':
      return compileSlice(compile(expression.path), expression.from, expression.to)
    case 'sign':
      return compileSign(compile(expression.operand), expression.isNegative)
    case 'arithmetic':
      return expression.operator === '+'
        ? compilePlus(compile(expression.left), compile(expression.right))
        : compileArithmetic(expression.operator, compile(expression.left), compile(expression.right))
    case 'comparison':
      return compileComparison(expression.operator, compile(expression.left), compile(expression.right))
    default:
      return compileLogic(expression, compile)
  }
}

type LogicNode = Extract<Expression, { kind: 'and' | 'or' | 'not' | 'in' }>

/** Everything but true counts as false, and the negation of a value that is not a boolean is false. */
function compileLogic(expression: LogicNode, compile: (inner: Expression) => Evaluate): Evaluate {
  switch (expression.kind) {
    case 'and': {
      const operands = expression.operands.map(compile)
      return (frame) => operands.every((operand) => operand(frame) === true)
    }
    case 'or': {
      const operands = expression.operands.map(compile)
      return (frame) => operands.some((operand) => operand(frame) === true)
    }
    case 'not': {
      const operand = compile(expression.operand)
      return (frame) => operand(frame) === false
    }
    case 'in': {
      const operand = compile(expression.operand)
      const options = expression.options.map(compile)
      return (frame) => {
        const value = operand(frame)
        return options.some((option) => equalsStrictly(value, option(frame), frame.budget))
      }
    }
    default:
      throw expression satisfies never
  }
}

function compilePath(path: PathNode, scope: Scope, compilation: Compilation): Evaluate {
  compilation.checkColumn(path, scope)
  const isPayload = path.root === 'payload' && !scope.has('payload')
  const root: Evaluate =
    isPayload && path.segments.length > 0 ? (frame) => frame.event.readDecodedPayload() : scope.resolve(path.root)
  return path.segments.reduce((value, segment) => compileSegment(value, compileStep(segment, scope, compilation)), root)
}

function compileSegment(value: Evaluate, step: CompiledStep): Evaluate {
  if (typeof step === 'object') {
    const { key } = step
    return (frame) => readKey(value(frame), key, frame.budget)
  }
  // Positions 0 and -0 are outside of every array.
  if (typeof step === 'string') return () => undefined
  return (frame) => readPosition(value(frame), step(frame), frame.budget)
}

type CompiledStep = { readonly key: string } | 'prepend' | 'append' | Evaluate

function compileStep(segment: Segment, scope: Scope, compilation: Compilation): CompiledStep {
  switch (segment.kind) {
    case 'key':
      return { key: segment.key }
    case 'index':
      return compileExpression(segment.index, scope, compilation)
    default:
      return segment.kind
  }
}

/** Returns the evaluation of the steps of an alias or an unaliased path. */
export function compileSteps(path: Path, scope: Scope, compilation: Compilation): (frame: Frame) => readonly Step[] {
  const steps = path.segments.map((segment) => compileStep(segment, scope, compilation))
  const fixed = steps.filter((step) => typeof step !== 'function')
  if (fixed.length === steps.length) return () => fixed
  return (frame) => steps.map((step) => (typeof step === 'function' ? { position: step(frame) } : step))
}

function compileCase(node: CaseNode, compile: (inner: Expression) => Evaluate): Evaluate {
  const branches = node.branches.map((branch) => ({ when: compile(branch.when), result: compile(branch.result) }))
  const otherwise = node.otherwise === undefined ? undefined : compile(node.otherwise)
  if (node.subject === undefined) {
    return (frame) => {
      for (const { when, result } of branches) if (when(frame) === true) return result(frame)
      return otherwise?.(frame)
    }
  }
  const subject = compile(node.subject)
  return (frame) => {
    const value = subject(frame)
    for (const { when, result } of branches) {
      if (equalsStrictly(value, when(frame), frame.budget)) return result(frame)
    }
    return otherwise?.(frame)
  }
}

function compileArray(items: readonly Evaluate[]): Evaluate {
  return (frame) => {
    frame.budget.countCreated(8 * items.length)
    return items.map((item) => item(frame))
  }
}

/** A descending range is an error. A range that ends one below its start is empty. */
function compileRange(from: number, to: number): Evaluate {
  const length = to - from + 1
  return (frame) => {
    if (length < 0) throw new RuleError(`the range [${from}..${to}] is descending`)
    frame.budget.countCreated(8 * length)
    return Array.from({ length }, (_, index) => from + index)
  }
}

function compileSlice(path: Evaluate, from: number, to: number): Evaluate {
  return (frame) => {
    const array = path(frame)
    if (!isArray(array)) throw new RuleError(`a range of positions requires an array, not ${getKind(array)}`)
    frame.budget.countCreated(8 * array.length)
    const toIndex = (position: number): number => (position < 0 ? array.length + position : position - 1)
    return array.slice(Math.max(0, toIndex(from)), Math.max(0, toIndex(to) + 1))
  }
}

function compileSign(operand: Evaluate, isNegative: boolean): Evaluate {
  return (frame) => {
    const value = operand(frame)
    if (!isNumber(value)) throw new RuleError(`a sign requires a number, not ${getKind(value)}`)
    return isNegative ? negate(value) : value
  }
}

/** Adds numbers. If one side is a text, joins the text forms. */
function compilePlus(left: Evaluate, right: Evaluate): Evaluate {
  return (frame) => {
    const [a, b] = [left(frame), right(frame)]
    if (isNumber(a) && isNumber(b)) return calculate('+', a, b)
    if (!isText(a) && !isText(b)) throw createOperandError('+', a, b)
    return joinTexts([toTextForm(a, frame.budget), toTextForm(b, frame.budget)], frame.budget)
  }
}

function compileArithmetic(operator: '-' | '*' | '/' | 'div' | 'mod', left: Evaluate, right: Evaluate): Evaluate {
  return (frame) => {
    const [a, b] = [left(frame), right(frame)]
    if (!isNumber(a) || !isNumber(b)) throw createOperandError(operator, a, b)
    return calculate(operator, a, b)
  }
}

function createOperandError(operator: string, left: RuleValue, right: RuleValue): RuleError {
  return new RuleError(`${operator} requires numbers, not ${getKind(left)} and ${getKind(right)}`)
}

function compileComparison(operator: '=~' | Parameters<typeof compare>[0], left: Evaluate, right: Evaluate): Evaluate {
  if (operator === '=~') return (frame) => matchesTopic(left(frame), right(frame), frame)
  return (frame) => compare(operator, left(frame), right(frame), frame.budget)
}

function matchesTopic(topic: RuleValue, filter: RuleValue, frame: Frame): boolean {
  if (topic === undefined || filter === undefined) return false
  if (typeof topic !== 'string' || typeof filter !== 'string') {
    throw new RuleError(`=~ requires a topic and a topic filter, not ${getKind(topic)} and ${getKind(filter)}`)
  }
  frame.budget.countRead(topic.length + filter.length)
  return matchesFilter(filter, topic)
}
