// Creates the objects that change listeners, bridges, gateways and rules of the running shards.

import type { RulePlan } from '../../actions/index.ts'
import type { AccessSettings } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { BridgeAssignment, GatewayPlan } from '../../shard/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import { BridgeConfig } from '../bridges/bridge-config.ts'
import type { DirectoryLock } from '../data-dir/directory-lock.ts'
import { GatewayConfig, type GatewayPlanner } from '../gateways/gateway-config.ts'
import type { DashboardListener } from '../listeners/dashboard-listener.ts'
import type { ListenerAddress } from '../listeners/listener-addresses.ts'
import { ListenerManager } from '../listeners/listener-manager.ts'
import type { Alarms } from '../observe/alarms.ts'
import { RuleConfig } from '../rules/rule-config.ts'
import { shardsOf } from '../shards/shard-plan.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

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
}

export function createListenerManager(
  config: GodwitConfig,
  { listeners: addresses, dashboard, log }: PreparedParts,
  supervisor: () => ShardSupervisor,
): ListenerManager {
  return new ListenerManager({
    config: dashboard.addTo(config),
    addresses: [...addresses, ...dashboard.addressesFor(config)],
    shards: shardsOf(config),
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
    reports: async () => {
      const shards = Array.from({ length: supervisor.size }, (_, shard) => supervisor.query(shard, { kind: 'bridges' }))
      return (await Promise.all(shards)).flatMap((reports) => reports ?? [])
    },
  })
  supervisor.onBridges = (shard, reports) => bridges.note(shard, reports)
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
