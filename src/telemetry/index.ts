// The door of telemetry: what others call to be seen.

export { isLogged, logLevels, type Log, type LogFields, type LogLevel } from './log.ts'
export { createLogger, type Console, type Logger, type LoggerOptions } from './logger.ts'
export {
  counterCells,
  Counters,
  createCounterTable,
  readCounters,
  type CounterCell,
  type CounterName,
} from './counters.ts'
export { ForwardingLog, maxWaitingLogLines, type PostLine } from './forwarding-log.ts'
