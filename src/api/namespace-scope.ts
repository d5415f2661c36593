// The operations for a caller of a namespace: the same operations, with prefixes that are added to requests and removed from results.
// No name outside of the namespace can be used.
//
//   c1, lamp  ──►  plant␀c1, $ns/plant/lamp  ──►  the broker  ──►  plant␀c1, $ns/plant/lamp  ──►  c1, lamp

import { isOfNamespace, namespacedName, namespaceTopics } from '../core/index.ts'
import type { ClientOperations } from './clients/clients.ts'
import type { Explanation, DiagnosticsOperations } from './diagnostics/diagnostics.ts'
import type { ListPosition } from '../management/index.ts'
import type { NamespacedOperations } from './operations.ts'
import type { PublishingOperations } from './publishing/publishing.ts'
import type { RetainedOperations } from './retained/retained.ts'
import type { SlowSubscriptionOperations } from './slow-subscriptions/slow-subscriptions.ts'
import type { TraceOperations, QueryableShards } from '../node/index.ts'
import { bareFilter, parseTopicFilter, parseTopicName, type TopicFilter } from '../protocol/index.ts'
import type { NodeRules } from './rules/rule-operations.ts'
import { scopedRuleOperations } from './rules/scoped-rules.ts'
import { clientRuleOperations } from './client-rules/client-rule-operations.ts'
import { credentialOperations, type CredentialDependencies } from './credentials/credential-operations.ts'

/** Operations of the whole broker. */
export interface BrokerOperations {
  readonly dependencies: CredentialDependencies & { readonly supervisor: QueryableShards }
  readonly clients: ClientOperations
  readonly publishing: PublishingOperations
  readonly retained: RetainedOperations
  readonly diagnostics: DiagnosticsOperations
  readonly slowSubscriptions: SlowSubscriptionOperations
  readonly traces: TraceOperations
  readonly rules: NodeRules
}

export function namespacedOperationsOf(whole: BrokerOperations, namespace: string): NamespacedOperations {
  const names = new NamespaceNames(namespace)
  return {
    clients: clientsWithin(whole.clients, names),
    clientRules: clientRuleOperations(whole.dependencies, namespace),
    credentials: credentialOperations(whole.dependencies, namespace),
    publishing: publishingWithin(whole.publishing, names),
    retained: retainedWithin(whole.retained, names),
    diagnostics: diagnosticsWithin(whole.diagnostics, names),
    slowSubscriptions: {
      nodeName: whole.slowSubscriptions.nodeName,
      listSlow: async (request) => {
        const found = await whole.slowSubscriptions.listSlow({ ...request, namespace })
        return found.map((slow) => ({ ...slow, topic: names.topicOf(slow.topic) }))
      },
    },
    traces: tracesWithin(whole.traces, names),
    rules: scopedRuleOperations(whole.rules, namespace, whole.rules.sqlWithin(namespace)),
  }
}

/** Adds and removes prefixes. */
class NamespaceNames {
  readonly namespace: string
  readonly #prefix: string

  constructor(namespace: string) {
    this.namespace = namespace
    this.#prefix = namespaceTopics(namespace)
  }

  session(clientId: string): string {
    return namespacedName(this.namespace, clientId)
  }

  isOwn(session: string): boolean {
    return isOfNamespace(session, this.namespace)
  }

  mounted(topic: string): string {
    return `${this.#prefix}${topic}`
  }

  /** Topic of a publication: after `$delayed/n/`. */
  mountedTopic(topic: string): string {
    const [delay = ''] = /^\$delayed\/\d+\//.exec(topic) ?? []
    return delay + this.mounted(topic.slice(delay.length))
  }

  /** After `$share/group/` and `$exclusive/`. Undefined: it would be too long. */
  mountedFilter(filter: string): TopicFilter | undefined {
    const bare = bareFilter(filter as TopicFilter)
    return parseTopicFilter(`${filter.slice(0, filter.length - bare.length)}${this.mounted(bare)}`)
  }

  topicOf(topic: string): string {
    return topic.startsWith(this.#prefix) ? topic.slice(this.#prefix.length) : topic
  }

  filterOf(filter: TopicFilter): TopicFilter {
    const bare = bareFilter(filter)
    return `${filter.slice(0, filter.length - bare.length)}${this.topicOf(bare)}` as TopicFilter
  }
}

/** No subscription has a filter that is too long with the prefix. */
const noFilter = ''
const beginning: ListPosition = { shard: 0, place: 0, offset: 0 }

function clientsWithin(clients: ClientOperations, names: NamespaceNames): ClientOperations {
  const { namespace } = names
  const sessionOf = (clientId: string | undefined): string | undefined =>
    clientId === undefined ? undefined : names.session(clientId)
  const placed = (filter: string | undefined): string | undefined =>
    filter === undefined ? undefined : (names.mountedFilter(filter) ?? noFilter)
  return {
    nodeName: clients.nodeName,
    listClients: (filter, wanted) =>
      clients.listClients({ ...filter, namespace, clientId: sessionOf(filter.clientId) }, wanted),
    listSubscriptions: async (filter, wanted) => {
      const within = {
        ...filter,
        namespace,
        clientId: sessionOf(filter.clientId),
        filter: placed(filter.filter),
        bareFilter: placed(filter.bareFilter),
        matching: placed(filter.matching),
      }
      const slice = await clients.listSubscriptions(within, wanted)
      if ('unavailableShard' in slice) return slice
      return { ...slice, rows: slice.rows.map((row) => ({ ...row, filter: names.filterOf(row.filter) })) }
    },
    countClients: async () => {
      let count = 0
      for (let from: ListPosition | undefined = beginning; from !== undefined;) {
        const slice: Awaited<ReturnType<ClientOperations['listClients']>> = await clients.listClients(
          { namespace },
          { from, skip: 0, maxRows: 0 },
        )
        if ('unavailableShard' in slice) return slice
        count += slice.passed
        from = slice.next
      }
      return count
    },
    kickoutClient: (clientId, endsSession) => clients.kickoutClient(names.session(clientId), endsSession),
    setKeepAlive: (clientId, seconds) => clients.setKeepAlive(names.session(clientId), seconds),
    cachedAuthorizations: (clientId) => clients.cachedAuthorizations(names.session(clientId)),
    clearAuthorizationCache: (clientId) => clients.clearAuthorizationCache(names.session(clientId)),
  }
}

/** Filters are as the client sends them: its session adds the prefix. */
function publishingWithin(publishing: PublishingOperations, names: NamespaceNames): PublishingOperations {
  return {
    publish: (publication) => {
      const [first, ...rest] = publication.topics
      const topics = [names.mountedTopic(first), ...rest.map((topic) => names.mountedTopic(topic))] as const
      return publishing.publish({ ...publication, topics, clientId: names.session(publication.clientId) })
    },
    subscribe: (clientId, filters, qos) => publishing.subscribe(names.session(clientId), filters, qos),
    unsubscribe: (clientId, filters) => publishing.unsubscribe(names.session(clientId), filters),
  }
}

function retainedWithin(retained: RetainedOperations, names: NamespaceNames): RetainedOperations {
  return {
    list: async (filter, maxRows, from) => {
      const mounted = names.mountedFilter(filter)
      if (mounted === undefined) return { rows: [], next: undefined }
      const found = await retained.list(mounted, maxRows, from)
      return found && { ...found, rows: found.rows.map((row) => ({ ...row, topic: names.topicOf(row.topic) })) }
    },
    find: async (topic) => {
      const mounted = parseTopicName(names.mounted(topic))
      const found = mounted === undefined ? null : await retained.find(mounted)
      return found && { ...found, topic: names.topicOf(found.topic) }
    },
    forget: async (topic) => {
      const mounted = parseTopicName(names.mounted(topic))
      return mounted === undefined ? false : retained.forget(mounted)
    },
  }
}

function diagnosticsWithin(diagnostics: DiagnosticsOperations, names: NamespaceNames): DiagnosticsOperations {
  const { namespace } = names
  return {
    explain: async (doing) => {
      const explained = await diagnostics.explain({ ...doing, clientId: names.session(doing.clientId) })
      if (explained === undefined) return undefined
      // Clients without a namespace that may receive everything are not shown.
      const own = explained.subscriptions.filter(({ clientId }) => names.isOwn(clientId))
      const subscriptions = own.map((one) => ({ ...one, filter: names.filterOf(one.filter as TopicFilter) }))
      const decision = withoutGlobalRule(explained.decision, namespace)
      return { ...explained, decision, topicHere: names.topicOf(explained.topicHere), subscriptions }
    },
    listDropped: async (query, window) => {
      const clientId = query.clientId === undefined ? undefined : names.session(query.clientId)
      const topic = query.topic === undefined ? undefined : names.mounted(query.topic)
      const page = await diagnostics.listDropped({ ...query, namespace, clientId, topic }, window)
      const messages = page.messages.map((message) => ({
        ...message,
        topic: names.topicOf(message.topic),
        publisher: names.isOwn(message.publisher) ? message.publisher : '',
        subscriber: names.isOwn(message.subscriber) ? message.subscriber : '',
      }))
      return { ...page, messages }
    },
    timelineOf: (clientId) => diagnostics.timelineOf(names.session(clientId)),
    queueOf: async (clientId, limit) => {
      const rows = await diagnostics.queueOf(names.session(clientId), limit)
      return typeof rows === 'string'
        ? rows
        : rows.map((row) => ({ ...row, topic: row.topic === undefined ? undefined : names.topicOf(row.topic) }))
    },
  }
}

/** A caller of a namespace may not read the configuration or global rules, only that such a rule decides. Rules of a token are the client's own. */
function withoutGlobalRule(decision: Explanation['decision'], namespace: string): Explanation['decision'] {
  if (decision === undefined || decision.because === 'token' || decision.namespace === namespace) return decision
  const because = decision.because === 'stored-rule' ? 'global-rule' : decision.because
  return { ...decision, because, rule: undefined, place: undefined }
}

/** Maximum for one namespace, so that others can have traces. */
const maxTracesPerNamespace = 5

/** The name of a trace is that of its file: other names contain no dot. */
function tracesWithin(traces: TraceOperations, names: NamespaceNames): TraceOperations {
  const { namespace } = names
  const prefix = `ns.${namespace}.`
  const own = (): ReturnType<TraceOperations['list']> =>
    traces.list().filter((trace) => trace.namespace === namespace && trace.name.startsWith(prefix))
  const isOwn = (name: string): boolean => own().some((trace) => trace.name === `${prefix}${name}`)
  const inside = `"${JSON.stringify(names.session('')).slice(1, -1)}`
  return {
    list: () => own().map((trace) => ({ ...trace, name: trace.name.slice(prefix.length) })),
    create: async (trace) => {
      if (!isOwn(trace.name) && own().length >= maxTracesPerNamespace) return 'too-many'
      return traces.create({ ...trace, namespace, name: `${prefix}${trace.name}` })
    },
    stop: async (name) => isOwn(name) && traces.stop(`${prefix}${name}`),
    remove: async (name) => isOwn(name) && traces.remove(`${prefix}${name}`),
    removeAll: async () => {
      for (const { name } of own()) await traces.remove(name)
    },
    read: async (name) => {
      const text = isOwn(name) ? await traces.read(`${prefix}${name}`) : undefined
      return text
        ?.replaceAll(inside, '"')
        .replaceAll(`"${names.mounted('')}`, '"')
        .replaceAll(`"${prefix}`, '"')
    },
  }
}
