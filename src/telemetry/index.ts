// Entry point of the module telemetry.

export type { AlarmName } from './alarm-names.ts'
export type { Log, LogFields, LogLevel } from './log.ts'
export { escapeUnsafe } from './json-log.ts'
export { createLogger, type Console, type Logger, type LoggerOptions, type LogTargets } from './logger.ts'
export {
  counterCells,
  counterMetrics,
  type CounterMetricName,
  Counters,
  createCounterTable,
  readCounters,
  type CounterCell,
  type CounterName,
} from './counters.ts'
export { describeConnectionError, findInnermostError, describeServiceError } from './describe-connection-error.ts'
export { describeFileError } from './describe-file-error.ts'
export { createListenerTable, ListenerCounters, type ListenerCounts, readListenerTable } from './listener-counters.ts'
export { ForwardingLog, maxLinesPerEventAndSecond, maxWaitingLogLines, type PostLine } from './forwarding-log.ts'
export {
  bucketEndsSeconds,
  createHistogramTable,
  type LoopDelay,
  type ThreadMemory,
  type HistogramName,
  type HistogramReading,
  listHistograms,
  Histograms,
} from './histograms.ts'
export { makeDirectory, makeDirectorySync } from './make-directory.ts'
export { readThreadMemory, monitorLoop } from './loop-monitor.ts'
