// What the node may ask a shard, and what it gets for an answer. Everything here survives a structured clone.

import type { ClientView } from '../core/index.ts'

/** By the name of the question: what is said, and what comes back. */
export interface ShardTalk {
  /** The client with its session, where this shard has it: one item or none. */
  client: { asked: { readonly clientId: string }; answered: readonly ClientView[] }
}

export type QuestionName = keyof ShardTalk

/** What is asked, with its name. */
export type QuestionOf<Name extends QuestionName> = { readonly question: Name } & ShardTalk[Name]['asked']

export type ShardQuestion = { [Name in QuestionName]: QuestionOf<Name> }[QuestionName]

export type AnswerTo<Name extends QuestionName> = ShardTalk[Name]['answered']
