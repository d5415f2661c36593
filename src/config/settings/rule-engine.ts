// rule_engine: rules in SQL over messages and events.

import { linesOfText, ruleActions } from '../schema/rule-action.ts'
import { namedSection, openSection, section, setting, appliedAtOnce } from '../schema/setting.ts'
import { duration } from '../schema/quantities.ts'
import { boolean, choice, integer } from '../schema/setting-type.ts'

const maxSqlBytes = 262_144
const template = linesOfText(maxSqlBytes)

const rule = section('One rule.', {
  sql: setting(template, '', { description: 'The SQL statement: see RULES.' }),
  actions: setting(ruleActions, [], {
    description:
      'What happens with each result: "type:name" of an action, {function = republish, args {topic, qos, retain, payload, mqtt_properties, user_properties}}, or {function = console}. With {action = ..., fallbacks = [...]}, the fallbacks get a result for which the action fails.',
  }),
  on_action_failed: setting(choice(['continue', 'stop']), 'continue', {
    description: 'With stop, a result for which an action fails is passed to no further action, but to its fallbacks.',
  }),
  enable: setting(boolean, true, { description: 'Whether the rule runs.' }),
  description: setting(template, '', { description: 'For administrators.' }),
  name: setting(template, '', { description: 'A setting of EMQX.' }),
  metadata: openSection('Settings of EMQX.'),
  created_at: setting(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0, {
    description: 'When the rule was created; the API sets it.',
    unit: 'milliseconds since 1970',
  }),
  last_modified_at: setting(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0, {
    description: 'When the rule was changed last; the API sets it.',
    unit: 'milliseconds since 1970',
  }),
})

export const ruleEngine = appliedAtOnce(
  section('Rules: SQL over messages and events, with actions for the results.', {
    ignore_sys_message: setting(boolean, true, {
      description: 'Whether messages below $SYS/ run no rules. If false, they run the rules that name $SYS.',
    }),
    max_evaluation_time: setting(duration({ minMs: 1, maxMs: 10_000 }), 20, {
      description:
        'Processor time that a rule may take for one message or event; then it fails for it. Other messages of the shard wait meanwhile.',
    }),
    jq_function_default_timeout: setting(duration({ minMs: 1, maxMs: 60_000 }), 10_000, {
      description:
        'Processor time of the function jq where a rule names none. It ends with max_evaluation_time in any case.',
    }),
    rules: namedSection('The rules, by their IDs.', {
      entries: {},
      placeholder: 'id',
      named: rule,
      isOfNamespaces: true,
    }),
  }),
)
