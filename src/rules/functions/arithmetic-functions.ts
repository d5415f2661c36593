// Arithmetic. A result outside of the domain of a function is a rule error.

import {
  calculate,
  makeIntegerFromNumber,
  isInteger,
  makeFloat,
  makeInteger,
  type RuleNumber,
  type RuleValue,
  toFloat,
} from '../../values/index.ts'
import type { FunctionDefinition, FunctionDefinitions } from './rule-function.ts'

function createFloatFunction(description: string, compute: (x: number) => number): FunctionDefinition {
  return {
    signatures: ['x: number'],
    returns: 'float',
    description,
    run: ([x]) => makeFloat(compute(toFloat(x as RuleNumber))),
  }
}

function createRoundingFunction(description: string, compute: (x: number) => number): FunctionDefinition {
  return {
    signatures: ['x: number'],
    returns: 'integer',
    description,
    run: ([x]) => (isInteger(x) ? x : makeIntegerFromNumber(compute(toFloat(x as RuleNumber)))),
  }
}

function roundHalfAway(x: number): number {
  const whole = Math.trunc(x)
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole
}

function computeAbsolute(x: RuleValue): RuleValue {
  return typeof x === 'bigint' ? makeInteger(x < 0n ? -x : x) : Math.abs(x as number)
}

export const arithmeticFunctions: FunctionDefinitions = {
  abs: {
    signatures: ['x: integer'],
    returns: 'integer',
    description: 'Absolute value of an integer.',
    run: ([x]) => computeAbsolute(x),
  },
  ceil: createRoundingFunction('Smallest integer that is not less than x.', Math.ceil),
  floor: createRoundingFunction('Largest integer that is not greater than x.', Math.floor),
  round: createRoundingFunction('Nearest integer; halves are rounded away from zero.', roundHalfAway),
  sqrt: createFloatFunction('Square root.', Math.sqrt),
  exp: createFloatFunction('e to the power of x.', Math.exp),
  power: {
    signatures: ['x: number, y: number'],
    returns: 'float',
    description: 'x to the power of y.',
    run: ([x, y]) => makeFloat(toFloat(x as RuleNumber) ** toFloat(y as RuleNumber)),
  },
  log: createFloatFunction('Natural logarithm.', Math.log),
  log2: createFloatFunction('Logarithm to base 2.', Math.log2),
  log10: createFloatFunction('Logarithm to base 10.', Math.log10),
  fmod: {
    signatures: ['x: number, y: number'],
    returns: 'float',
    description: 'Remainder of x / y as a float, with the sign of x.',
    run: ([x, y]) => makeFloat(toFloat(x as RuleNumber) % toFloat(y as RuleNumber)),
  },
  div: {
    signatures: ['x: integer, y: integer'],
    returns: 'integer',
    description: 'Quotient without remainder, truncated. Also an operator: `x div y`.',
    run: ([x, y]) => calculate('div', x as RuleNumber, y as RuleNumber),
  },
  mod: {
    signatures: ['x: integer, y: integer'],
    returns: 'integer',
    description: 'Remainder with the sign of x. Also an operator: `x mod y`.',
    run: ([x, y]) => calculate('mod', x as RuleNumber, y as RuleNumber),
  },
  sin: createFloatFunction('Sine of x in radians.', Math.sin),
  cos: createFloatFunction('Cosine of x in radians.', Math.cos),
  tan: createFloatFunction('Tangent of x in radians.', Math.tan),
  asin: createFloatFunction('Arc sine in radians.', Math.asin),
  acos: createFloatFunction('Arc cosine in radians.', Math.acos),
  atan: createFloatFunction('Arc tangent in radians.', Math.atan),
  sinh: createFloatFunction('Hyperbolic sine.', Math.sinh),
  cosh: createFloatFunction('Hyperbolic cosine.', Math.cosh),
  tanh: createFloatFunction('Hyperbolic tangent.', Math.tanh),
  asinh: createFloatFunction('Inverse hyperbolic sine.', Math.asinh),
  acosh: createFloatFunction('Inverse hyperbolic cosine.', Math.acosh),
  atanh: createFloatFunction('Inverse hyperbolic tangent.', Math.atanh),
  random: {
    signatures: [''],
    returns: 'float',
    description: 'A random float of at least 0 and below 1.',
    run: (_args, { host }) => makeFloat(host.random()),
  },
}
