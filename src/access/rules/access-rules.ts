// What clients may do, as the core asks for it: see `Permissions`. Every question goes the same way, until somebody knows:
//
//   superuser -> namespaces -> token -> stored rules -> rules of the configuration -> a service elsewhere -> no_match
//                                                                         (bridges of this broker: allowed)
//
// and `explain` tells at which station it ended.

import type { AclRule } from '../../config/index.ts'
import {
  bridgeMarksRoot,
  type Identity,
  isBridgeClient,
  namespacesRoot,
  namespaceTopics,
  type Permission,
  type Permissions,
  splitNamespacedName,
} from '../../core/index.ts'
import type { Topic, TopicFilter } from '../../protocol/index.ts'
import type { AccessRecord, AccessRecordKey } from '../../records/index.ts'
import { Search, type Action, type Decision } from './compiled-rule.ts'
import { RuleSet } from './rule-set.ts'
import type { RuleList } from './rule-list.ts'
import { ServiceDecisions, type ServiceResponse } from './service-decisions.ts'
import { principalOf, type Caller, type Principal } from './principal.ts'
import { StoredRules } from './stored-rules.ts'
import { TokenGrants } from './token-grants.ts'

/** What of the configuration decides what clients may do. Plain data. */
export interface RuleSettings {
  /** auth.acl.rules and behind them those of auth.acl.file. */
  readonly rules: readonly AclRule[]
  /** auth.no_match, with what holds where it is not set. */
  readonly noMatch: 'allow' | 'deny'
  /** auth.deny_action */
  readonly denyAction: 'ignore' | 'disconnect'
  /** A service is asked where no rule says anything (auth.http_auth.acl_req). */
  readonly asksService: boolean
  /** Where the service fails: denied (`hardened`), or as if it was not there. */
  readonly failingDenies: boolean
  /** Clients may bring tokens with rules in them. */
  readonly hasTokens: boolean
  /** Some clients belong to namespaces: what lies there is theirs alone. */
  readonly hasNamespaces: boolean
  /** auth.cache.max_size: answers of the service that are kept for one client. */
  readonly maxVerdicts: number
  /** How long such an answer holds. */
  readonly verdictTtlMs: number
}

export const defaultRuleSettings: RuleSettings = {
  rules: [],
  noMatch: 'allow',
  denyAction: 'ignore',
  asksService: false,
  failingDenies: true,
  hasTokens: false,
  hasNamespaces: false,
  maxVerdicts: 32,
  verdictTtlMs: 60_000,
}

export interface RuleDependencies {
  nowMs(): number
  /** Whether this client may be here at all. */
  mayStay(who: Identity): boolean
}

/** What a client has to do with rules; made once, and again when the rules have changed. */
interface ClientRules {
  readonly principal: Principal
  readonly stored: readonly RuleList[]
  readonly configured: readonly RuleList[]
}

const bySuperuser: Decision = { allows: true, because: 'superuser', rule: undefined, place: undefined }
const byNamespace: Decision = { allows: false, because: 'namespace', rule: undefined, place: undefined }
const byTokenDefault: Decision = { allows: false, because: 'token', rule: undefined, place: undefined }
const byBridge: Decision = { allows: true, because: 'bridge', rule: undefined, place: undefined }
const serviceAllows: Decision = { allows: true, because: 'service', rule: undefined, place: undefined }
const serviceDenies: Decision = { allows: false, because: 'service', rule: undefined, place: undefined }
const nothingAllows: Decision = { allows: true, because: 'no-match', rule: undefined, place: undefined }
const nothingDenies: Decision = { allows: false, because: 'no-match', rule: undefined, place: undefined }

export class AccessRules implements Permissions {
  epoch = 0
  /** No rule, nobody to ask, no token, and what nobody speaks of is allowed. */
  allowsEverything: boolean
  readonly #dependencies: RuleDependencies
  readonly #stored = new StoredRules()
  readonly #serviceDecisions: ServiceDecisions
  #settings: RuleSettings
  #configured: RuleSet
  #clientRules = new WeakMap<Identity, ClientRules>()
  /** Lists of the configuration by client: a change of what is stored leaves them as they are. */
  #configuredLists = new WeakMap<Identity, readonly RuleList[]>()

  constructor(settings: RuleSettings, dependencies: RuleDependencies) {
    this.#dependencies = dependencies
    this.#settings = settings
    this.#configured = new RuleSet(settings.rules)
    this.#serviceDecisions = new ServiceDecisions(limitsOf(settings))
    this.allowsEverything = this.#isOpen()
  }

  /** Answers of a service come to their end without any word: they are not to be kept by others. */
  get isUncacheable(): boolean {
    return this.#settings.asksService
  }

  canPublish(who: Identity, topic: Topic): Permission {
    return this.#permission(who, this.#decide(who, 'publish', topic.name))
  }

  canSubscribe(who: Identity, filter: TopicFilter): Permission {
    return this.#permission(who, this.#decide(who, 'subscribe', filter))
  }

  /** For a session whose client is not there it is asked again when the client is: then it is known who that is. */
  canReceive(who: Identity, topic: Topic): boolean {
    if (who.peerAddress === '') return true
    // The service was asked about the subscription. What the rules at hand say nothing about is covered by that.
    return this.#decide(who, 'receive', topic.name)?.allows ?? true
  }

  /**
   * By the rules alone: what its publisher showed when it published is not known any more, nor where it was. What may have
   * been allowed to it, at some address, may still be.
   */
  canRetain(publisher: { readonly clientId: string; readonly username: string | undefined }, topic: Topic): boolean {
    if (publisher.clientId === '' || this.allowsEverything) return true
    const { namespace, name: clientId } = splitNamespacedName(publisher.clientId)
    const caller = { namespace, clientId, username: publisher.username, peerAddress: '' }
    const configured = this.#configured.listsForOffline(caller, isBridgeClient(clientId))
    const clientRules = this.#createClientRules(caller, configured)
    const decision = this.#ruleFor(clientRules, 'publish', namespacedTopic(namespace, topic.name))
    if (decision === undefined && isBridgeClient(clientId)) return true
    return decision?.allows ?? (this.#settings.asksService || this.#settings.noMatch === 'allow')
  }

  canStay(who: Identity): boolean {
    return this.#dependencies.mayStay(who)
  }

  /** Which rule decides, or what else does; undefined: the service has to be asked. */
  explain(who: Identity, action: Action, topic: string): Decision | undefined {
    return this.#decide(who, action, topic)
  }

  changeSettings(settings: RuleSettings): void {
    this.#settings = settings
    this.#configured = new RuleSet(settings.rules)
    this.#configuredLists = new WeakMap()
    this.#serviceDecisions.changeLimits(limitsOf(settings))
    this.noteChange()
  }

  /** Whether any of it is a rule: then the epoch has grown. */
  applyRecords(change: {
    readonly put: readonly AccessRecord[]
    readonly delete: readonly AccessRecordKey[]
  }): boolean {
    let hasChanged = false
    for (const key of change.delete) {
      if (key.kind !== 'rule') continue
      this.#stored.delete(key)
      hasChanged = true
    }
    for (const record of change.put) {
      if (record.kind !== 'rule') continue
      this.#stored.put(record)
      hasChanged = true
    }
    if (hasChanged) this.noteChange()
    return hasChanged
  }

  /** What the service has said: the same question has this answer for a while. */
  recordResponse(who: Identity, action: 'publish' | 'subscribe', topic: string, answer: ServiceResponse): void {
    this.#serviceDecisions.recordResponse(who, { action, topic, answer }, this.#dependencies.nowMs())
  }

  /** Answers may be others than before. */
  noteChange(): void {
    this.epoch++
    this.#clientRules = new WeakMap()
    this.allowsEverything = this.#isOpen()
  }

  #isOpen(): boolean {
    const { noMatch, asksService, hasTokens, hasNamespaces } = this.#settings
    const hasRules = this.#configured.count > 0 || this.#stored.count > 0
    return noMatch === 'allow' && !asksService && !hasTokens && !hasNamespaces && !hasRules
  }

  /** A bridge only carries what others publish: sent away for one message it would be given that one again, for ever. */
  #permission({ clientId }: Identity, decision: Decision | undefined): Permission {
    if (decision === undefined) return 'ask'
    if (decision.allows) return 'allow'
    return this.#settings.denyAction === 'disconnect' && !isBridgeClient(clientId) ? 'disconnect' : 'deny'
  }

  #decide(who: Identity, action: Action, topic: string): Decision | undefined {
    if (who.isSuperuser) return bySuperuser
    if (isForeignNamespace(who, topic)) return byNamespace
    if (isBridgeMarker(who, action, topic)) return byBridge
    const clientRules = this.#clientRulesOf(who)
    if (who.grants instanceof TokenGrants) {
      const search = new Search(clientRules.principal, action, topic)
      who.grants.search(search)
      return search.decision ?? byTokenDefault
    }
    const rule = this.#ruleFor(clientRules, action, topic)
    return rule ?? (isBridgeClient(who.clientId) ? byBridge : this.#decideWithoutRule(who, action, topic))
  }

  #ruleFor(clientRules: ClientRules, action: Action, topic: string): Decision | undefined {
    const { stored, configured, principal } = clientRules
    if (stored.length === 0 && configured.length === 0) return undefined
    const search = new Search(principal, action, topic)
    for (const list of stored) {
      list.search(search)
      if (search.decision !== undefined) return search.decision
    }
    // Lists of the configuration are about different clients and share one order.
    for (const list of configured) list.search(search)
    return search.decision
  }

  #decideWithoutRule(who: Identity, action: Action, topic: string): Decision | undefined {
    const { asksService, failingDenies, noMatch } = this.#settings
    if (asksService) {
      if (action === 'receive') return undefined
      const answer = this.#serviceDecisions.find(who, action, topic, this.#dependencies.nowMs())
      if (answer === undefined) return undefined
      if (answer === 'allow') return serviceAllows
      if (answer === 'deny' || (answer === 'failed' && failingDenies)) return serviceDenies
    }
    return noMatch === 'allow' ? nothingAllows : nothingDenies
  }

  #clientRulesOf(who: Identity): ClientRules {
    const known = this.#clientRules.get(who)
    if (known !== undefined) return known
    const configured = this.#configuredLists.get(who) ?? this.#configuredListsFor(who)
    this.#configuredLists.set(who, configured)
    const clientRules = this.#createClientRules(who, configured)
    this.#clientRules.set(who, clientRules)
    return clientRules
  }

  #createClientRules(caller: Caller, configured: readonly RuleList[]): ClientRules {
    const { clientId } = caller
    const stored = isBridgeClient(clientId) ? this.#stored.listsNaming(clientId) : this.#stored.listsFor(caller)
    return { principal: principalOf(caller), stored, configured }
  }

  /** What is said about everybody is not said about the bridges of this broker: what they carry, their own rules say. */
  #configuredListsFor(caller: Caller): readonly RuleList[] {
    return isBridgeClient(caller.clientId) ? this.#configured.listsNaming(caller) : this.#configured.listsFor(caller)
  }
}

/**
 * What lies in the namespaces is not for those of none, be it that there are namespaces no longer; and what the broker tells
 * of all its clients is not for those of one.
 */
function isForeignNamespace({ namespace, clientId }: Identity, topic: string): boolean {
  if (namespace !== undefined) return topic.startsWith('$SYS/')
  return topic.startsWith(namespacesRoot) && !isBridgeClient(clientId)
}

/** What a bridge keeps with its session is no traffic: without it the remote broker would be made to forget the bridge. */
function isBridgeMarker({ clientId }: Identity, action: Action, topic: string): boolean {
  return action === 'subscribe' && topic.startsWith(bridgeMarksRoot) && isBridgeClient(clientId)
}

/** As the clients of the namespace know it: whoever has it from elsewhere has it with its whole name. */
function namespacedTopic(namespace: string | undefined, topic: string): string {
  const prefix = namespaceTopics(namespace)
  return topic.startsWith(prefix) ? topic.slice(prefix.length) : topic
}

function limitsOf({ maxVerdicts, verdictTtlMs }: RuleSettings): { maxPerClient: number; ttlMs: number } {
  return { maxPerClient: maxVerdicts, ttlMs: verdictTtlMs }
}
