// Actions of rules: services outside of the broker, and how messages reach them without loss.

export {
  ActionDelivery,
  type ActionDeliveryDependencies,
  type ActionState,
  type DeliveryCounters,
  type DeliverySettings,
} from './action-delivery.ts'
export type { CompileTemplate, Render, RuleData, Sink, SpoolEntry, WriteOutcome } from './sink.ts'
export { type DeadLetter, deadLetterOf, DeadLetters } from './dead-letters.ts'
export { sinkTypes, type ActionSettings, type ConnectorSettings, type SinkTypeName } from './sink-types.ts'
