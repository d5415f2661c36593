// Entry point of the module jq: compiles and runs jq programs on values, within a budget. The module is pure.

export { compileJq, runJq, type JqProgram } from './run-jq.ts'
export * as jqLimits from './model/jq-limits.ts'
