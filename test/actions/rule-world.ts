// The simulated broker with the real runner of rules. Outputs of the action `console` are recorded by rule.

import type { RuleActionConfig } from '../../src/config/index.ts'
import type { RuleHook, RuleTriggerKind } from '../../src/core/index.ts'
import { sinklessRules } from './sinkless-rules.ts'
import { RuleRunner, type RuleRunnerDependencies } from '../../src/actions/rules/rule-runner.ts'
import type { EventMessageName, RuleAssignment } from '../../src/actions/plan/rule-plan.ts'
import type { RuleReport } from '../../src/actions/plan/rule-reports.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { World, type WorldOptions } from '../simulator/world.ts'

export const toConsole: readonly RuleActionConfig[] = [{ kind: 'console' }]

export function republishTo(topic: string, args: { payload?: string; qos?: string } = {}): readonly RuleActionConfig[] {
  const { payload = '', qos = '0' } = args
  return [
    {
      kind: 'republish',
      arguments: { topic, qos, retain: 'false', payload, mqttProperties: {}, userProperties: '' },
    },
  ]
}

export interface RuleWorld {
  readonly world: World
  readonly runners: readonly RuleRunner[]
  /** Outputs of `console` of all shards, as JSON values. */
  readonly outputs: { readonly rule: string; readonly output: Record<string, unknown> }[]
  /** The last value that the core was told to record. */
  readonly wanted: () => ReadonlySet<RuleTriggerKind>
  readonly take: (
    rules: readonly (Omit<RuleAssignment, 'isEnabled' | 'stopsAtFailure'> &
      Partial<Pick<RuleAssignment, 'isEnabled' | 'stopsAtFailure'>>)[],
    eventMessages?: readonly EventMessageName[],
  ) => void
  readonly outputsOf: (rule: string) => Record<string, unknown>[]
  readonly report: (rule: string) => RuleReport | undefined
}

export function ruleWorld(options: WorldOptions = {}, changes: Partial<RuleRunnerDependencies> = {}): RuleWorld {
  const outputs: { rule: string; output: Record<string, unknown> }[] = []
  const runners: RuleRunner[] = []
  let wanted: ReadonlySet<RuleTriggerKind> = new Set()
  const log = {
    ...sinklessRules.log,
    info: (_event: string, fields?: Readonly<Record<string, unknown>>) =>
      outputs.push({ rule: String(fields?.['rule']), output: JSON.parse(String(fields?.['output'])) }),
  }
  const runnerOf = (own: number): RuleHook => {
    const runner = new RuleRunner({
      ...sinklessRules,
      log,
      host: sampleHost(),
      nodeName: 'godwit@test',
      findPublisher: (clientId) => {
        const client = world.host.shards[own]?.core.view.findClient(clientId)
        if (client === undefined) return undefined
        return {
          username: client.username,
          peerAddress: client.address,
          peerPort: client.port,
          version: client.version,
        }
      },
      setRules: (rules, triggers) => {
        wanted = triggers
        world.host.shards[own]?.handle({ kind: 'rules', rules, triggers })
      },
      ...changes,
    })
    runners[own] = runner
    return runner
  }
  const world: World = new World({ ...options, host: { ...options.host, ruleHook: runnerOf } })
  return {
    world,
    runners,
    outputs,
    wanted: () => wanted,
    take: (rules, eventMessages = []) => {
      const assignments = rules.map((rule) => ({ isEnabled: true, stopsAtFailure: false, ...rule }))
      for (const runner of runners) runner.configure(assignments, { ignoresSysMessages: true, eventMessages })
      world.settle()
    },
    outputsOf: (rule) => outputs.filter((each) => each.rule === rule).map(({ output }) => output),
    report: (rule) => runners[0]?.listReports().find(({ id }) => id === rule),
  }
}
