// The message WriteRequest of Prometheus' remote write protocol, in the encoding of Protocol Buffers:
//
//   WriteRequest { 1: TimeSeries* }   TimeSeries { 1: Label*, 2: Sample* }
//   Label { 1: name, 2: value }       Sample { 1: double value, 2: int64 timestamp (ms) }

export interface Sample {
  /** Sorted by name; the metric is the label `__name__`. */
  readonly labels: readonly (readonly [string, string])[]
  readonly value: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
}

const lengthDelimited = 2
const fixed64 = 1
const varintType = 0

/** Samples of one series are together, in the order of their times. */
export function encodeWriteRequest(samples: readonly Sample[]): Buffer {
  const series = Map.groupBy(samples, ({ labels }) => JSON.stringify(labels))
  return Buffer.concat([...series.values()].map((all) => message(1, encodeSeries(all))))
}

function encodeSeries(samples: readonly Sample[]): Buffer {
  const labels = samples[0]?.labels ?? []
  const ordered = samples.toSorted((a, b) => a.timestamp - b.timestamp)
  return Buffer.concat([
    ...labels.map(([name, value]) => message(1, Buffer.concat([text(1, name), text(2, value)]))),
    ...ordered.map((sample) => message(2, encodeSample(sample))),
  ])
}

function encodeSample({ value, timestamp }: Sample): Buffer {
  const number = Buffer.alloc(9)
  number[0] = (1 << 3) | fixed64
  number.writeDoubleLE(value, 1)
  return Buffer.concat([number, Buffer.from([(2 << 3) | varintType]), varint(BigInt(timestamp))])
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value))
}

function message(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | lengthDelimited]), varint(BigInt(bytes.length)), bytes])
}

/** Negative numbers are written as 64 bits of two's complement. */
function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
