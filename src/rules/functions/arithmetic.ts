// Arithmetic. A result outside of the domain of a function is a rule error.

import {
  calculate,
  integerFromNumber,
  isInteger,
  makeFloat,
  makeInteger,
  type RuleNumber,
  type RuleValue,
  toFloat,
} from '../../values/index.ts'
import type { FunctionDefinition, FunctionDefinitions } from './rule-function.ts'

function floatFunction(description: string, compute: (x: number) => number): FunctionDefinition {
  return {
    signatures: ['x: number'],
    returns: 'float',
    description,
    run: ([x]) => makeFloat(compute(toFloat(x as RuleNumber))),
  }
}

function rounding(description: string, compute: (x: number) => number): FunctionDefinition {
  return {
    signatures: ['x: number'],
    returns: 'integer',
    description,
    run: ([x]) => (isInteger(x) ? x : integerFromNumber(compute(toFloat(x as RuleNumber)))),
  }
}

function roundHalfAway(x: number): number {
  const whole = Math.trunc(x)
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole
}

function absolute(x: RuleValue): RuleValue {
  return typeof x === 'bigint' ? makeInteger(x < 0n ? -x : x) : Math.abs(x as number)
}

export const arithmeticFunctions: FunctionDefinitions = {
  abs: {
    signatures: ['x: integer'],
    returns: 'integer',
    description: 'Absolute value of an integer.',
    run: ([x]) => absolute(x),
  },
  ceil: rounding('Smallest integer that is not less than x.', Math.ceil),
  floor: rounding('Largest integer that is not greater than x.', Math.floor),
  round: rounding('Nearest integer; halves are rounded away from zero.', roundHalfAway),
  sqrt: floatFunction('Square root.', Math.sqrt),
  exp: floatFunction('e to the power of x.', Math.exp),
  power: {
    signatures: ['x: number, y: number'],
    returns: 'float',
    description: 'x to the power of y.',
    run: ([x, y]) => makeFloat(toFloat(x as RuleNumber) ** toFloat(y as RuleNumber)),
  },
  log: floatFunction('Natural logarithm.', Math.log),
  log2: floatFunction('Logarithm to base 2.', Math.log2),
  log10: floatFunction('Logarithm to base 10.', Math.log10),
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
  sin: floatFunction('Sine of x in radians.', Math.sin),
  cos: floatFunction('Cosine of x in radians.', Math.cos),
  tan: floatFunction('Tangent of x in radians.', Math.tan),
  asin: floatFunction('Arc sine in radians.', Math.asin),
  acos: floatFunction('Arc cosine in radians.', Math.acos),
  atan: floatFunction('Arc tangent in radians.', Math.atan),
  sinh: floatFunction('Hyperbolic sine.', Math.sinh),
  cosh: floatFunction('Hyperbolic cosine.', Math.cosh),
  tanh: floatFunction('Hyperbolic tangent.', Math.tanh),
  asinh: floatFunction('Inverse hyperbolic sine.', Math.asinh),
  acosh: floatFunction('Inverse hyperbolic cosine.', Math.acosh),
  atanh: floatFunction('Inverse hyperbolic tangent.', Math.atanh),
  random: {
    signatures: [''],
    returns: 'float',
    description: 'A random float of at least 0 and below 1.',
    run: (_args, { host }) => makeFloat(host.random()),
  },
}
