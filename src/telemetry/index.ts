// The door of telemetry: what others call to be seen.

export type { Log, LogFields, LogLevel } from './log.ts'
export { escapeUnseen } from './json-log.ts'
export { createLogger, type Console, type Logger, type LoggerOptions, type LogTargets } from './logger.ts'
export {
  counterCells,
  Counters,
  createCounterTable,
  readCounters,
  type CounterCell,
  type CounterName,
} from './counters.ts'
export { createListenerTable, ListenerCounters, type ListenerCounts, readListenerTable } from './listener-counters.ts'
export { ForwardingLog, maxLinesPerEventAndSecond, maxWaitingLogLines, type PostLine } from './forwarding-log.ts'
export {
  bucketEndsSeconds,
  createMeterTable,
  type LoopDelay,
  type ThreadMemory,
  type MeterName,
  type MeterReading,
  meterRows,
  Meters,
} from './histograms.ts'
export { memoryOfThread, watchLoop } from './loop-monitor.ts'
