// Offsets from UTC.

import { getKind, RuleError, type RuleValue } from '../../values/index.ts'

const offsetText = /^([+-])(\d{2})(?::?(\d{2})(?::(\d{2}))?)?$/

/** Largest offset of a number of seconds: one day. */
const largestOffset = 86_400

/** Returns seconds. `local` gives the offset of local time; undefined is UTC. */
export function resolveOffsetSeconds(offset: RuleValue, local: () => number): number {
  if (offset === undefined || offset === 'Z' || offset === 'z') return 0
  if (offset === 'local') return local()
  if (typeof offset === 'number' && Number.isInteger(offset) && Math.abs(offset) <= largestOffset) return offset
  const parts = typeof offset === 'string' ? offsetText.exec(offset) : null
  if (parts === null) throw createOffsetError(offset)
  const [hours, minutes, seconds] = [Number(parts[2]), Number(parts[3] ?? 0), Number(parts[4] ?? 0)]
  if (hours > 23 || minutes > 59 || seconds > 59) throw createOffsetError(offset)
  return (parts[1] === '-' ? -1 : 1) * (hours * 3_600 + minutes * 60 + seconds)
}

function createOffsetError(offset: RuleValue): RuleError {
  const shown = typeof offset === 'string' ? `'${offset.slice(0, 20)}'` : getKind(offset)
  return new RuleError(`the offset must be Z, local, ±hh, ±hh:mm, ±hh:mm:ss or seconds, not ${shown}`)
}

/** Returns `+hhmm` with separators, with seconds if `hasSeconds`. */
export function formatOffset(offset: number, separator: string, hasSeconds = false): string {
  const size = Math.abs(offset)
  const parts = [Math.floor(size / 3_600), Math.floor(size / 60) % 60, ...(hasSeconds ? [size % 60] : [])]
  return (offset < 0 ? '-' : '+') + parts.map((part) => String(part).padStart(2, '0')).join(separator)
}
