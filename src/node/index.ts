// The door of the node: one machine's broker.

export { type Account, defaultDataDirectory, type Installation } from './data-directory.ts'
export type { ListenerAddress } from './listener-addresses.ts'
export { startNode, type NodeOptions, type NodeStart, type RunningNode } from './start-node.ts'
export type { RestartPolicy } from './watched-shard.ts'
export { shardsOf } from './shard-plan.ts'
export { includeReader, namedFileReader, readConfigFile } from './configuration/config-files.ts'
export { readConfiguration, type ConfigurationReading } from './configuration/read-configuration.ts'
export type { ConfigOutcome } from './configuration/live-config.ts'
