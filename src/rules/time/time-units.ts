import { isText, getKind, makeInteger, RuleError, type RuleValue } from '../../values/index.ts'

export type TimeUnit = 'second' | 'millisecond' | 'microsecond' | 'nanosecond'

const unitsPerSecond = { second: 1n, millisecond: 1_000n, microsecond: 1_000_000n, nanosecond: 1_000_000_000n } as const

/** Decimals of a second in a time of this unit. */
export const decimalsOf = { second: 0, millisecond: 3, microsecond: 6, nanosecond: 9 } as const

const nanosecondsPerSecond = 1_000_000_000n

export function requireTimeUnit(value: RuleValue): TimeUnit {
  if (typeof value === 'string' && Object.hasOwn(unitsPerSecond, value)) return value as TimeUnit
  throw new RuleError(
    `the time unit must be second, millisecond, microsecond or nanosecond, not ${isText(value) ? 'another text' : getKind(value)}`,
  )
}

export function toNanoseconds(time: number | bigint, unit: TimeUnit): bigint {
  return (BigInt(time) * nanosecondsPerSecond) / unitsPerSecond[unit]
}

export function fromNanoseconds(time: bigint, unit: TimeUnit): number | bigint {
  const [divisor, rest] = [nanosecondsPerSecond / unitsPerSecond[unit], time]
  // Division of bigint truncates; times before 1970 are rounded down as well.
  const quotient = rest / divisor
  return makeInteger(rest < 0n && quotient * divisor !== rest ? quotient - 1n : quotient)
}

/** Splits a time into whole seconds and nanoseconds. */
export function splitSeconds(time: bigint): { seconds: number; nanoseconds: number } {
  const seconds = fromNanoseconds(time, 'second')
  return { seconds: Number(seconds), nanoseconds: Number(time - BigInt(seconds) * nanosecondsPerSecond) }
}
