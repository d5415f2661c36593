// Dates of the Gregorian calendar, without the Date of JavaScript: it needs a clock only to exist, and its range and
// precision differ.

import { RuleError } from '../../values/index.ts'

export interface CivilTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const secondsPerDay = 86_400
/** Years 0 to 9999. */
const firstSecond = -62_167_219_200
const lastSecond = 253_402_300_799

/** Returns date and time of a number of seconds since 1970. Throws outside of the years 0 to 9999. */
export function toCivilTime(seconds: number): CivilTime {
  if (!(seconds >= firstSecond && seconds <= lastSecond))
    throw new RuleError('the time is outside of the years 0 to 9999')
  const days = Math.floor(seconds / secondsPerDay)
  const rest = seconds - days * secondsPerDay
  return {
    ...toCivilDate(days),
    hour: Math.floor(rest / 3_600),
    minute: Math.floor(rest / 60) % 60,
    second: rest % 60,
  }
}

/** Years start in March here, so that the leap day is the last day. An era has 400 years. */
function toCivilDate(daysSince1970: number): Pick<CivilTime, 'year' | 'month' | 'day'> {
  const days = daysSince1970 + 719_468
  const era = Math.floor(days / 146_097)
  const dayOfEra = days - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

function countDaysSince1970(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/** Returns the seconds since 1970. Throws for a date or time that does not exist. */
export function toSeconds(time: CivilTime): number {
  const { year, month, day, hour, minute, second } = time
  const isTime = hour <= 23 && minute <= 59 && second <= 59
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= countDaysInMonth(year, month)
  if (!isTime || !isDate) throw new RuleError('there is no such date or time')
  return countDaysSince1970(year, month, day) * secondsPerDay + hour * 3_600 + minute * 60 + second
}

function countDaysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
