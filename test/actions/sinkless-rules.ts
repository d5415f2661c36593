// The other parts that a runner of rules needs, for tests that do not use them.

import type { RuleRunnerDependencies } from '../../src/actions/rules/rule-runner.ts'

const silent = (): void => {}

export const sinklessRules: Pick<
  RuleRunnerDependencies,
  'log' | 'sinks' | 'serverOf' | 'authorizationSource' | 'monotonicMs'
> = {
  log: { trace: silent, debug: silent, info: silent, warn: silent, error: silent } as RuleRunnerDependencies['log'],
  serverOf: () => undefined,
  sinks: {
    noteSecond: () => {},
    actionQueueOf: () => undefined,
    store: () => 'no-action',
    storeStopped: () => 'no-action',
  },
  authorizationSource: () => 'file',
  monotonicMs: () => 0,
}
