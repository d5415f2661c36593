// The door of the core: a broker without a world. See broker-core.ts for the four calls that drive it.

export * from './records.ts'
export * from './settings.ts'
export * from './message.ts'
export * from './inputs.ts'
export * from './outputs.ts'
export * from './send-list.ts'
export { Connection, type ConnectionState, type ListenerTraits } from './connections/connection.ts'
