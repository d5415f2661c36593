// Authorizes actions of clients, as the core requests it: see `Permissions`. The first step with a decision ends the check:
//
//   superuser -> namespaces -> plugins -> token -> stored rules -> configured rules -> a remote service -> no_match
//                                                                (bridges of this broker: allowed)
//
// `explain` returns the deciding step.

import type { AclConfig } from '../../config/index.ts'
import {
  bridgeMarksRoot,
  type Identity,
  isInternalClient,
  namespacesRoot,
  toNamespacePrefix,
  type Permission,
  type Permissions,
  splitNamespacedName,
} from '../../core/index.ts'
import type { Topic, TopicFilter } from '../../protocol/index.ts'
import type { AccessRecord, AccessRecordKey } from '../../records/index.ts'
import type { AccessPlugins, PluginAuthorization } from '../plugins/access-plugins.ts'
import { PluginDecisions } from './plugin-decisions.ts'
import { Search, type Action, type Decision } from './compiled-rule.ts'
import { RuleSet } from './rule-set.ts'
import type { RuleList } from './rule-list.ts'
import { ServiceDecisions, type ServiceResponse } from './service-decisions.ts'
import { toPrincipal, type RuleClient, type Principal } from './principal.ts'
import { StoredRules } from './stored-rules.ts'
import { TokenGrants } from './token-grants.ts'

/** Settings of authorization. Plain data. */
export interface RuleSettings extends Omit<AclConfig, 'file'> {
  /** Whether a failing service denies the action (`hardened`); otherwise it is skipped. */
  readonly deniesOnError: boolean
  /** Tokens of clients may contain rules. */
  readonly hasTokens: boolean
  /** Some clients have namespaces: the topics of a namespace are for its clients only. */
  readonly hasNamespaces: boolean
}

export const defaultRuleSettings: RuleSettings = {
  rules: [],
  noMatch: 'allow',
  denyAction: 'ignore',
  usesService: false,
  deniesOnError: true,
  hasTokens: false,
  hasNamespaces: false,
  maxDecisions: 32,
  decisionTtlMs: 60_000,
}

export interface RuleDependencies {
  nowMs(): number
  /** Returns whether this client may be connected. */
  mayStay(identity: Identity): boolean
  /** Undefined: there are none. */
  readonly plugins?: Pick<AccessPlugins, 'canAuthenticate' | 'canAuthorize' | 'mustAuthorize'> | undefined
}

/** Rules that concern one client; computed once, and again after changes. */
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
const pluginAllows: Decision = { allows: true, because: 'plugin', rule: undefined, place: undefined }
const pluginDenies: Decision = { allows: false, because: 'plugin', rule: undefined, place: undefined }
const nothingAllows: Decision = { allows: true, because: 'no-match', rule: undefined, place: undefined }
const nothingDenies: Decision = { allows: false, because: 'no-match', rule: undefined, place: undefined }

export class AccessRules implements Permissions {
  epoch = 0
  /** True if there are no rules, services or tokens, and no_match allows. */
  allowsEverything: boolean
  readonly #dependencies: RuleDependencies
  readonly #stored = new StoredRules()
  readonly #serviceDecisions: ServiceDecisions
  readonly #pluginDecisions: PluginDecisions
  #settings: RuleSettings
  #configured: RuleSet
  #clientRules = new WeakMap<Identity, ClientRules>()
  /** Lists of the configuration by client: changes of stored rules do not affect them. */
  #configuredLists = new WeakMap<Identity, readonly RuleList[]>()

  constructor(settings: RuleSettings, dependencies: RuleDependencies) {
    this.#dependencies = dependencies
    this.#settings = settings
    this.#configured = new RuleSet(settings.rules)
    this.#serviceDecisions = new ServiceDecisions(toCacheLimits(settings))
    this.#pluginDecisions = new PluginDecisions(toCacheLimits(settings))
    this.allowsEverything = this.#isOpen()
  }

  /** Decisions of a service expire without notice, so other modules must not cache them. */
  get isUncacheable(): boolean {
    return this.#settings.usesService || this.#dependencies.plugins?.canAuthorize === true
  }

  canPublish(identity: Identity, topic: Topic): Permission {
    return this.#toPermission(identity, this.#decide(identity, 'publish', topic.name))
  }

  canSubscribe(identity: Identity, filter: TopicFilter): Permission {
    return this.#toPermission(identity, this.#decide(identity, 'subscribe', filter))
  }

  /** For a session without a connected client it is checked again at CONNECT, when the identity is complete. */
  canReceive(identity: Identity, topic: Topic): boolean {
    if (identity.peerAddress === '') return true
    // The service authorized the subscription, which covers topics without a rule.
    return this.#decide(identity, 'receive', topic.name)?.allows ?? true
  }

  /**
   * By rules only: credentials and address of the publisher at that time are unknown. What was allowed at some address
   * counts as allowed.
   */
  canRetain(publisher: { readonly clientId: string; readonly username: string | undefined }, topic: Topic): boolean {
    if (publisher.clientId === '' || this.allowsEverything) return true
    const { namespace, name: clientId } = splitNamespacedName(publisher.clientId)
    const client = { namespace, clientId, username: publisher.username, peerAddress: '' }
    if (isForeignNamespace(client, topic.name)) return false
    const configured = this.#configured.selectListsForOffline(client, isInternalClient(clientId))
    const clientRules = this.#createClientRules(client, configured)
    const decision = this.#findRuleDecision(clientRules, 'publish', removeNamespacePrefix(namespace, topic.name))
    if (decision === undefined && isInternalClient(clientId)) return true
    return decision?.allows ?? (this.#settings.usesService || this.#settings.noMatch === 'allow')
  }

  canStay(identity: Identity): boolean {
    return this.#dependencies.mayStay(identity)
  }

  /** Returns the deciding rule or step; undefined: the service decides. */
  explain(identity: Identity, action: Action, topic: string): Decision | undefined {
    return this.#decide(identity, action, topic)
  }

  changeSettings(settings: RuleSettings): void {
    this.#settings = settings
    this.#configured = new RuleSet(settings.rules)
    this.#configuredLists = new WeakMap()
    this.#serviceDecisions.changeLimits(toCacheLimits(settings))
    this.#pluginDecisions.changeLimits(toCacheLimits(settings))
    this.invalidateDecisions()
  }

  /** Returns whether any of the records is a rule, in which case the epoch has grown. */
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
    if (hasChanged) this.invalidateDecisions()
    return hasChanged
  }

  /** Caches the response of the service. */
  recordResponse(identity: Identity, action: 'publish' | 'subscribe', topic: string, response: ServiceResponse): void {
    this.#serviceDecisions.recordResponse(identity, { action, topic, response }, this.#dependencies.nowMs())
  }

  /** Caches the decision of a plugin. */
  recordPluginDecision(
    identity: Identity,
    about: { readonly action: 'publish' | 'subscribe'; readonly topic: string },
    decision: PluginAuthorization,
  ): void {
    this.#pluginDecisions.record(identity, about, decision, this.#dependencies.nowMs())
  }

  /** The plugins that decide have changed. */
  changePlugins(): void {
    this.#pluginDecisions.changeLimits(toCacheLimits(this.#settings))
    this.invalidateDecisions()
  }

  /** Decisions may change. */
  invalidateDecisions(): void {
    this.epoch++
    this.#clientRules = new WeakMap()
    this.allowsEverything = this.#isOpen()
  }

  #isOpen(): boolean {
    const { noMatch, usesService, hasTokens, hasNamespaces } = this.#settings
    const hasRules = this.#configured.count > 0 || this.#stored.count > 0
    const { plugins } = this.#dependencies
    if (plugins?.canAuthenticate === true || plugins?.canAuthorize === true) return false
    return noMatch === 'allow' && !usesService && !hasTokens && !hasNamespaces && !hasRules
  }

  /**
   * A bridge forwards messages of others: if it were disconnected for one message, it would send that again, forever.
   */
  #toPermission({ clientId }: Identity, decision: Decision | undefined): Permission {
    if (decision === undefined) return 'unknown'
    if (decision.allows) return 'allow'
    return this.#settings.denyAction === 'disconnect' && !isInternalClient(clientId) ? 'disconnect' : 'deny'
  }

  #decide(identity: Identity, action: Action, topic: string): Decision | undefined {
    if (identity.isSuperuser) return bySuperuser
    if (isForeignNamespace(identity, topic)) return byNamespace
    if (isBridgeMarker(identity, action, topic)) return byBridge
    const byPlugin = this.#findPluginDecision(identity, action, topic)
    if (byPlugin !== 'ignore') return byPlugin
    const clientRules = this.#ensureClientRules(identity)
    if (identity.grants instanceof TokenGrants) {
      const search = new Search(clientRules.principal, action, topic)
      identity.grants.search(search)
      return search.decision ?? byTokenDefault
    }
    const rule = this.#findRuleDecision(clientRules, action, topic)
    return rule ?? (isInternalClient(identity.clientId) ? byBridge : this.#decideWithoutRule(identity, action, topic))
  }

  /** Undefined: the plugins must be asked. Delivery asks no plugin: the subscription was authorized. */
  #findPluginDecision(identity: Identity, action: Action, topic: string): Decision | 'ignore' | undefined {
    const { plugins } = this.#dependencies
    if (plugins?.canAuthorize !== true || action === 'receive' || isInternalClient(identity.clientId)) return 'ignore'
    if (!plugins.mustAuthorize(identity, topic)) return 'ignore'
    const known = this.#pluginDecisions.find(identity, action, topic, this.#dependencies.nowMs())
    if (known === undefined || known === 'ignore') return known
    return known === 'allow' ? pluginAllows : pluginDenies
  }

  #findRuleDecision(clientRules: ClientRules, action: Action, topic: string): Decision | undefined {
    const { stored, configured, principal } = clientRules
    if (stored.length === 0 && configured.length === 0) return undefined
    const search = new Search(principal, action, topic)
    for (const list of stored) {
      list.search(search)
      if (search.decision !== undefined) return search.decision
    }
    // Lists of the configuration concern different clients and share one order.
    for (const list of configured) list.search(search)
    return search.decision
  }

  #decideWithoutRule(identity: Identity, action: Action, topic: string): Decision | undefined {
    const { usesService, deniesOnError, noMatch } = this.#settings
    if (usesService) {
      if (action === 'receive') return undefined
      const response = this.#serviceDecisions.find(identity, action, topic, this.#dependencies.nowMs())
      if (response === undefined) return undefined
      if (response === 'allow') return serviceAllows
      if (response === 'deny' || (response === 'failed' && deniesOnError)) return serviceDenies
    }
    return noMatch === 'allow' ? nothingAllows : nothingDenies
  }

  #ensureClientRules(identity: Identity): ClientRules {
    const known = this.#clientRules.get(identity)
    if (known !== undefined) return known
    const configured = this.#configuredLists.get(identity) ?? this.#selectConfiguredLists(identity)
    this.#configuredLists.set(identity, configured)
    const clientRules = this.#createClientRules(identity, configured)
    this.#clientRules.set(identity, clientRules)
    return clientRules
  }

  #createClientRules(client: RuleClient, configured: readonly RuleList[]): ClientRules {
    const { clientId } = client
    const stored = isInternalClient(clientId)
      ? this.#stored.selectListsByClientId(clientId)
      : this.#stored.selectLists(client)
    return { principal: toPrincipal(client), stored, configured }
  }

  /** Rules for all clients do not apply to internal clients: bridges forward what their own rules say. */
  #selectConfiguredLists(client: RuleClient): readonly RuleList[] {
    return isInternalClient(client.clientId)
      ? this.#configured.selectListsByClientId(client)
      : this.#configured.selectLists(client)
  }
}

/**
 * Topics of namespaces are not for clients without one, even if namespaces were disabled since; events of the broker
 * about all clients are not for clients of a namespace.
 */
function isForeignNamespace({ namespace, clientId }: Pick<Identity, 'namespace' | 'clientId'>, topic: string): boolean {
  if (namespace !== undefined) return topic.startsWith('$SYS/')
  return topic.startsWith(namespacesRoot) && !isInternalClient(clientId)
}

/**
 * The state that a bridge stores in its session is not traffic: without it the remote broker would have to forget the
 * bridge.
 */
function isBridgeMarker({ clientId }: Identity, action: Action, topic: string): boolean {
  return action === 'subscribe' && topic.startsWith(bridgeMarksRoot) && isInternalClient(clientId)
}

/** Returns the topic as clients of the namespace know it; others see its complete name. */
function removeNamespacePrefix(namespace: string | undefined, topic: string): string {
  const prefix = toNamespacePrefix(namespace)
  return topic.startsWith(prefix) ? topic.slice(prefix.length) : topic
}

function toCacheLimits({ maxDecisions, decisionTtlMs }: RuleSettings): { maxPerClient: number; ttlMs: number } {
  return { maxPerClient: maxDecisions, ttlMs: decisionTtlMs }
}
