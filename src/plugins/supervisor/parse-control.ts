// Messages of the process of a plugin on its control channel, checked: the process is not trusted.

import { type ControlFromProcess, logLevels } from '../calls/control-messages.ts'

type Fields = Readonly<Record<string, unknown>>

const maxTextLength = 8_192
const maxMetrics = 100
const metricName = /^[a-z][a-z0-9_]{0,63}$/

/** Undefined: the line is no such message. */
export function parseControl(line: string): ControlFromProcess | undefined {
  const fields = parseFields(line)
  switch (fields?.kind) {
    case 'ready':
    case 'pong':
      return { kind: fields.kind }
    case 'failed':
      return { kind: 'failed', reason: readText(fields.reason) }
    case 'configured': {
      const error = fields.error === undefined ? undefined : readText(fields.error)
      return { kind: 'configured', error, isUnknown: fields.isUnknown === true }
    }
    case 'log': {
      const level = logLevels.find((known) => known === fields.level)
      return level === undefined ? undefined : { kind: 'log', level, text: readText(fields.text) }
    }
    case 'log-dropped':
      return typeof fields.lines === 'number' ? { kind: 'log-dropped', lines: fields.lines } : undefined
    case 'metrics': {
      const counters = readNumbers(fields.counters)
      const gauges = readNumbers(fields.gauges)
      return counters === undefined || gauges === undefined ? undefined : { kind: 'metrics', counters, gauges }
    }
    default:
      return undefined
  }
}

function parseFields(line: string): Fields | undefined {
  try {
    const parsed = JSON.parse(line) as unknown
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : undefined
  } catch {
    return undefined
  }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : 'no reason given'
}

function readNumbers(value: unknown): Readonly<Record<string, number>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const entries = Object.entries(value as Fields)
  if (entries.length > maxMetrics) return undefined
  return entries.every(isMetric) ? (value as Readonly<Record<string, number>>) : undefined
}

function isMetric([name, number]: readonly [string, unknown]): boolean {
  return metricName.test(name) && typeof number === 'number' && Number.isFinite(number)
}
