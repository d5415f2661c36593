// Inserts rows into ClickHouse over HTTP. This interface has no bound parameters here, so template values are written as literals.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { findConnectorUrlProblem } from '../http/http-settings-check.ts'
import type { HttpResult } from '../http/http-exchange.ts'
import {
  formatResponse,
  toBasicAuthorization,
  toOutcome,
  findResponseProblem,
  ServiceClient,
} from '../http/service-client.ts'
import type { NamedValue, Sink, SinkContext, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { createSqlRenderer, type SqlStatement, StatementReader } from '../sql/sql-entry.ts'
import { findSqlProblem } from '../sql/sql-settings.ts'
import { writeByHalves } from '../write-by-halves.ts'
import { formatClickhouseLiteral } from './clickhouse-literal.ts'

type ClickhouseConnector = NamedValue<ConnectorsConfig['clickhouse']>
type ClickhouseAction = NamedValue<ActionsConfig['clickhouse']>

/**
 * Error codes that concern the row: values that cannot be parsed, converted or stored, and violated constraints. All other
 * errors (a missing table, lack of memory, a read-only server) may go away, so the row is sent again.
 */
const refusingCodes = new Set([
  6, 26, 27, 33, 38, 41, 43, 53, 62, 69, 70, 72, 117, 130, 131, 190, 321, 349, 407, 469, 691,
])

const dialect = { escapesWithBackslash: true }

export const clickhouseSinkType: SinkType<ClickhouseAction, ClickhouseConnector> = {
  findConnectorProblem: findConnectorUrlProblem,
  findActionProblem: (action, compile) =>
    /^\s*insert\s+into\s/i.test(action.parameters.sql)
      ? findSqlProblem(action, dialect, compile)
      : 'parameters.sql: write a statement such as INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value})',
  createRenderer: ({ parameters: { sql } }, compile) => createSqlRenderer(sql, dialect, compile),
  findWriteOrder: () => 'batch',
  open: (connector, _, context) => new ClickhouseSink(connector, context),
}

class ClickhouseSink implements Sink {
  readonly #client: ServiceClient
  readonly #query: string
  readonly #reader = new StatementReader()

  constructor(connector: ClickhouseConnector, { requestTimeoutMs }: SinkContext) {
    const { url, database, username, password, ssl, pool_size: poolSize, connect_timeout: connectTimeoutMs } = connector
    this.#query = database === undefined ? '/' : `/?${new URLSearchParams({ database }).toString()}`
    this.#client = new ServiceClient({
      base: new URL(url ?? ''),
      headers: { 'content-type': 'text/plain; charset=utf-8', ...toBasicAuthorization(username, password) },
      ssl,
      poolSize,
      connectTimeoutMs,
      requestTimeoutMs,
    })
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return writeByHalves(
      batch.map((entry) => this.#reader.read(entry)),
      async (statements) => {
        const text = combineInserts(statements)
        if (text !== undefined) return this.#run(text)
        // Statements that cannot be combined into one INSERT are sent one by one.
        const outcomes: WriteOutcome[] = []
        for (const statement of statements) outcomes.push(await this.#run(formatStatement(statement)))
        return outcomes
      },
    )
  }

  async #run(text: string): Promise<WriteOutcome> {
    return toClickhouseOutcome(await this.#client.send({ path: this.#query, body: Buffer.from(text, 'latin1') }))
  }

  async check(): Promise<string | undefined> {
    return findResponseProblem(await this.#client.send({ path: this.#query, body: Buffer.from('SELECT 1') }))
  }

  close(): void {
    this.#client.close()
  }
}

/** Classifies an error by the code in its text, because the HTTP status is not specific. */
function toClickhouseOutcome(result: HttpResult): WriteOutcome {
  const outcome = toOutcome(result)
  if (outcome.outcome === 'done' || 'failure' in result) return outcome
  const code = /Code: (\d+)[.,]/.exec(result.text)?.[1]
  if (code === undefined) return outcome
  return { outcome: refusingCodes.has(Number(code)) ? 'refused' : 'retry', why: formatResponse(result) }
}

const beforeRows = /^\s*insert\s+into\s[^']*?\svalues\s*(?=\()/i

/** Combines the rows into one statement; undefined if they differ in their statement. Bytes are Latin-1 characters. */
function combineInserts(statements: readonly SqlStatement[]): string | undefined {
  const [first] = statements
  if (first === undefined || statements.length === 1) return first === undefined ? undefined : formatStatement(first)
  const [begin] = beforeRows.exec(first.texts[0] ?? '') ?? []
  if (begin === undefined) return undefined
  const form = JSON.stringify(first.texts)
  if (statements.some(({ texts }) => JSON.stringify(texts) !== form)) return undefined
  const head = toLatin1(begin)
  const rows = statements.map((statement) => formatStatement(statement).slice(head.length).replace(/;\s*$/, ''))
  return head + rows.join(',')
}

function formatStatement({ texts, values }: SqlStatement): string {
  return texts.reduce(
    (sql, text, at) => (at === 0 ? toLatin1(text) : sql + formatClickhouseLiteral(values[at - 1]) + toLatin1(text)),
    '',
  )
}

function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}
