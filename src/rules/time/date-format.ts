// Dates by formats such as `%Y-%m-%d %H:%M:%S.%3N%:z`.

import { type Budget, RuleError } from '../../values/index.ts'
import { toCivilTime, toSeconds } from './calendar.ts'
import { formatOffset, resolveOffsetSeconds } from './offsets.ts'
import { splitSeconds } from './time-units.ts'

/** Places of a format and their width in a date. */
const widths = {
  '%Y': 4, '%m': 2, '%d': 2, '%H': 2, '%M': 2, '%S': 2, '%N': 9, '%3N': 3, '%6N': 6, '%z': 5, '%:z': 6, '%::z': 9,
} as const // oxfmt-ignore
type Place = keyof typeof widths

const placePattern = /%(?:[YmdHMSNz]|3N|6N|:z|::z)/g

/** Returns a date. `offset` is in seconds. */
export function formatDate(time: bigint, offset: number, format: string, budget: Budget): string {
  const { seconds, nanoseconds } = splitSeconds(time)
  const civil = toCivilTime(seconds + offset)
  const write: Record<Place, () => string> = {
    '%Y': () => padDigits(civil.year, 4),
    '%m': () => padDigits(civil.month, 2),
    '%d': () => padDigits(civil.day, 2),
    '%H': () => padDigits(civil.hour, 2),
    '%M': () => padDigits(civil.minute, 2),
    '%S': () => padDigits(civil.second, 2),
    '%N': () => padDigits(nanoseconds, 9),
    '%3N': () => padDigits(Math.floor(nanoseconds / 1e6), 3),
    '%6N': () => padDigits(Math.floor(nanoseconds / 1e3), 6),
    '%z': () => formatOffset(offset, ''),
    '%:z': () => formatOffset(offset, ':'),
    '%::z': () => formatOffset(offset, ':', true),
  }
  budget.countCreated(5 * format.length)
  return format.replaceAll(placePattern, (place) => write[place as Place]())
}

function padDigits(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

const requiredPlaces = ['%Y', '%m', '%d', '%H', '%M', '%S'] as const

/**
 * Returns nanoseconds since 1970. The format gives the position of each part; other characters are skipped without
 * comparison. Without a zone the text is in UTC.
 */
export function parseDate(text: string, format: string): bigint {
  const parts = splitByFormat(text, format)
  const readPart = (place: Place): number => {
    const part = parts.get(place)
    if (part === undefined) return 0
    if (!/^\d+$/.test(part)) throw new RuleError(`the date does not fit the format at ${place}`)
    return Number(part)
  }
  for (const place of requiredPlaces) if (!parts.has(place)) throw new RuleError(`the date has no ${place}`)
  const seconds = toSeconds({
    year: readPart('%Y'),
    month: readPart('%m'),
    day: readPart('%d'),
    hour: readPart('%H'),
    minute: readPart('%M'),
    second: readPart('%S'),
  })
  const zone = parts.get('%::z') ?? parts.get('%:z') ?? parts.get('%z')
  const zoneOffset = zone === undefined ? 0 : resolveOffsetSeconds(zone, () => 0)
  const nanoseconds = readPart('%N') + readPart('%6N') * 1e3 + readPart('%3N') * 1e6
  return BigInt(seconds - zoneOffset) * 1_000_000_000n + BigInt(nanoseconds)
}

function splitByFormat(text: string, format: string): Map<Place, string> {
  const parts = new Map<Place, string>()
  let formatAt = 0
  let at = 0
  for (const found of format.matchAll(placePattern)) {
    at += found.index - formatAt
    formatAt = found.index + found[0].length
    const place = found[0] as Place
    // A date may end before its format does.
    if (at >= text.length) break
    parts.set(place, text.slice(at, at + widths[place]))
    at += widths[place]
  }
  return parts
}
