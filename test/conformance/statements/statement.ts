// Normative statements as data. The wording is our own, and only long enough to recognize the statement by; the
// standards have the full text.

/** The side that a statement binds. `neither`: it concerns implementations as such, not packets on a connection. */
export type Binds = 'client' | 'server' | 'both' | 'neither'

export interface Statement {
  /** `MQTT-3.1.2-24` for 3.1.1, `MQTT5-3.1.2-22` for 5.0. */
  readonly mark: string
  readonly binds: Binds
  readonly text: string
  /** Why no test has its tag, although it binds a server; undefined if a test has. */
  readonly untested: string | undefined
}

/** Number in the standard, the side that it binds, its text, and the reason if it has no test. */
export type Row = readonly [number: string, binds: Binds, text: string, untested?: string]

export function statementsOf(prefix: 'MQTT' | 'MQTT5', rows: readonly Row[]): Statement[] {
  return rows.map(([number, binds, text, untested]) => ({ mark: `${prefix}-${number}`, binds, text, untested }))
}

export const bindsServer = (statement: Statement): boolean => statement.binds === 'server' || statement.binds === 'both'
