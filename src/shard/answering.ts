// Answers what the node asks a shard: each question by the function of its name, between two turns.

import { publishFor, subscribeFor, unsubscribeFor } from './answering-publishing.ts'
import { retainedFor } from './answering-retained.ts'
import type { AnswerTo, QuestionName, QuestionOf, ShardQuestion } from './questions.ts'
import type { Shard } from './shard.ts'

type Answers = {
  readonly [Name in QuestionName]: (shard: Shard, asked: QuestionOf<Name>) => AnswerTo<Name> | Promise<AnswerTo<Name>>
}

const answers: Answers = {
  client: ({ core }, { clientId }) => {
    const client = core.view.client(clientId)
    return client === undefined ? [] : [client]
  },
  retained: retainedFor,
  publish: publishFor,
  foresee: ({ core }, { topics, qos }) => core.view.foresee(topics, qos),
  subscribe: subscribeFor,
  unsubscribe: unsubscribeFor,
}

/** Rejects only by a mistake of ours. */
export async function answerOf(shard: Shard, asked: ShardQuestion): Promise<unknown> {
  const answer = answers[asked.question] as (shard: Shard, asked: ShardQuestion) => unknown
  return await answer(shard, asked)
}
