// Functions for times and dates. Times are integers in a unit, `second` by default.

import { formatDate, parseDate } from '../time/date-format.ts'
import { resolveOffsetSeconds } from '../time/offsets.ts'
import { formatRfc3339, parseRfc3339 } from '../time/rfc3339.ts'
import { fromNanoseconds, splitSeconds, requireTimeUnit, toNanoseconds } from '../time/time-units.ts'
import type { RuleValue } from '../../values/index.ts'
import type { Call, FunctionDefinitions } from './rule-function.ts'

function computeLocalOffset(time: bigint, { host }: Call): number {
  return host.localOffsetSeconds(splitSeconds(time).seconds)
}

function toOffset(offset: RuleValue, time: bigint, call: Call): number {
  return resolveOffsetSeconds(offset, () => computeLocalOffset(time, call))
}

function now(unit: RuleValue, { host }: Call): RuleValue {
  return fromNanoseconds(host.nowNanoseconds(), requireTimeUnit(unit))
}

function toRfc3339(time: bigint, unit: RuleValue, call: Call): string {
  return formatRfc3339(time, computeLocalOffset(time, call), requireTimeUnit(unit))
}

function formatWith([unit, offset, format, given]: readonly RuleValue[], call: Call): string {
  const time =
    given === undefined ? call.host.nowNanoseconds() : toNanoseconds(given as number | bigint, requireTimeUnit(unit))
  requireTimeUnit(unit)
  return formatDate(time, toOffset(offset, time, call), format as string, call.budget)
}

function parseDateToTime(args: readonly RuleValue[], call: Call): RuleValue {
  const [unit, offset, format, text] = args.length === 3 ? [args[0], undefined, args[1], args[2]] : args
  const wanted = requireTimeUnit(unit)
  const utc = parseDate(text as string, format as string)
  if (offset === undefined) return fromNanoseconds(utc, wanted)
  const shift = toOffset(offset, utc, call)
  return fromNanoseconds(utc - BigInt(shift) * 1_000_000_000n, wanted)
}

function resolveOffset(zone: RuleValue, call: Call): RuleValue {
  return toOffset(zone, call.host.nowNanoseconds(), call)
}

function formatMongoDate([given, unit = 'millisecond']: readonly RuleValue[], { host }: Call): string {
  const time =
    given === undefined ? host.nowNanoseconds() : toNanoseconds(given as number | bigint, requireTimeUnit(unit))
  return `ISODate(${formatRfc3339(time, 0, 'millisecond', 'Z')})`
}

const zoneFunction = {
  signatures: ['offset: any'],
  returns: 'integer',
  description: 'Seconds of an offset: `Z`, `±hh:mm`, `local` or a number; undefined is 0.',
  run: ([zone]: readonly RuleValue[], call: Call) => resolveOffset(zone, call),
}

export const timeFunctions: FunctionDefinitions = {
  now_timestamp: {
    signatures: ['', 'unit: text'],
    returns: 'integer',
    description: 'Current time: `second`, `millisecond`, `microsecond` or `nanosecond` since 1970.',
    run: ([unit = 'second'], call) => now(unit, call),
  },
  now_rfc3339: {
    signatures: ['', 'unit: text'],
    returns: 'text',
    description: 'Current local time as RFC 3339, with the decimals of the unit.',
    run: ([unit = 'second'], call) => toRfc3339(call.host.nowNanoseconds(), unit, call),
  },
  unix_ts_to_rfc3339: {
    signatures: ['time: integer', 'time: integer, unit: text'],
    returns: 'text',
    description: 'Time as RFC 3339 in local time, with the decimals of the unit.',
    run: ([time, unit = 'second'], call) =>
      toRfc3339(toNanoseconds(time as number | bigint, requireTimeUnit(unit)), unit, call),
  },
  rfc3339_to_unix_ts: {
    signatures: ['text: text', 'text: text, unit: text'],
    returns: 'integer',
    description: 'Time of a text of RFC 3339.',
    run: ([text, unit = 'second']) => fromNanoseconds(parseRfc3339(text as string), requireTimeUnit(unit)),
  },
  format_date: {
    signatures: ['unit: text, offset: any, format: text', 'unit: text, offset: any, format: text, time: integer'],
    returns: 'text',
    description: 'Time, or the current time, by a format with %Y %m %d %H %M %S %N %3N %6N %z %:z %::z.',
    run: formatWith,
  },
  date_to_unix_ts: {
    signatures: ['unit: text, format: text, text: text', 'unit: text, offset: any, format: text, text: text'],
    returns: 'integer',
    description: 'Time of a date by its format. The date needs year, month, day, hour, minute and second.',
    run: parseDateToTime,
  },
  timezone_to_offset_seconds: zoneFunction,
  timezone_to_second: zoneFunction,
  mongo_date: {
    signatures: ['', 'time: integer', 'time: integer, unit: text'],
    returns: 'text',
    description: 'Time in milliseconds, or another unit, as `ISODate(…)` for MongoDB.',
    run: formatMongoDate,
  },
}
