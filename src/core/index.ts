// The door of the core: a broker without a world. See broker-core.ts for the four calls that drive it.

export * from './records.ts'
export * from './settings.ts'
export * from './access.ts'
export * from './access-records.ts'
export * from './operator-records.ts'
export * from './peer-messages.ts'
export * from './message.ts'
export * from './inputs.ts'
export * from './outputs.ts'
export * from './send-list.ts'
export { BrokerCore } from './broker-core.ts'
export type { BrokerCounts, BrokerOptions } from './broker-state.ts'
export type { BrokerView, ClientView } from './views/broker-view.ts'
export type { RetainedView } from './views/retained-list.ts'
export type { Outlook } from './views/outlook.ts'
export {
  Connection,
  type ArrivalTraits,
  type CertificateTraits,
  type ConnectionStateName,
  type ListenerTraits,
} from './connection.ts'
