// Metrics of rules, actions and connectors for Prometheus.

import type { MetricName } from '../../contract/index.ts'
import type { ActionMetrics, RuleMetrics, RuleScrape } from '../rules/rule-reports.ts'
import type { MetricValue, Sample } from './prometheus-text.ts'

/** Maximum rules with their own samples; others are added up as one. */
const maxRulesShown = 1_000
const otherRules = '(others)'
const msPerSecond = 1_000

export type RuleMetricName = Extract<MetricName, `godwit_rule_${string}`>

/** Returns the samples of all metrics about rules. */
export function toRuleMetrics({ rules, actions, connectors }: RuleScrape): Record<RuleMetricName, MetricValue> {
  return {
    ...toRuleSamples(limitRules(rules)),
    ...toActionSamples([...actions]),
    ...toConnectorSamples(connectors, actions),
  }
}

type RuleCount = Exclude<keyof RuleMetrics, 'functions' | 'lastError'>
type Counts = Readonly<Record<RuleCount, number>>

function limitRules(rules: ReadonlyMap<string, Counts>): readonly (readonly [string, Counts])[] {
  const all = [...rules].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const shown = all.slice(0, maxRulesShown)
  const others = all.slice(maxRulesShown)
  if (others.length === 0) return shown
  const sum = (name: RuleCount): number => others.reduce((total, [, counts]) => total + counts[name], 0)
  return [
    ...shown,
    [
      otherRules,
      {
        matched: sum('matched'),
        rate: sum('rate'),
        rateMax: sum('rateMax'),
        rateLast5m: sum('rateLast5m'),
        passed: sum('passed'),
        exceptions: sum('exceptions'),
        noResult: sum('noResult'),
        actionsTotal: sum('actionsTotal'),
        actionsSuccess: sum('actionsSuccess'),
        actionsFailed: sum('actionsFailed'),
        actionsDiscarded: sum('actionsDiscarded'),
      },
    ],
  ]
}

function toRuleSamples(rules: readonly (readonly [string, Counts])[]) {
  const toSamples = (name: RuleCount): Sample[] =>
    rules.map(([rule, counts]) => ({ labels: { rule }, value: counts[name] }))
  const toLabeledSamples = (label: string, names: Readonly<Record<string, RuleCount>>): Sample[] =>
    rules.flatMap(([rule, counts]) =>
      Object.entries(names).map(([value, name]) => ({ labels: { rule, [label]: value }, value: counts[name] })),
    )
  return {
    godwit_rule_matched_total: toSamples('matched'),
    godwit_rule_passed_total: toSamples('passed'),
    godwit_rule_failed_total: toLabeledSamples('reason', { exception: 'exceptions', no_result: 'noResult' }),
    godwit_rule_matched_rate: toSamples('rate'),
    godwit_rule_results_total: toLabeledSamples('result', {
      success: 'actionsSuccess',
      failed: 'actionsFailed',
      discarded: 'actionsDiscarded',
    }),
  }
}

function toActionSamples(actions: readonly (readonly [string, ActionMetrics])[]) {
  const toSamples = (valueOf: (action: ActionMetrics) => number): Sample[] =>
    actions.map(([action, metrics]) => ({ labels: { action }, value: valueOf(metrics) }))
  return {
    godwit_rule_action_connected: toSamples(({ status }) => (status === 'connected' ? 1 : 0)),
    godwit_rule_action_matched_total: toSamples(({ matched }) => matched),
    godwit_rule_action_success_total: toSamples(({ success }) => success),
    godwit_rule_action_failed_total: toSamples(({ failed }) => failed),
    godwit_rule_action_retried_total: toSamples(({ retried }) => retried),
    godwit_rule_action_dropped_total: actions.flatMap(([action, { droppedQueueFull, droppedOther }]) => [
      { labels: { action, reason: 'queue_full' }, value: droppedQueueFull },
      { labels: { action, reason: 'other' }, value: droppedOther },
    ]),
    godwit_rule_action_queuing: toSamples(({ queuing }) => queuing),
    godwit_rule_action_inflight: toSamples(({ inflight }) => inflight),
    godwit_rule_action_oldest_seconds: toSamples(({ oldestAgeMs = 0 }) => oldestAgeMs / msPerSecond),
    godwit_rule_action_dead_letters: toSamples(({ deadLetters }) => deadLetters),
    godwit_rule_action_dead_letters_dropped_total: toSamples(({ droppedDeadLetters }) => droppedDeadLetters),
  }
}

/** A connector is connected if all of its actions are. */
function toConnectorSamples(connectors: RuleScrape['connectors'], actions: RuleScrape['actions']) {
  const isConnected = (users: readonly string[]): boolean =>
    users.every((action) => actions.get(action)?.status === 'connected')
  return {
    godwit_rule_connector_connected: [...connectors].map(([connector, users]) => ({
      labels: { connector },
      value: isConnected(users) ? 1 : 0,
    })),
  }
}
