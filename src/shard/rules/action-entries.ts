// Entries of action queues and of queues of dead letters, as they are stored and reported.

import { actionClientPrefix, type RulePublication } from '../../core/index.ts'
import { compileTemplate, plainValue, type RuleMap } from '../../rules/index.ts'
import { type CompileTemplate, type DeadLetter, joinResult, type SpoolEntry } from '../../sinks/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import type { ActionAssignment, DeadLetterReport } from '../messages/rule-plan.ts'

/** Topic prefix of queued results; no client subscribes to it. */
const spoolTopic = '$action'
const ruleAttribute = 'rule'

/** Attribute of an entry that a rule has made. */
export function attributeOfRule(rule: string): readonly [string, string] {
  return [ruleAttribute, rule]
}

/** Undefined: it is of an earlier version. */
export function ruleOf({ attributes }: SpoolEntry): string | undefined {
  return attributes.find(([name]) => name === ruleAttribute)?.[1]
}

/** What is stored. */
export function publicationOf(entry: SpoolEntry): RulePublication {
  const { payload, attributes } = entry.result === undefined ? entry : joinResult(entry)
  return { topic: spoolTopic, payload, qos: 1, retain: false, properties: { userProperties: attributes } }
}

/** Whether a session of an action has its dead letters. */
export function isOfDeadLetters(clientId: string): boolean {
  return clientId.startsWith(`${actionClientPrefix}d`)
}

/** For the API. */
export function deadLetterReport({ id, why, atMs, entry }: DeadLetter): DeadLetterReport {
  // Those of the action itself begin with an exclamation mark.
  const attributes = entry.attributes.filter(([name]) => !name.startsWith('!'))
  return { id, why, atMs, rule: ruleOf(entry) ?? '', attributes, payload: entry.payload }
}

/** Templates of actions over the results of rules, which are maps of the rule language. Exported for tests of sinks. */
export const compileSinkTemplate: CompileTemplate = (text) => {
  const template = compileTemplate(text)
  return {
    parts: template.parts,
    render: (data) => template.render(data as RuleMap),
    values: (data) => template.values(data as RuleMap).map(plainValue),
  }
}

/** Why an action does not send; '': it does. */
export function reasonForNoSink({ action, connector }: ActionAssignment): string {
  if (!action.enable) return 'the action is disabled'
  return connector === undefined ? 'the connector is missing or disabled' : ''
}

/** Name of its alarm. */
export function alarmOf(id: string): AlarmName {
  return `action:${id}`
}
