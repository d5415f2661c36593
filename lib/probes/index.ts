// Entry point of the module probes: measures and checks any MQTT broker (`godwit bench`, `godwit conformance`).

export { type BenchInterval, type BenchOptions, type BenchResult, type BenchScenario, runBench } from './bench.ts'
export { type ConformanceResult, runConformance } from './conformance/run-conformance.ts'
export { parseTarget, type ProbeTarget, trustOption } from './probe-socket.ts'
export type { ProbeVersion } from './wire.ts'
