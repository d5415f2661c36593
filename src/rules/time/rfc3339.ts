import { RuleError } from '../../values/index.ts'
import { toCivilTime, toSeconds } from './calendar.ts'
import { formatOffset, resolveOffsetSeconds } from './offsets.ts'
import { decimalsOf, splitSeconds, type TimeUnit } from './time-units.ts'

/** Returns `2024-02-23T15:56:30.123+08:00`. The unit decides how many decimals the seconds have. */
export function formatRfc3339(time: bigint, offset: number, unit: TimeUnit, zone?: 'Z'): string {
  const { seconds, nanoseconds } = splitSeconds(time)
  const civil = toCivilTime(seconds + offset)
  const date = `${String(civil.year).padStart(4, '0')}-${padTwoDigits(civil.month)}-${padTwoDigits(civil.day)}`
  const decimals = decimalsOf[unit]
  const fraction = decimals === 0 ? '' : `.${String(nanoseconds).padStart(9, '0').slice(0, decimals)}`
  return `${date}T${padTwoDigits(civil.hour)}:${padTwoDigits(civil.minute)}:${padTwoDigits(civil.second)}${fraction}${zone ?? formatOffset(offset, ':')}`
}

function padTwoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/

/** Returns nanoseconds since 1970. */
export function parseRfc3339(text: string): bigint {
  const parts = rfc3339.exec(text)
  if (parts === null) throw new RuleError('the text is not a time of RFC 3339 such as 2024-02-23T15:56:30Z')
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number)
  const seconds = toSeconds({ year, month, day, hour, minute, second }) - resolveOffsetSeconds(parts[8], () => 0)
  const fraction = (parts[7] ?? '').slice(0, 9).padEnd(9, '0')
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction)
}
