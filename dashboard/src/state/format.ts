// Numbers, times and names from outside as text.

import { brokerOffsetMinutes, language, timeZone } from './preferences.ts'

export { escapeHiddenLetters } from './visible.ts'

/** Making a formatter takes the browser longer than a hundred uses of it: a table has one for each of its cells otherwise. */
const numberFormats = new Map<string, Intl.NumberFormat>()
const timeFormats = new Map<string, Intl.DateTimeFormat>()

function findOrCreate<Format>(formats: Map<string, Format>, key: string, create: () => Format): Format {
  let format = formats.get(key)
  if (format === undefined) {
    format = create()
    formats.set(key, format)
  }
  return format
}

/** Returns the regional variant of the selected language from the browser, because `en-GB` formats times differently from `en`. */
function findLocale(chosen: string): string {
  return navigator.languages.find((one) => one.split('-')[0] === chosen) ?? chosen
}

export function formatNumber(value: number, maximumFractionDigits = 0): string {
  const locale = findLocale(language.value)
  const create = (): Intl.NumberFormat => new Intl.NumberFormat(locale, { maximumFractionDigits })
  return findOrCreate(numberFormats, `${locale} ${maximumFractionDigits}`, create).format(value)
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), byteUnits.length - 1)
  return `${formatNumber(bytes / 1_024 ** power, power === 0 ? 0 : 1)} ${byteUnits[power]}`
}

/** Milliseconds since 1970 in the time zone that the reader chose. */
export function formatTime(ms: number): string {
  const inBrowser = timeZone.value === 'browser'
  const offsetMs = timeZone.value === 'broker' ? brokerOffsetMinutes.value * 60_000 : 0
  const locale = findLocale(language.value)
  const zone = inBrowser ? {} : { timeZone: 'UTC' }
  const create = (): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', ...zone })
  return findOrCreate(timeFormats, `${locale} ${inBrowser}`, create).format(ms + offsetMs)
}

/** Returns a date whose local fields are those of the selected time zone, for libraries that read the local fields only. */
export function toZonedDate(ms: number): Date {
  if (timeZone.value === 'browser') return new Date(ms)
  const offsetMinutes = timeZone.value === 'broker' ? brokerOffsetMinutes.value : 0
  const date = new Date(ms)
  return new Date(ms + (offsetMinutes + date.getTimezoneOffset()) * 60_000)
}

/** Returns day and time of a mark of an axis, in the selected language and time zone. Marks within a minute have seconds. */
export function formatAxisTime(ms: number, incrementSeconds: number): { readonly day: string; readonly time: string } {
  const locale = findLocale(language.value)
  const hasSeconds = incrementSeconds < 60
  const date = toZonedDate(ms)
  const dayFormat = findOrCreate(
    timeFormats,
    `${locale} day`,
    () => new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }),
  )
  const timeFormat = findOrCreate(
    timeFormats,
    `${locale} time ${hasSeconds}`,
    () => new Intl.DateTimeFormat(locale, { timeStyle: hasSeconds ? 'medium' : 'short' }),
  )
  return { day: dayFormat.format(date), time: timeFormat.format(date) }
}

/** `YYYY-MM-DD HH:mm:ss` of the broker's clock; NaN if it is not such a text. */
export function parseBrokerTime(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`) - brokerOffsetMinutes.value * 60_000
}

/** Returns the time in a date field, in the selected time zone; NaN if the field is empty. */
export function parseInputTime(text: string): number {
  if (timeZone.value === 'browser') return Date.parse(text)
  return Date.parse(`${text}Z`) - (timeZone.value === 'broker' ? brokerOffsetMinutes.value * 60_000 : 0)
}

/** The other way round, to the minute. */
export function formatInputTime(ms: number): string {
  const offsetMinutes =
    timeZone.value === 'browser'
      ? -new Date(ms).getTimezoneOffset()
      : timeZone.value === 'broker'
        ? brokerOffsetMinutes.value
        : 0
  return new Date(ms + offsetMinutes * 60_000).toISOString().slice(0, 16)
}

export function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${formatNumber(seconds, seconds < 10 ? 1 : 0)} s`
  if (seconds < 7_200) return `${formatNumber(seconds / 60)} min`
  if (seconds < 172_800) return `${formatNumber(seconds / 3_600)} h`
  return `${formatNumber(seconds / 86_400)} d`
}
