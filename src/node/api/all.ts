// Everything that the API may ask of this node. A new set of operations adds its line here.

import type { GodwitConfig } from '../../config/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AuditOperations, Operations } from '../../management/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { AccessRecords } from '../records/access-records.ts'
import type { BridgeConfig } from '../bridges/bridge-config.ts'
import type { ListenerManager } from '../listeners/listener-manager.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import type { Monitoring } from './monitoring.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'
import { backupOperations, type NodeBackups } from './backup.ts'
import { bridgeOperations } from './bridges.ts'
import type { ShadowedCredentials } from '../records/shadowed-credentials.ts'
import { brokerOperations } from './brokers.ts'
import { clientOperations } from './clients.ts'
import { configurationOperations } from './configuration.ts'
import type { ShutdownRequests } from './control.ts'
import { insightOperations } from './insight.ts'
import { liveOperations } from './live.ts'
import { listenerOperations } from './listeners.ts'
import { clientRuleOperations } from './client-rules.ts'
import { credentialOperations } from './credentials.ts'
import { namespaceOperations } from './namespaces.ts'
import { publishingOperations } from './publishing.ts'
import { ruleOperations } from './rules.ts'
import { retainedOperations } from './retained.ts'
import type { NamespaceLimitsInForce } from '../records/namespace-limits.ts'
import { namespacedOperationsOf } from './namespace-scope.ts'

/** The parts of a running node that operations work with. */
export interface NodeDependencies {
  readonly config: GodwitConfig
  readonly nodeName: string
  readonly version: string
  /** Absolute. */
  readonly dataDirectory: string
  readonly counters: SharedArrayBuffer
  readonly crew: ShardSupervisor
  readonly accessRecords: AccessRecords
  readonly log: Logger
  readonly control: ShutdownRequests
  readonly listeners: ListenerManager
  readonly bridges: BridgeConfig
  /** Connections that the machine has room for. */
  readonly room: number
  readonly configuration: LiveConfig
  readonly observation: Monitoring
  readonly hiddenPresets: ShadowedCredentials
  /** The node's own way to what is stored. */
  readonly ownStore: Store
  readonly audit: AuditOperations
  readonly namespaceLimits: NamespaceLimitsInForce
}

/** All but those about accounts, which belong to the door of the API. */
export function operationsOf(
  ground: NodeDependencies,
): Omit<Operations, 'accounts'> & { readonly backup: NodeBackups } {
  const ofAll = {
    clients: clientOperations(ground.crew, ground.nodeName),
    publishing: publishingOperations(ground.crew),
    retained: retainedOperations(ground.crew, ground.ownStore),
    insight: insightOperations(ground.crew, ground.counters),
    ...ground.observation.operations,
  }
  return {
    ...ofAll,
    live: liveOperations(ground.crew, ofAll.retained),
    within: (namespace) => namespacedOperationsOf({ ...ofAll, ground }, namespace),
    audit: ground.audit,
    backup: backupOperations(ground),
    bridges: bridgeOperations(ground),
    brokers: brokerOperations(ground),
    configuration: configurationOperations(ground.configuration),
    control: ground.control.operations,
    listeners: listenerOperations(ground),
    namespaces: namespaceOperations(ground, ofAll.clients),
    rules: ruleOperations(ground),
    clientRules: clientRuleOperations(ground),
    credentials: credentialOperations(ground),
  }
}
