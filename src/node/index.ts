// Entry point of the module node: one process of the broker.

export { type Account, defaultDataDirectory, type Installation } from './data-dir/data-directory.ts'
export type { ListenerAddress } from './listeners/listener-addresses.ts'
export { startNode, type NodeOptions, type NodeStart, type RunningNode } from './boot/start-node.ts'
export { importSessions, type SessionsImport } from './backup/import-sessions.ts'
export { isWellKnownPassword } from './admins/well-known-passwords.ts'
export { startProblems } from './boot/start-problems.ts'
export type { RestartPolicy } from './shards/supervised-shard.ts'
export { shardsOf } from './shards/shard-plan.ts'
export { includeReader, namedFileReader, readConfigFile } from './configuration/config-files.ts'
export { readConfiguration, type ConfigurationReading } from './configuration/read-configuration.ts'
export type { ConfigOutcome } from './configuration/config-manager.ts'
