// Entry point of the module sinks: actions of rules, which send messages to services outside of the broker without loss.

export {
  ActionDelivery,
  type ActionDeliveryDependencies,
  type ActionState,
  type DeliveryCounters,
  type DeliverySettings,
  type QueuedEntry,
} from './action-delivery.ts'
export type { CompileTemplate, KeptOrder, Render, RuleData, Sink, ActionEntry, WriteOutcome } from './sink.ts'
export { Backoff } from './backoff.ts'
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
export { problemOfServer } from './service-address.ts'
export { messageOf } from './service-responses.ts'
export { attributeOfForm, joinPayload, joinResult } from './stored-result.ts'
export { type DeadLetter, deadLetterOf, DeadLetters } from './dead-letters.ts'
export { DeadLetterRetry, type RetryProgress } from './dead-letter-retry.ts'
export { sinkTypes, type ActionSettings, type ConnectorSettings, type SinkTypeName } from './registry/sink-types.ts'
