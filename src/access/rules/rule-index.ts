// An index of rules by topic: a search costs time for the levels of its topic, not for the number of rules.
//
//   root -- text 'a' --> node -- one --> node       a/+
//      |                   \--- rest: lowest orders  a/#
//      \--- one --> ...     \-- templates            a/${clientid}
//
// Each end has the lowest orders of its rules: one for each action, and separately those of denying rules, because leading wildcards of
// these match topics with `$`. Each node has the lowest order below it: branches that cannot decide are skipped.

import type { Action, CompiledRule, Search } from './compiled-rule.ts'
import { fillTemplate, type FilterPattern, type TemplatePart } from './topic-patterns.ts'

/** The lowest order of a rule for each action; Infinity: none. */
class LowestOrders {
  publish = Infinity
  subscribe = Infinity
  receive = Infinity

  lower(action: Action, order: number): void {
    this[action] = Math.min(this[action], order)
  }
}

/** The end of filters. */
class FilterEnd {
  readonly all = new LowestOrders()
  readonly denying = new LowestOrders()
}

class TreeNode {
  lowest = Infinity
  readonly texts = new Map<string, TreeNode>()
  one: TreeNode | undefined = undefined
  /** By their parts. */
  templates: Map<string, { readonly parts: readonly TemplatePart[]; readonly node: TreeNode }> | undefined = undefined
  end: FilterEnd | undefined = undefined
  rest: FilterEnd | undefined = undefined
}

export class RuleIndex {
  readonly #rules = new Map<number, CompiledRule>()
  readonly #root = new TreeNode()
  readonly #everyTopic = new LowestOrders()
  readonly #needingClientId = new LowestOrders()
  readonly #needingUsername = new LowestOrders()
  readonly #literals = new Map<string, LowestOrders>()

  constructor(rules: readonly CompiledRule[]) {
    for (const rule of rules) this.#add(rule)
  }

  search(search: Search): void {
    const { action, topic, principal } = search
    const walk = new TreeSearch(search)
    walk.recordOrder(this.#everyTopic[action])
    walk.recordOrder(this.#literals.get(topic)?.[action] ?? Infinity)
    // Such a rule denies when it is reached, whatever its topics.
    if (principal.clientId === undefined) walk.recordOrder(this.#needingClientId[action])
    if (principal.username === undefined) walk.recordOrder(this.#needingUsername[action])
    if (action === 'subscribe') walk.coverFrom(this.#root, 0, false)
    else walk.matchFrom(this.#root, 0, false)
    const rule = this.#rules.get(walk.order)
    if (rule !== undefined) search.recordMatch(rule)
  }

  #add(rule: CompiledRule): void {
    this.#rules.set(rule.order, rule)
    const actions = listActions(rule)
    const lower = (orders: LowestOrders, some = actions): void => {
      for (const action of some) orders.lower(action, rule.order)
    }
    if (rule.needsClientId) lower(this.#needingClientId)
    if (rule.needsUsername) lower(this.#needingUsername)
    if (rule.patterns === undefined) return lower(this.#everyTopic)
    for (const pattern of rule.patterns) {
      if (pattern.kind === 'filter') this.#addFilter(pattern, rule, actions)
      else {
        const orders = this.#literals.get(pattern.text) ?? new LowestOrders()
        this.#literals.set(pattern.text, orders)
        lower(orders)
        const { asFilter } = pattern
        const allowsSubscribe = rule.allows && rule.appliesToSubscribe
        if (allowsSubscribe && asFilter !== undefined) this.#addFilter(asFilter, rule, ['receive'])
      }
    }
  }

  #addFilter(pattern: FilterPattern, rule: CompiledRule, actions: readonly Action[]): void {
    let node = this.#root
    node.lowest = Math.min(node.lowest, rule.order)
    for (const level of pattern.levels) {
      if (level.is === 'rest') return addEnd((node.rest ??= new FilterEnd()), rule, actions)
      if (level.is === 'text') node = ensureTextChild(node, level.text)
      else if (level.is === 'one') node = node.one ??= new TreeNode()
      else node = ensureTemplateChild(node, level.parts)
      node.lowest = Math.min(node.lowest, rule.order)
    }
    addEnd((node.end ??= new FilterEnd()), rule, actions)
  }
}

function listActions(rule: CompiledRule): Action[] {
  const actions: Action[] = []
  if (rule.appliesToPublish) actions.push('publish')
  if (rule.appliesToSubscribe) actions.push('subscribe', 'receive')
  return actions
}

function addEnd(end: FilterEnd, rule: CompiledRule, actions: readonly Action[]): void {
  for (const action of actions) {
    end.all.lower(action, rule.order)
    if (!rule.allows) end.denying.lower(action, rule.order)
  }
}

function ensureTextChild(node: TreeNode, text: string): TreeNode {
  const known = node.texts.get(text)
  if (known !== undefined) return known
  const child = new TreeNode()
  node.texts.set(text, child)
  return child
}

function ensureTemplateChild(node: TreeNode, parts: readonly TemplatePart[]): TreeNode {
  const key = JSON.stringify(parts)
  const templates = (node.templates ??= new Map())
  const known = templates.get(key)
  if (known !== undefined) return known.node
  const child = new TreeNode()
  templates.set(key, { parts, node: child })
  return child
}

/** One search in the tree. */
class TreeSearch {
  order = Infinity
  readonly #search: Search
  /** The first level starts with `$`: of leading wildcards only denying ones count. */
  readonly #isHidden: boolean

  constructor(search: Search) {
    this.#search = search
    this.order = search.order
    this.#isHidden = search.topic.startsWith('$')
  }

  recordOrder(order: number): void {
    if (order < this.order) this.order = order
  }

  #addEnd(end: FilterEnd | undefined, denyingOnly: boolean): void {
    if (end !== undefined) this.recordOrder((denyingOnly ? end.denying : end.all)[this.#search.action])
  }

  /** Visits the filters below `node` that match the topic from level `at` on. */
  matchFrom(node: TreeNode, at: number, denyingOnly: boolean): void {
    if (node.lowest >= this.order) return
    const level = this.#search.levels[at]
    const isWildHidden = denyingOnly || (at === 0 && this.#isHidden)
    this.#addEnd(node.rest, isWildHidden)
    if (level === undefined) return this.#addEnd(node.end, denyingOnly)
    const child = node.texts.get(level)
    if (child !== undefined) this.matchFrom(child, at + 1, denyingOnly)
    if (node.one !== undefined) this.matchFrom(node.one, at + 1, isWildHidden)
    for (const template of this.#findTemplates(node, level)) this.matchFrom(template, at + 1, denyingOnly)
  }

  /** Visits the filters below `node` that cover the requested one from level `at` on. */
  coverFrom(node: TreeNode, at: number, denyingOnly: boolean): void {
    if (node.lowest >= this.order) return
    const level = this.#search.levels[at]
    const isWildHidden = denyingOnly || (at === 0 && this.#isHidden)
    this.#addEnd(node.rest, isWildHidden)
    if (level === undefined) return this.#addEnd(node.end, denyingOnly)
    if (level === '#') {
      // Every topic has a first level, so `#` alone is no more than `+/#`.
      if (at === 0) this.#addEnd(node.one?.rest, denyingOnly)
      return
    }
    if (node.one !== undefined) this.coverFrom(node.one, at + 1, isWildHidden)
    if (level === '+') return
    const child = node.texts.get(level)
    if (child !== undefined) this.coverFrom(child, at + 1, denyingOnly)
    for (const template of this.#findTemplates(node, level)) this.coverFrom(template, at + 1, denyingOnly)
  }

  #findTemplates(node: TreeNode, level: string): TreeNode[] {
    if (node.templates === undefined) return []
    const { principal } = this.#search
    const found: TreeNode[] = []
    for (const { parts, node: below } of node.templates.values()) {
      if (fillTemplate(parts, principal) === level) found.push(below)
    }
    return found
  }
}
