// Entry point of the module rules: SQL over messages and events. The module is pure: it compiles and evaluates, and has no clock, no I/O and
// no connection to the broker. A higher module provides HostFunctions, events and what happens with outputs.
//
//   compileRule(sql) -> CompiledRule     topicFilters and events say for what the rule must be evaluated
//   new RuleEvent(fields)                one message or event, shared by all rules that it matches
//   rule.evaluate(event, host)           -> RuleResult: outputs for the actions
//   compileTemplate(text).render(output) -> what an action sends

export { compileRule, type CompiledRule, type CompileOptions, type RuleResult } from './compile/compile-rule.ts'
export type { RuleWarning } from './compile/compilation.ts'
export { RuleCompileError } from './sql/compile-error.ts'
export { maxMessageResultBytes, maxMessageResults, maxSingleResultBytes } from './limits/rule-limits.ts'
export { toEventFields, RuleEvent, type EventFields } from './events/rule-event.ts'
export {
  listColumns,
  eventDefinitions,
  getSample,
  type EventDefinition,
  type EventName,
} from './events/event-definitions.ts'
export { columnsOfServices, type RuleSource } from './events/rule-sources.ts'
export type { CompressionFormat, HostFunctions, StoreArea } from './functions/host-functions.ts'
export { createSampleEvent, testRule, toJsonText, type RuleTestResult } from './test-rule.ts'
export { listSelectedNames } from './selected-names.ts'
export { explainRule, type RuleExplanation } from './explain-rule.ts'
export { convertRuleSql, type ConvertedSql } from './convert.ts'
export { compileTemplate, toPlainValue, type CompiledTemplate } from './templates.ts'
export type { Placeholder, TemplateEncoding } from './template-encodings.ts'
export { functionTable } from './functions/function-table.ts'
export { functionSubjects, type RuleFunction } from './functions/rule-function.ts'
export * as ruleLimits from './limits/rule-limits.ts'
