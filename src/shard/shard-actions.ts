// Connects rules, actions and sources with their shard.

import { type ActionBroker, type LateRuleHook, RuleEngine, type RuleEngineDependencies } from '../actions/index.ts'
import { bridgeListener } from './bridges/bridge-manager.ts'
import { sessionsWithPrefix } from './bridges/removed-bridges.ts'
import type { ShardStart } from './messages/messages.ts'
import type { Shard } from './shard.ts'

/** Creates the rules of the shard, which are active after `take`. */
export function createRuleEngine(
  shard: Shard,
  hook: LateRuleHook,
  {
    start,
    ...dependencies
  }: { readonly start: ShardStart } & Omit<RuleEngineDependencies, 'own' | 'shards' | 'dataDirectory'>,
): RuleEngine {
  return new RuleEngine(brokerOf(shard, dependencies.nowMs), hook, start.rules?.nodeName ?? '', {
    ...dependencies,
    own: start.shardNumber,
    shards: start.shards ?? 1,
    dataDirectory: start.dataDirectory,
  })
}

function brokerOf(shard: Shard, nowMs: () => number): ActionBroker {
  const { core, access, commands, eventLog } = shard
  return {
    view: core.view,
    access,
    commands,
    openConnection: (stream) => void shard.openConnection(stream, bridgeListener),
    findSessions: (prefix) => sessionsWithPrefix(core.view, prefix),
    setRules: (rules, triggers, countedTopics) => shard.input({ kind: 'rules', rules, triggers, countedTopics }),
    noteWaiting: (clientIds, text) => {
      for (const clientId of clientIds) eventLog.timelines.noteWaiting(clientId, text, nowMs())
    },
  }
}
