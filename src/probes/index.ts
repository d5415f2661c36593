// Measures and checks any MQTT broker from outside.

export { type BenchInterval, type BenchOptions, type BenchResult, type BenchScenario, runBench } from './bench.ts'
export { type ConformanceResult, runConformance } from './conformance/run-conformance.ts'
export { parseTarget, type ProbeTarget } from './probe-client.ts'
export type { ProbeVersion } from './wire.ts'
