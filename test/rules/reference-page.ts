// docs/RULES.md: the parts that are generated (`npm run generate` writes them), and the worked examples.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  listColumns,
  eventDefinitions,
  functionSubjects,
  functionTable,
  ruleLimits,
  type RuleFunction,
} from '../../src/rules/index.ts'
import { jqLimits } from '../../src/jq/index.ts'
import { regexLimits } from '../../src/regex/index.ts'
import { schemaLimits } from '../../src/schemas/index.ts'
import { valueLimits } from '../../src/values/index.ts'

export const rulesPagePath = fileURLToPath(new URL('../../docs/RULES.md', import.meta.url))

export function readPage(): string {
  return readFileSync(rulesPagePath, 'utf8')
}

/** Returns the page with all generated parts as they should be. */
export function withGeneratedParts(page: string): string {
  const parts: Record<string, string> = { events: eventTable(), functions: functionTables(), limits: limitTable() }
  return page.replaceAll(/<!-- generated: (\w+) -->[^]*?<!-- end -->/g, (_old, name: string) => {
    return `<!-- generated: ${name} -->\n${parts[name]}\n<!-- end -->`
  })
}

const commonColumns = new Set(['event', 'timestamp', 'node', 'metadata'])

function eventTable(): string {
  const rows = [...eventDefinitions.values()].map(({ name, topic, otherTopics, description }) => {
    const shown = name === 'message.publish' ? 'a topic filter' : `\`${topic.replace('my_bridge', 'NAME')}\``
    const others = otherTopics.length === 0 ? '' : ` Also: ${otherTopics.map((other) => `\`${other}\``).join(', ')}.`
    const columns = listColumns(name).filter((column) => !commonColumns.has(column))
    return `| ${shown} | \`${name}\` | ${description}${others} | ${columns.join(' ')} |`
  })
  return table(['FROM', 'event', 'description', 'columns'], rows)
}

function functionTables(): string {
  const parts = functionSubjects.map((subject) => {
    const functions = [...functionTable.values()].filter((definition) => definition.subject === subject)
    return `### ${subject}\n\n${table(['function', 'result', 'description'], functions.map(functionRow))}`
  })
  return `\n${parts.join('\n\n')}\n`
}

function functionRow({ name, signatures, returns, description }: RuleFunction): string {
  const forms = signatures.map(({ text }) => `\`${name}(${text})\``).join('<br>')
  return `| ${forms} | ${returns} | ${description.replaceAll('|', '\\|')} |`
}

const limits = { ...valueLimits, ...regexLimits, ...jqLimits, ...schemaLimits, ...ruleLimits }

/** What each limit bounds. */
const limitDescriptions: Readonly<Record<keyof typeof limits, string>> = {
  maxSqlLength: 'characters of one statement',
  maxSqlNodes: 'expressions, fields and path segments of one statement',
  maxExpressionDepth: 'nested expressions; nested groups of a regular expression',
  maxTreeDepth: 'operators in a chain such as `a + b + c`',
  maxPathKeys: 'keys and positions of a path',
  maxSources: 'entries after `FROM`',
  maxWarnings: 'warnings for one statement',
  maxSteps: 'work of one evaluation: function calls, elements, and each 16 characters or elements read or written',
  maxCreatedBytes: 'bytes of texts that one evaluation creates, and eight for each element or member',
  maxValueDepth: 'nested arrays and objects in JSON',
  maxIntegerBits: 'bits of an integer',
  maxDecimals: 'decimals of `float` and `float2str`',
  maxRegexInstructions: 'instructions of a compiled regular expression',
  maxRenderedBytes: 'bytes of a rendered template',
  maxJqDepth: 'nested filters of a running `jq` program',
  maxJqLength: 'characters of a `jq` program',
  maxSchemaLength: 'characters of the source of a schema',
  maxSchemaNodes: 'types, fields and keywords of one schema',
  maxSchemaDepth: 'nested types or schemas in the source of a schema',
  maxMessageResults: 'results of one message: those of all rules, for each action',
  maxMessageResultBytes: 'characters of the JSON of all results of one message, if a rule has several for it',
  maxSingleResultBytes:
    'characters of the JSON of single results of rules for one message, without what is below 64 KiB and four times the payload',
}

function limitTable(): string {
  const names = Object.keys(limitDescriptions) as (keyof typeof limits)[]
  const rows = names.map(
    (name) => `| \`${name}\` | ${limits[name].toLocaleString('en')} | ${limitDescriptions[name]} |`,
  )
  return table(['limit', 'value', 'bounds'], rows)
}

function table(heads: readonly string[], rows: readonly string[]): string {
  return [`| ${heads.join(' | ')} |`, `| ${heads.map(() => '---').join(' | ')} |`, ...rows].join('\n')
}

export interface WorkedExample {
  readonly title: string
  readonly sql: string
  readonly message: string
  readonly result: string
}

const example =
  /^### \d+\. (.+)\n\n```sql\n([^]*?)\n```\n\n```json message\n([^]*?)\n```\n\n```json result\n([^]*?)\n```$/gm

export function workedExamples(page: string): WorkedExample[] {
  return Array.from(page.matchAll(example), ([, title, sql, message, result]) => ({ title, sql, message, result }))
}
