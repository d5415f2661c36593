// Entry point of the module sinks: the drivers of services outside of the broker. Actions write to them, and sources receive from them.

export type { CompileTemplate, KeptOrder, Render, RuleData, Sink, ActionEntry, WriteOutcome } from './sink.ts'
export { findFailedLibrary, type LibraryName } from './failed-library.ts'
export { usesLibrary } from './registry/type-libraries.ts'
export { endCallsOnClose } from './connections/closable-sink.ts'
export {
  type ReceivedMessage,
  type SourceCallbacks,
  type SourceConnection,
  sourceProperties,
} from './sources/source-type.ts'
export {
  type SourceConnectorSettings,
  type SourceSettings,
  type SourceTypeName,
  sourceTypes,
} from './registry/source-types.ts'
export { checkMqtt } from './mqtt/mqtt-sink.ts'
export { findServerProblem } from './service-address.ts'
export { formatError } from './service-responses.ts'
export { sinkTypes, type ActionSettings, type ConnectorSettings, type SinkTypeName } from './registry/sink-types.ts'
