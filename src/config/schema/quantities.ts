// Durations and sizes: numbers with a unit.

import { createTypeProblem, toScalarText, type SettingType } from './setting-type.ts'

const durationUnits: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
]

const durationUnitMs: ReadonlyMap<string, number> = new Map([
  ...durationUnits,
  ['milli', 1],
  ['millis', 1],
  ['millisecond', 1],
  ['milliseconds', 1],
  ['second', 1_000],
  ['seconds', 1_000],
  ['minute', 60_000],
  ['minutes', 60_000],
  ['hour', 3_600_000],
  ['hours', 3_600_000],
  ['day', 86_400_000],
  ['days', 86_400_000],
])

// A unit between any two numbers makes the match unique: an ambiguous pattern would block an editor on a text that does
// not match.
const durationPattern = String.raw`^[0-9]+(\.[0-9]+)?( *[A-Za-z]+( *[0-9]+(\.[0-9]+)? *[A-Za-z]+)*)?$`

interface DurationBounds {
  readonly minMs: number
  readonly maxMs: number
  /** Unit of a number without one; default: seconds. */
  readonly bareUnitMs?: number
  /** The value must be a multiple of this; default: 1. */
  readonly stepMs?: number
}

/** A duration in milliseconds: `10s`, `100ms`, `1h30m`, or a number of seconds. */
export function duration(bounds: DurationBounds): SettingType<number> {
  const name = `a duration such as 10s, from ${showDuration(bounds.minMs)} to ${showDuration(bounds.maxMs)}`
  const step = bounds.stepMs ?? 1
  return {
    name,
    jsonSchema: {
      type: ['string', 'number'],
      pattern: durationPattern,
      minimum: 0,
    },
    read(value) {
      const ms = parseDuration(toScalarText(value) ?? '', bounds.bareUnitMs ?? 1_000)
      if (ms === undefined || ms < bounds.minMs || ms > bounds.maxMs) return createTypeProblem(name, value)
      return ms % step === 0 ? { value: ms } : { problem: `the duration is not a multiple of ${showDuration(step)}` }
    },
    show: showDuration,
  }
}

/** Milliseconds; undefined if the text is not a duration or has a fraction of a millisecond. */
export function parseDuration(text: string, bareUnitMs: number): number | undefined {
  const trimmed = text.trim().toLowerCase()
  if (/^[0-9]{1,15}(?:\.[0-9]{1,6})?$/.test(trimmed)) return toSafeInteger(Number(trimmed) * bareUnitMs)
  if (trimmed.length > 64 || !/^(?:[0-9]{1,15}(?:\.[0-9]{1,6})?\s*[a-z]+\s*)+$/.test(trimmed)) return undefined
  let ms = 0
  for (const [, number, unit] of trimmed.matchAll(/([0-9.]+)\s*([a-z]+)/g)) {
    const unitMs = durationUnitMs.get(unit ?? '')
    if (unitMs === undefined) return undefined
    ms += Number(number) * unitMs
  }
  return toSafeInteger(ms)
}

function toSafeInteger(number: number): number | undefined {
  return Number.isSafeInteger(number) ? number : undefined
}

/** The duration in the largest unit without a remainder. */
export function showDuration(ms: number): string {
  for (const [unit, unitMs] of durationUnits) {
    if (ms !== 0 && ms % unitMs === 0) return `${ms / unitMs}${unit}`
  }
  return `${ms}s`
}

const sizeUnits: readonly (readonly [string, number])[] = [
  ['GB', 1_073_741_824],
  ['MB', 1_048_576],
  ['KB', 1_024],
]

const sizeUnitBytes: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ['k', 1_024],
  ['kb', 1_024],
  ['kib', 1_024],
  ['m', 1_048_576],
  ['mb', 1_048_576],
  ['mib', 1_048_576],
  ['g', 1_073_741_824],
  ['gb', 1_073_741_824],
  ['gib', 1_073_741_824],
])

/** A number of bytes: `10MB`, `64KB`, `1024`. K is 1024. */
export function size(bounds: { readonly minBytes: number; readonly maxBytes: number }): SettingType<number> {
  const name = `a size such as 10MB, from ${showSize(bounds.minBytes)} to ${showSize(bounds.maxBytes)}`
  return {
    name,
    jsonSchema: { type: ['string', 'integer'], pattern: String.raw`^[0-9]+\s*([kKmMgG]?[iI]?[bB]?)$`, minimum: 0 },
    read(value) {
      const bytes = parseSize(toScalarText(value) ?? '')
      return bytes !== undefined && bytes >= bounds.minBytes && bytes <= bounds.maxBytes
        ? { value: bytes }
        : createTypeProblem(name, value)
    },
    show: showSize,
  }
}

/** Bytes; undefined if the text is not a size. */
export function parseSize(text: string): number | undefined {
  const parts = /^([0-9]{1,15})\s*([a-z]*)$/.exec(text.trim().toLowerCase())
  const unit = sizeUnitBytes.get(parts?.[2] ?? '')
  return parts === null || unit === undefined ? undefined : toSafeInteger(Number(parts[1]) * unit)
}

/** The size in the largest unit without a remainder. */
export function showSize(bytes: number): string {
  for (const [unit, unitBytes] of sizeUnits) {
    if (bytes !== 0 && bytes % unitBytes === 0) return `${bytes / unitBytes}${unit}`
  }
  return String(bytes)
}
