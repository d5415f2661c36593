// Stored rules about what clients may do, and bans.

import type { NotStored, PageFound, PageWanted } from './credentials.ts'

export type RuleSubject = 'clientid' | 'username' | 'all'

export interface ClientRule {
  readonly about: RuleSubject
  /** '' where it is about all. */
  readonly who: string
  readonly topic: string
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  readonly permit: 'allow' | 'deny'
}

export interface RuleListQuery {
  readonly who?: string | undefined
  readonly like?: string | undefined
  readonly topic?: string | undefined
  readonly action?: ClientRule['action'] | undefined
  readonly permit?: ClientRule['permit'] | undefined
  readonly page: PageWanted
}

export interface Ban {
  readonly as: 'clientid' | 'username' | 'peerhost'
  readonly who: string
  readonly reason: string
  readonly by: string
  readonly atMs: number
  /** undefined: for ever. */
  readonly untilMs: number | undefined
}

/** What these change is on disk and in force on every shard when they resolve. */
export interface ClientRuleOperations {
  /** In the order in which they are asked. */
  listRules(about: RuleSubject, question: RuleListQuery): Promise<PageFound<ClientRule>>
  /** In their order, behind those that are there; undefined: done. */
  storeRules(rules: readonly ClientRule[]): Promise<NotStored | undefined>
  /** Those about this topic, whichever action. */
  deleteRules(rule: Pick<ClientRule, 'about' | 'who' | 'topic'>): Promise<'deleted' | 'missing' | NotStored>
  /** What cannot be the topic of a rule, in words. */
  problemOfTopic(topic: string): string | undefined
  /** Those in force, the newest first. */
  listBans(question: {
    readonly who?: string
    readonly as?: Ban['as']
    readonly page: PageWanted
  }): Promise<PageFound<Ban>>
  storeBan(ban: Ban): Promise<NotStored | undefined>
  deleteBan(ban: Pick<Ban, 'as' | 'who'>): Promise<'deleted' | 'missing' | NotStored>
  /** Whether this is an address or a range of them. */
  isAddress(who: string): boolean
}
