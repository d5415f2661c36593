// rule_engine: rules in SQL over messages and events.

import { multilineText, ruleActions } from '../schema/rule-action.ts'
import { namedSection, openSection, section, setting, appliedAtOnce } from '../schema/setting.ts'
import { duration } from '../schema/quantities.ts'
import { boolean, choice, integer } from '../schema/setting-type.ts'

const maxSqlBytes = 262_144
const template = multilineText(maxSqlBytes)

const rule = section('A rule: an SQL statement and the actions that its results are given to.', {
  sql: setting(template, '', {
    description: 'The SQL statement, which selects messages or events and computes the result (see RULES.md).',
  }),
  actions: setting(ruleActions, [], {
    description:
      'Actions that are run with each result: "type:name" of an action, {function = republish, args {topic, qos, retain, payload, mqtt_properties, user_properties}}, or {function = console}. With {action = ..., fallbacks = [...]}, the fallbacks are run with a result for which the action fails.',
  }),
  on_action_failed: setting(choice(['continue', 'stop']), 'continue', {
    description:
      'Effect of a failed action on the further actions of its rule. stop: no further action is run with the result, but the fallbacks of the action are. continue: the next action is run.',
  }),
  enable: setting(boolean, true, { description: 'Whether the rule runs.' }),
  description: setting(template, '', { description: 'Description of the rule for administrators. It has no effect.' }),
  name: setting(template, '', { description: 'Name that EMQX gives the rule.' }),
  metadata: openSection('Times at which EMQX created and changed the rule.'),
  created_at: setting(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0, {
    description: 'Time at which the rule was created. The API sets it.',
    unit: 'milliseconds since 1970',
  }),
  last_modified_at: setting(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0, {
    description: 'Time at which the rule was last changed. The API sets it.',
    unit: 'milliseconds since 1970',
  }),
})

export const ruleEngine = appliedAtOnce(
  section('Rules: SQL over messages and events, with actions for the results.', {
    ignore_sys_message: setting(boolean, true, {
      description:
        'Whether messages to topics that begin with $SYS/ are ignored by all rules. If false, they run the rules whose filter begins with $SYS.',
    }),
    max_evaluation_time: setting(duration({ minMs: 1, maxMs: 10_000 }), 20, {
      description:
        'Maximum work of a rule for one message or event. Each millisecond stands for 50,000 steps, at most 1,000,000 steps, whatever the speed of the machine. A rule that needs more is stopped, and its actions for services get the message as a dead letter. Other messages of the shard wait while a rule runs.',
    }),
    jq_function_default_timeout: setting(duration({ minMs: 1, maxMs: 60_000 }), 10_000, {
      description:
        'Maximum work of the function jq if the rule passes no limit. Each millisecond stands for 50,000 steps. max_evaluation_time limits it in any case.',
    }),
    rules: namedSection('The rules. The key is the ID of the rule.', {
      entries: {},
      placeholder: 'id',
      named: rule,
      isOfNamespaces: true,
    }),
  }),
)
