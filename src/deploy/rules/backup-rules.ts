// Rules about GodwitBackup and GodwitRestore.

import type { BackupSpecDraft, RestoreSpecDraft } from '../resource/backup-fields.ts'
import { defineRule, ensure, type Rule } from './rule.ts'

const placeRule = defineRule<RestoreSpecDraft | BackupSpecDraft>({
  at: 'spec',
  cel: 'has(self.pvc) != has(self.s3)',
  message: 'there is exactly one of pvc and s3',
  hint: 'set one of them',
  check: ({ pvc, s3 }) => ensure((pvc === undefined) !== (s3 === undefined), []),
})

const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const
const names = [
  [],
  [],
  [],
  ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
] as const

/** Returns whether the text has the five fields of cron, each in its range. */
export function isCronSchedule(text: string): boolean {
  const fields = text.trim().split(/\s+/)
  return (
    fields.length === ranges.length &&
    fields.every((field, index) => field.split(',').every((part) => isPart(part, index)))
  )
}

function isPart(part: string, index: number): boolean {
  const [range = '', step, ...others] = part.split('/')
  if (others.length > 0 || (step !== undefined && !/^[1-9]\d{0,3}$/.test(step))) return false
  if (range === '*') return true
  const bounds = range.split('-').map((bound) => parseBound(bound, index))
  const [low, high = low] = bounds
  return (
    bounds.length <= 2 &&
    low !== undefined &&
    high !== undefined &&
    bounds.every((bound) => bound !== undefined) &&
    low <= high
  )
}

function parseBound(text: string, index: number): number | undefined {
  const [low, high] = ranges[index] ?? [0, -1]
  const known: readonly string[] = names[index] ?? []
  const position = known.indexOf(text.toLowerCase())
  if (position >= 0) return position + low
  const number = /^\d{1,2}$/.test(text) ? Number(text) : -1
  return number >= low && number <= high ? number : undefined
}

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch (error) {
    // The only way to ask: an unknown name is a RangeError.
    if (error instanceof RangeError) return false
    throw error
  }
}

export const backupRules: readonly Rule[] = [
  placeRule,
  defineRule<BackupSpecDraft>({
    at: 'spec',
    cel: undefined,
    message: 'this is not a schedule of cron',
    hint: 'write minute, hour, day of the month, month and day of the week, such as "0 3 * * *"',
    check: ({ schedule }) =>
      ensure(schedule?.cron === undefined || isCronSchedule(schedule.cron), ['schedule', 'cron']),
  }),
  defineRule<BackupSpecDraft>({
    at: 'spec',
    cel: undefined,
    message: 'there is no such time zone',
    hint: 'write a name such as Europe/Berlin',
    check: ({ schedule }) =>
      ensure(schedule?.timeZone === undefined || isTimeZone(schedule.timeZone), ['schedule', 'timeZone']),
  }),
]

export const restoreRules: readonly Rule[] = [placeRule]
