// A question to one shard, with an end to the waiting.

import type { AnswerTo, QuestionName, QuestionOf } from '../../shard/index.ts'
import type { Unanswered } from '../../management/index.ts'
import type { ShardCrew } from '../shards/shard-supervisor.ts'

/** A shard that is started anew has its sessions to read first; one that does not answer for so long is not there. */
const patienceMs = 10_000

export type Asking = Pick<ShardCrew, 'ask' | 'size'>

export async function askShard<Name extends QuestionName>(
  crew: Asking,
  shard: number,
  question: QuestionOf<Name>,
): Promise<AnswerTo<Name> | Unanswered> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, patienceMs, undefined)
  const answer = await Promise.race([crew.ask(shard, question), tooLate])
  clearTimeout(timer)
  return answer ?? { silentShard: shard }
}
