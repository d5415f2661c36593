// Creates the rules, actions and sources of a shard, and gives them what they use of it.

import { type ActionBroker, type LateRuleHook, RuleEngine, type StoredValueChange } from '../actions/index.ts'
import type { PacketLimits } from '../protocol/index.ts'
import { bridgeListener } from './bridges/bridge-manager.ts'
import { listClientIdsWithPrefix } from './bridges/removed-bridges.ts'
import type { ShardDependencies } from './runtime/shard-dependencies.ts'
import type { Shard } from './shard.ts'

interface ShardActionsDependencies extends Pick<
  ShardDependencies,
  'start' | 'clock' | 'log' | 'raiseAlarm' | 'endAlarm' | 'fail'
> {
  readonly ruleHook: LateRuleHook
  limits(): PacketLimits
  sendStoredValues(changes: readonly StoredValueChange[]): void
}

/** Returns the rules of the shard, which are active after `take`. */
export function createRuleEngine(
  shard: Shard,
  { start, clock, ruleHook, ...dependencies }: ShardActionsDependencies,
): RuleEngine {
  const { core, access, commands, eventLog } = shard
  const nowMs = (): number => clock.nowMs()
  const broker: ActionBroker = {
    ...dependencies,
    nodeName: start.rules?.nodeName ?? '',
    dataDirectory: start.dataDirectory,
    own: start.shardNumber,
    shards: start.shards ?? 1,
    view: core.view,
    access,
    commands,
    nowMs,
    openConnection: (stream) => void shard.openConnection(stream, bridgeListener),
    findSessions: (prefix) => listClientIdsWithPrefix(core.view, prefix),
    setRules: (rules, triggers, countedTopics) => shard.handleInput({ kind: 'rules', rules, triggers, countedTopics }),
    recordWaiting: (clientIds, text) => {
      for (const clientId of clientIds) eventLog.timelines.recordWaiting(clientId, text, nowMs())
    },
  }
  return new RuleEngine(broker, ruleHook)
}
