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
export {
  describeConnectionError as connectionErrorText,
  findInnermostError as innermostError,
  describeServiceError as serviceErrorText,
} from './describe-connection-error.ts'
export { describeFileError as fileErrorText } from './describe-file-error.ts'
export { createListenerTable, ListenerCounters, type ListenerCounts, readListenerTable } from './listener-counters.ts'
export { ForwardingLog, maxLinesPerEventAndSecond, maxWaitingLogLines, type PostLine } from './forwarding-log.ts'
export {
  bucketEndsSeconds,
  createHistogramTable,
  type LoopDelay,
  type ThreadMemory,
  type HistogramName,
  type HistogramReading,
  listHistograms as histogramRows,
  Histograms,
} from './histograms.ts'
export { makeDirectory, makeDirectorySync } from './make-directory.ts'
export { readThreadMemory as memoryOfThread, monitorLoop } from './loop-monitor.ts'
