// Creates the objects that change listeners, bridges, gateways and rules of the running shards.

import type { RulePlan } from '../actions/index.ts'
import type { AccessSettings } from '../access/index.ts'
import type { GodwitConfig } from '../config/index.ts'
import type { BridgeAssignment, GatewayPlan } from '../shard/index.ts'
import type { PluginLibrary } from '../plugins/index.ts'
import type { Logger } from '../telemetry/index.ts'
import {
  BridgeConfig,
  type DirectoryLock,
  GatewayConfig,
  type GatewayPlanner,
  type DashboardListener,
  type ListenerAddress,
  ListenerManager,
  type Alarms,
  RuleConfig,
  resolveShardCount,
  type ShardSupervisor,
} from '../node/index.ts'

/** Parts that are ready before the shards are started. */
export interface PreparedParts {
  readonly directory: string
  readonly lock: DirectoryLock
  readonly log: Logger
  readonly alarms: Alarms
  readonly name: string
  readonly access: AccessSettings
  readonly accessSecret: Uint8Array
  readonly bridges: readonly BridgeAssignment[]
  readonly rules: RulePlan
  readonly gateways: GatewayPlan
  readonly gatewayPlanner: GatewayPlanner
  readonly listeners: readonly ListenerAddress[]
  readonly dashboard: DashboardListener
  readonly pluginLibrary: PluginLibrary
}

export function createListenerManager(
  config: GodwitConfig,
  { listeners: addresses, dashboard, log }: PreparedParts,
  supervisor: () => ShardSupervisor,
): ListenerManager {
  return new ListenerManager({
    config: dashboard.addTo(config),
    addresses: [...addresses, ...dashboard.listAddresses(config)],
    shards: resolveShardCount(config),
    log,
    sendStep: (step, difference, shardListeners) =>
      supervisor().attempt(
        (change) => ({ kind: 'listeners', change, step, difference }),
        shardListeners === undefined ? {} : { listeners: shardListeners },
      ),
  })
}

export function createBridgeConfig(
  { accessSecret: secret, bridges: plans }: PreparedParts,
  supervisor: ShardSupervisor,
): BridgeConfig {
  const bridges = new BridgeConfig({
    plans,
    secret,
    sendToShards: (changed) =>
      supervisor.change((change) => ({ kind: 'bridges', change, plans: changed }), { bridges: changed }),
    readReports: async () => {
      const shards = Array.from({ length: supervisor.size }, (_, shard) => supervisor.query(shard, { kind: 'bridges' }))
      return (await Promise.all(shards)).flatMap((reports) => reports ?? [])
    },
  })
  supervisor.onBridges = (shard, reports) => bridges.recordReports(shard, reports)
  return bridges
}

export function createGatewayConfig(
  config: GodwitConfig,
  { gateways: plan, gatewayPlanner: planner }: PreparedParts,
  supervisor: ShardSupervisor,
): GatewayConfig {
  return new GatewayConfig({
    config,
    plan,
    planner,
    sendToShards: (changed) =>
      supervisor.change((change) => ({ kind: 'gateways', change, plan: changed }), { gateways: changed }),
  })
}

export function createRuleConfig({ rules: plan, name }: PreparedParts, supervisor: ShardSupervisor): RuleConfig {
  return new RuleConfig({
    plan,
    nodeName: name,
    sendToShards: (changed) =>
      supervisor.change((change) => ({ kind: 'rules', change, plan: changed }), { rules: changed }),
  })
}
