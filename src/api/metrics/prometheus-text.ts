// Metrics in the text format of Prometheus: for each a line with its type, a line of help, and its values.

import { type MetricName, metrics } from '../../contract/index.ts'
import { bucketEndsSeconds, type HistogramReading } from '../../telemetry/index.ts'

/** By name; names are constants, values may contain any text. */
export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number | HistogramReading
}

/** One value without labels, or text, or one value for each set of labels. */
export type MetricValue = number | string | readonly Sample[]

/** In the order of the table; metrics without a value are omitted. */
export function writePrometheus(values: Readonly<Record<MetricName, MetricValue>>): string {
  const lines: string[] = []
  for (const [name, { type, help }] of Object.entries(metrics)) {
    lines.push(`# TYPE ${name} ${type}`, `# HELP ${name} ${help}`)
    const value = values[name as MetricName]
    if (typeof value === 'object') for (const sample of value) writeSample(name, sample, lines)
    else lines.push(`${name} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

function writeSample(name: string, { labels, value }: Sample, lines: string[]): void {
  if (typeof value === 'number') lines.push(`${name}${formatLabels(labels)} ${value}`)
  else writeHistogram(name, labels, value, lines)
}

function writeHistogram(name: string, labels: Labels, reading: HistogramReading, lines: string[]): void {
  let sum = 0
  for (const [bucket, count] of reading.counts.entries()) {
    sum += count
    const end = bucketEndsSeconds[bucket]
    lines.push(`${name}_bucket${formatLabels({ ...labels, le: end === undefined ? '+Inf' : String(end) })} ${sum}`)
  }
  // Shards continue to count meanwhile: sum and count are consistent here.
  lines.push(`${name}_sum${formatLabels(labels)} ${reading.sumSeconds}`, `${name}_count${formatLabels(labels)} ${sum}`)
}

function formatLabels(labels: Labels): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(',')}}`
}

/**
 * A label value is one line in quotes. The format has only three escapes: a carriage return is replaced by its name.
 */
export function escapeLabel(value: string): string {
  return value.replaceAll('\r', '\\r').replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
