// Numbers, times and names from outside as text.

import { brokerOffsetMinutes, language, timeZone } from './preferences.ts'

/** Letters that one cannot see or that turn the direction of what follows. */
const hiddenLetters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A name from outside, in which nothing is hidden. */
export function visible(text: string): string {
  return text.replaceAll(hiddenLetters, (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

export function formatNumber(value: number, maximumFractionDigits = 0): string {
  return new Intl.NumberFormat(language.value, { maximumFractionDigits }).format(value)
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
  return new Intl.DateTimeFormat(language.value, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    ...(inBrowser ? {} : { timeZone: 'UTC' }),
  }).format(ms + offsetMs)
}

/** `YYYY-MM-DD HH:mm:ss` of the broker's clock; NaN where it is no such text. */
export function msOfLocal(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`) - brokerOffsetMinutes.value * 60_000
}

export function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${formatNumber(seconds, seconds < 10 ? 1 : 0)} s`
  if (seconds < 7_200) return `${formatNumber(seconds / 60)} min`
  if (seconds < 172_800) return `${formatNumber(seconds / 3_600)} h`
  return `${formatNumber(seconds / 86_400)} d`
}
