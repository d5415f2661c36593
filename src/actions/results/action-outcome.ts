// The outcome of an action for one result.

import type { RuleActionFailure } from '../../core/index.ts'
import { RuleError } from '../../values/index.ts'
import type { ActionOutcome } from '../statistics/rule-statistics.ts'

/** Runs an action. An error in a template fails only this action. */
export function runAction(run: () => ActionOutcome): ActionOutcome {
  try {
    return run()
  } catch (error) {
    if (error instanceof RuleError || error instanceof TypeError) return { failure: error.message }
    throw error
  }
}

const failureTexts: Readonly<Record<RuleActionFailure | 'no-action', string>> = {
  'invalid-topic': 'the topic is not a valid topic name',
  'too-deep': 'rules have delayed the message that they receive too often: the loop ends here',
  'too-large': 'the message is larger than mqtt.max_packet_size',
  'not-available': 'retained messages are not available: see mqtt.retain_available',
  'storage-failing': 'the disk fails',
  'receiver-full': 'the queue of a matching persistent session is full',
  'shard-behind': 'another shard is too slow or is restarting',
  'action-queue-full': 'the action queue is full',
  'no-action-queue': 'the action queue is not open',
  'no-action': 'there is no such action',
}

export function describeFailure(failure: RuleActionFailure | 'no-action'): string {
  return failureTexts[failure]
}
