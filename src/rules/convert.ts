// Converts SQL of version 3, which names events after FROM, to the SQL of today. Text that is not of version 3 stays.

import { parseTopicFilter } from '../protocol/index.ts'
import { tokenize, type Token } from './sql/tokens.ts'

export interface ConvertedSql {
  readonly sql: string
  /** Sentences about what was changed and what must be checked. Empty if nothing was changed. */
  readonly notes: readonly string[]
}

const events: Readonly<Record<string, string>> = {
  'message.deliver': 'message_delivered',
  'message.delivered': 'message_delivered',
  'message.acked': 'message_acked',
  'message.dropped': 'message_dropped',
  'client.connected': 'client_connected',
  'client.disconnected': 'client_disconnected',
  'client.subscribe': 'session_subscribed',
  'client.unsubscribe': 'session_unsubscribed',
}

const publish = 'message.publish'

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Returns the SQL of today. Throws RuleCompileError for text that is not SQL. */
export function convertRuleSql(sql: string): ConvertedSql {
  const tokens = tokenize(sql)
  const from = tokens.findIndex(({ key }, at) => key === 'FROM' && tokens[at - 1]?.key !== '.')
  const sources = from === -1 ? [] : findSources(tokens, from)
  if (!sources.some(({ text }) => text === publish || Object.hasOwn(events, text))) return { sql, notes: [] }
  const notes: string[] = []
  const edits = [...sources.flatMap((source) => createEventEdits(source, notes)), ...createClientIdEdits(tokens, notes)]
  const old = sources.find(({ text }) => text === publish)
  if (old !== undefined)
    edits.push(...createPublishEdits(sql, tokens, { source: old, isOnly: sources.length === 1 }, notes))
  return { sql: apply(sql, edits), notes }
}

/** The entries after FROM, up to WHERE or the end. */
function findSources(tokens: readonly Token[], from: number): Token[] {
  const end = tokens.findIndex(({ key, kind }, at) => at > from && (key === 'WHERE' || kind === 'end'))
  return tokens.slice(from + 1, end).filter(({ key }) => key !== ',')
}

function createEventEdits(source: Token, notes: string[]): Edit[] {
  if (!Object.hasOwn(events, source.text)) return []
  const topic = `$events/${events[source.text]}`
  notes.push(`the event "${source.text}" is now "${topic}"`)
  return [{ start: source.start, end: source.end, text: `"${topic}"` }]
}

function createClientIdEdits(tokens: readonly Token[], notes: string[]): Edit[] {
  const found = tokens.filter(
    ({ kind, text }, at) => kind === 'word' && text === 'client_id' && tokens[at - 1]?.key !== '.',
  )
  if (found.length > 0) notes.push('the column client_id is now clientid')
  return found.map(({ start, end }) => ({ start, end, text: 'clientid' }))
}

/** `FROM "message.publish"` becomes the topic filter of a condition at the top of WHERE. */
function createPublishEdits(
  sql: string,
  tokens: readonly Token[],
  { source, isOnly }: { source: Token; isOnly: boolean },
  notes: string[],
): Edit[] {
  const conditions = isOnly ? splitTopConditions(tokens) : []
  const found = conditions.find((condition) => findFilter(condition) !== undefined)
  const filter = found === undefined ? '#' : (findFilter(found) ?? '#')
  notes.push(`the event "${publish}" is now the topic filter "${filter}"`)
  if (filter === '#') notes.push('"#" matches every message: name a narrower topic filter if you can')
  const from = { start: source.start, end: source.end, text: `"${filter.replaceAll('"', '""')}"` }
  return found === undefined ? [from] : [from, createRemoval(sql, tokens, conditions, found)]
}

/** The conditions that AND joins at the top of WHERE. Empty if it has OR or NOT there. */
function splitTopConditions(tokens: readonly Token[]): Token[][] {
  const where = tokens.findIndex(({ key }, at) => key === 'WHERE' && tokens[at - 1]?.key !== '.')
  if (where === -1) return []
  const conditions: Token[][] = [[]]
  let depth = 0
  for (const token of tokens.slice(where + 1, -1)) {
    if (token.key === '(' || token.key === '[' || token.key === 'CASE') depth++
    if (token.key === ')' || token.key === ']' || token.key === 'END') depth--
    if (depth === 0 && token.key === 'OR') return []
    if (depth === 0 && token.key === 'AND') conditions.push([])
    else conditions[conditions.length - 1].push(token)
  }
  return conditions
}

/** The filter of `topic =~ 'f'` or the topic of `topic = 't'`, also in parentheses. */
function findFilter(condition: readonly Token[]): string | undefined {
  if (condition.at(0)?.key === '(' && condition.at(-1)?.key === ')') return findFilter(condition.slice(1, -1))
  const [left, operator, right] = condition
  if (condition.length !== 3 || left.text !== 'topic' || right.kind !== 'text') return undefined
  if (operator.key !== '=' && operator.key !== '=~') return undefined
  // A text with wildcards behind `=` matches no topic.
  if (operator.key === '=' && /[+#]/.test(right.text)) return undefined
  return parseTopicFilter(right.text) === undefined ? undefined : right.text
}

/** Removes a condition with its AND, or WHERE if it is the only one. */
function createRemoval(
  sql: string,
  tokens: readonly Token[],
  conditions: readonly Token[][],
  found: readonly Token[],
): Edit {
  const at = conditions.findIndex((condition) => condition === found)
  const start = found[0].start
  const next = conditions.at(at + 1)?.at(0)
  if (at < conditions.length - 1 && next !== undefined) return { start, end: next.start, text: '' }
  const end = found[found.length - 1].end
  const before = tokens.filter((token) => token.start < start).at(-1)
  // The token before is AND or WHERE.
  const from = before === undefined ? start : sql.slice(0, before.start).trimEnd().length
  return { start: from, end, text: '' }
}

function apply(sql: string, edits: readonly Edit[]): string {
  const inOrder = edits.toSorted((left, right) => right.start - left.start)
  return inOrder.reduce(
    (text, { start, end, text: inserted }) => text.slice(0, start) + inserted + text.slice(end),
    sql,
  )
}
