// Finds the log events in the sources: the constant texts that are handed to a log.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, visitorKeys } from 'oxc-parser'

interface SyntaxNode {
  readonly type: string
  readonly [field: string]: unknown
}

const levels = new Set(['debug', 'info', 'warn', 'error'])

/** Methods that pass an event on to a log: `this.#logEvent('warn', 'shard restarted')`. */
const forwarders = new Set(['#logEvent', '#postLine'])

/** Returns the texts of all log events in the files below `folder`. */
export function findLogEvents(folder: string): Set<string> {
  const events = new Set<string>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue
    const path = join(entry.parentPath, entry.name)
    for (const event of logEventsIn(path, readFileSync(path, 'utf8'))) events.add(event)
  }
  return events
}

/** Returns the texts of the log events in one source text. */
export function logEventsIn(path: string, text: string): string[] {
  const events: string[] = []
  visit(parseSync(path, text).program as unknown as SyntaxNode, (node) => {
    const event = eventArgumentOf(node)
    if (event !== undefined) events.push(...textsOf(event, text))
  })
  return events
}

function eventArgumentOf(node: SyntaxNode): SyntaxNode | undefined {
  if (node.type !== 'CallExpression') return undefined
  const callee = node['callee'] as SyntaxNode
  if (callee.type !== 'MemberExpression') return undefined
  const [first, second] = node['arguments'] as SyntaxNode[]
  const method = nameOf(callee['property'])
  if (forwarders.has(method)) return second?.type === 'Literal' ? second : undefined
  return levels.has(method) && isLog(callee['object'] as SyntaxNode) ? first : undefined
}

function isLog(receiver: SyntaxNode): boolean {
  const name = receiver.type === 'MemberExpression' ? nameOf(receiver['property']) : nameOf(receiver)
  return /^#?log$/.test(name)
}

function nameOf(node: unknown): string {
  const { type, name } = node as { type?: string; name?: string }
  return type === 'PrivateIdentifier' ? `#${name}` : (name ?? '')
}

/**
 * Returns the event texts of an argument: a literal, or the literals in the line that initializes the constant that it
 * names. For other expressions it returns no text.
 */
function textsOf(node: SyntaxNode, text: string): string[] {
  if (node.type === 'Literal') return [String(node['value'])]
  if (node.type === 'Identifier') {
    const assigned = new RegExp(`const ${String(node['name'])} = ([^\\n]+)`).exec(text)?.[1] ?? ''
    return [...assigned.matchAll(/'([^']+)'/g)].map((match) => match[1]).filter((word) => word.includes(' '))
  }
  return []
}

function visit(node: SyntaxNode, found: (node: SyntaxNode) => void): void {
  found(node)
  for (const key of visitorKeys[node.type] ?? []) {
    const child = node[key]
    for (const one of Array.isArray(child) ? child : [child]) {
      if (one !== null && typeof one === 'object') visit(one as SyntaxNode, found)
    }
  }
}
