// The other parts that a runner of rules needs, for tests that do not use them.

import type { RuleRunnerDependencies } from '../../src/actions/rules/rule-runner.ts'

const silent = (): void => {}

export const sinklessRules: Pick<
  RuleRunnerDependencies,
  'log' | 'sinks' | 'findServer' | 'findAuthorizationSource' | 'monotonicMs'
> = {
  log: { trace: silent, debug: silent, info: silent, warn: silent, error: silent } as RuleRunnerDependencies['log'],
  findServer: () => undefined,
  sinks: {
    handleSecond: () => {},
    findActionQueue: () => undefined,
    store: () => 'no-action',
    storeStopped: () => 'no-action',
  },
  findAuthorizationSource: () => 'file',
  monotonicMs: () => 0,
}
