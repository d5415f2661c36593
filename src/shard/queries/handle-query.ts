// Answers what the node asks a shard: each question by the function of its name, between two turns.

import { keepRetainedFor } from './handle-query-backup.ts'
import { memoryUsersFor } from './handle-query-memory.ts'
import { publishFor, subscribeFor, unsubscribeFor } from './handle-query-publishing.ts'
import { explain } from './explain.ts'
import { retainedFor } from './handle-query-retained.ts'
import { slowFor } from './handle-query-slow.ts'
import type { AnswerTo, QuestionName, QuestionOf, ShardQuestion } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'
import { wantedOf } from '../runtime/result-slices.ts'

type Answers = {
  readonly [Name in QuestionName]: (
    shard: QueriedShard,
    asked: QuestionOf<Name>,
    nowMs: number,
  ) => AnswerTo<Name> | Promise<AnswerTo<Name>>
}

const answers: Answers = {
  clients: ({ core }, asked) => core.view.clientSlice(asked.filter, wantedOf(asked)),
  subscriptions: ({ core }, asked) => core.view.subscriptionSlice(asked.filter, wantedOf(asked)),
  'session-count': ({ core }) => core.view.sessions,
  verdicts: ({ core }, { clientId }) => ({ found: core.view.rememberedVerdicts(clientId) }),
  'change-client': async ({ commands }, { command }) => (await commands.run(command)).done,
  client: ({ core }, { clientId }) => {
    const client = core.view.client(clientId)
    return client === undefined ? [] : [client]
  },
  retained: retainedFor,
  slow: slowFor,
  'memory-users': memoryUsersFor,
  publish: publishFor,
  foresee: ({ core }, { topics, qos }) => core.view.foresee(topics, qos),
  subscribe: subscribeFor,
  unsubscribe: unsubscribeFor,
  'keep-retained': keepRetainedFor,
  'end-sessions': ({ commands }, { namespace, clientIds }) =>
    commands.run({ name: 'end-sessions', namespace, clientIds }),
  'forget-retained': ({ commands }, { topics }) => commands.run({ name: 'forget-retained', topics }),
  explain,
  matching: ({ core }, { publication, limit }) => core.view.findMatching(publication, limit),
  flapping: ({ access }, { namespace }) => access.flapping(namespace),
  dropped: ({ eventLog }, { query, limit }) => eventLog.ledger.find(query, limit),
  bridges: ({ bridges }) => bridges?.reports() ?? [],
  timeline: ({ eventLog }, { clientId }) => eventLog.timelines.of(clientId),
}

/** `nowMs`: by the clock of the shard; its last turn may be long ago. Rejects only by a mistake of ours. */
export async function answerOf(shard: QueriedShard, asked: ShardQuestion, nowMs: number): Promise<unknown> {
  const answer = answers[asked.question] as (shard: QueriedShard, asked: ShardQuestion, nowMs: number) => unknown
  return await answer(shard, asked, nowMs)
}
