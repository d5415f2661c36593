// Entry point of the module actions: rules, their actions and sources, from the configuration to the services.

export type { ActionBroker } from './action-broker.ts'
export { RuleEngine } from './rule-engine.ts'
export type * from './plan/rule-plan.ts'
export type * from './plan/rule-reports.ts'
export { topicCountNames } from './plan/rule-reports.ts'
export { planRules } from './plan/plan-rules.ts'
export { findSqlProblem as problemOfSql } from './plan/check-sql.ts'
export {
  listDerivedResources as derivedResources,
  findDerivedKey as keyOfDerived,
  type Resource,
} from './plan/derive-rules.ts'
export { hasRules } from './plan/check-namespaces.ts'
export {
  isSettingOfFiles,
  mapActionNames,
  mapSettingNames,
  findFileProblem as refusalOfFiles,
} from './plan/namespaced-resources.ts'
export { listSchemas as schemasOf } from './plan/plan-schemas.ts'
export type { RetryProgress } from './delivery/dead-letter-retry.ts'
export { createNamespaceHost as hostWithin } from './columns/namespaced-columns.ts'
export { LateRuleHook } from './rules/late-rule-hook.ts'
export { createRuleHost as ruleHost } from './rules/rule-host.ts'
export type { LiveBatch, LiveMessage } from './watches/live-batch.ts'
export { probeService } from './probe/probe-service.ts'
