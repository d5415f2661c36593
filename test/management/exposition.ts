// A parser of the text format of Prometheus (0.0.4), as strict as Prometheus itself, so that a test fails if a scrape would.

export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadFamily {
  readonly type: string
  readonly samples: ReadSample[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y
const number = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Inf|NaN)$/

/** Returns metric families by name. Throws an Error with the invalid line if the text does not have the format. */
export function readExposition(text: string): ReadonlyMap<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, ReadFamily>()
  const helped = new Set<string>()
  let current: ReadFamily | undefined
  let currentName = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const [, word, name = '', rest = ''] = /^# (TYPE|HELP) (\S+)(?: (.*))?$/.exec(line) ?? []
    if (word === undefined) {
      if (line.startsWith('#') || line === '' || current === undefined)
        throw new Error(`neither metric nor words: ${line}`)
      current.samples.push(sampleOf(line, currentName, current.type))
      continue
    }
    if (!metricName.test(name)) throw new Error(`not a metric name: ${line}`)
    if (word === 'TYPE') {
      if (families.has(name)) throw new Error(`a second time: ${line}`)
      if (!['counter', 'gauge', 'histogram', 'summary', 'untyped'].includes(rest)) throw new Error(`no type: ${line}`)
      current = { type: rest, samples: [] }
      currentName = name
      families.set(name, current)
    } else {
      if (helped.has(name) || name !== currentName || current?.samples.length !== 0)
        throw new Error(`out of place: ${line}`)
      helped.add(name)
    }
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function sampleOf(line: string, family: string, type: string): ReadSample {
  const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? []
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${family}${part}`) : [family]
  if (!names.includes(name)) throw new Error(`not of ${family}: ${line}`)
  if (!number.test(value)) throw new Error(`not a number: ${line}`)
  return { name, labels: labelsOf(labels, line), value: Number(value.replace('Inf', 'Infinity')) }
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let at = 0
  while (at < text.length) {
    labelPair.lastIndex = at
    const [whole, name = '', value = ''] = labelPair.exec(text) ?? []
    if (whole === undefined || name in labels) throw new Error(`bad labels: ${line}`)
    labels[name] = value
    at += whole.length
  }
  return labels
}

function checkFamily(name: string, { type, samples }: ReadFamily): void {
  const seen = new Set<string>()
  for (const { name: own, labels, value } of samples) {
    const key = `${own} ${Object.entries(labels)
      .map(String)
      .toSorted((one, other) => one.localeCompare(other))
      .join(' ')}`
    if (seen.has(key)) throw new Error(`twice: ${key}`)
    seen.add(key)
    if (type === 'counter' && !(value >= 0)) throw new Error(`a counter below zero: ${key}`)
  }
  if (type === 'histogram') for (const series of seriesOf(samples)) checkHistogram(name, series)
}

function seriesOf(samples: readonly ReadSample[]): ReadSample[][] {
  const groups = Object.groupBy(samples, ({ labels }) => JSON.stringify({ ...labels, le: undefined }))
  return Object.values(groups) as ReadSample[][]
}

function isGrowing(values: readonly number[]): boolean {
  return values.every((value, at) => at === 0 || value >= values[at - 1])
}

function checkHistogram(name: string, series: readonly ReadSample[]): void {
  const buckets = series.filter((sample) => sample.name === `${name}_bucket`)
  const ends = buckets.map(({ labels }) => Number(labels['le']?.replace('Inf', 'Infinity')))
  const counts = buckets.map(({ value }) => value)
  if (ends.at(-1) !== Infinity) throw new Error(`${name}: the last bucket has an end`)
  if (!isGrowing(ends) || !isGrowing(counts)) throw new Error(`${name}: buckets do not grow`)
  const total = series.find((sample) => sample.name === `${name}_count`)?.value
  if (total !== counts.at(-1)) throw new Error(`${name}: ${total} are not ${counts.at(-1)}`)
  if (!series.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum`)
}
