// Stored access rules and bans.

import type { NotStored, PageFound, PageWanted } from './credentials.ts'

export type RuleSubject = 'clientid' | 'username' | 'all'

export interface ClientRule {
  readonly about: RuleSubject
  /** '' if it concerns all clients. */
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
  /** undefined: unlimited. */
  readonly untilMs: number | undefined
}

/** Changes are durable and applied on every shard when the promises resolve. */
export interface ClientRuleOperations {
  /** In order of evaluation. */
  listRules(about: RuleSubject, query: RuleListQuery): Promise<PageFound<ClientRule>>
  /** Appended in their order; undefined: success. */
  storeRules(rules: readonly ClientRule[]): Promise<NotStored | undefined>
  /** All rules for this topic, for any action. */
  deleteRules(rule: Pick<ClientRule, 'about' | 'who' | 'topic'>): Promise<'deleted' | 'missing' | NotStored>
  /** Returns why a topic is invalid for a rule. */
  problemOfTopic(topic: string): string | undefined
  /** Active bans, newest first. */
  listBans(query: {
    readonly who?: string
    readonly as?: Ban['as']
    readonly page: PageWanted
  }): Promise<PageFound<Ban>>
  storeBan(ban: Ban): Promise<NotStored | undefined>
  deleteBan(ban: Pick<Ban, 'as' | 'who'>): Promise<'deleted' | 'missing' | NotStored>
  /** Returns whether this is an address or a range. */
  isAddress(who: string): boolean
}
