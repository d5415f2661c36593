// Compiles the actions of a rule: each becomes a function of one result.

import type { PlainRuleAction, RuleActionConfig } from '../../config/index.ts'
import { splitScopedName } from '../../core/index.ts'
import { toJsonText } from '../../rules/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { addPublicationNamespace } from '../columns/namespaced-columns.ts'
import type { RuleSinks } from '../results/action-input.ts'
import { describeFailure } from '../results/action-outcome.ts'
import { compileRepublish } from '../results/republish.ts'
import type { CompiledAction, RunAction } from './running-rule.ts'

/** Maximum characters of an output that the action `console` writes. */
const maxConsoleLength = 10_000

export interface CompileActionsContext {
  readonly log: Pick<Log, 'info'>
  readonly sinks: Pick<RuleSinks, 'store'>
  /** Called before a result is stored for this action. */
  onActionUsed(action: string): void
}

/** Compiles actions and fallbacks. The counters of fallbacks follow those of all actions. */
export function compileActions(
  rule: string,
  actions: readonly RuleActionConfig[],
  context: CompileActionsContext,
): readonly CompiledAction[] {
  let nextIndex = actions.length
  return actions.map((action, counterIndex) => ({
    counterIndex,
    run: compileAction(rule, action, context),
    fallbacks: (action.fallbacks ?? []).map((fallback) => ({
      counterIndex: nextIndex++,
      run: compileAction(rule, fallback, context),
    })),
  }))
}

function compileAction(rule: string, action: PlainRuleAction, context: CompileActionsContext): RunAction {
  const { log, sinks } = context
  switch (action.kind) {
    case 'console':
      return (output) => {
        const text = toJsonText(output)
        log.info('rule output', { rule, output: text.slice(0, maxConsoleLength) })
        return 'success'
      }
    case 'do-nothing':
      return () => 'success'
    case 'republish': {
      const make = compileRepublish(action.arguments)
      const { namespace } = splitScopedName(rule)
      return (output, { original, actions }) => {
        const publication = make(output, original)
        const failure = actions.publish(
          namespace === undefined ? publication : addPublicationNamespace(namespace, publication),
        )
        return failure === undefined ? 'success' : { failure: `republish: ${describeFailure(failure)}` }
      }
    }
    case 'action':
      return (output, { actions, event, original }) => {
        context.onActionUsed(action.id)
        const failure = sinks.store(action.id, { rule, output, actions, event, original })
        if (failure === undefined) return 'stored'
        return failure === 'action-queue-full' ? 'discarded' : { failure: `${action.id}: ${describeFailure(failure)}` }
      }
    default:
      throw action satisfies never
  }
}
