// Rows of NanoMQ's rules: one column for each selected field.

/** Columns of a rule that selects everything. */
const allColumns = ['qos', 'id', 'topic', 'clientid', 'username', 'timestamp', 'payload']
const tableForm = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/

/** Names of tables that need no quotes. */
export function isTableName(name: string): boolean {
  return tableForm.test(name)
}

/** `fields`: paths; undefined: everything. */
export interface TableRow {
  readonly table: string
  readonly fields: readonly (readonly string[])[] | undefined
}

/** A template of SQL. */
export function formatInsertStatement({ table, fields }: TableRow): string {
  const values = resolvePaths(fields).map((path) => `\${${path.join('.')}}`)
  return `INSERT INTO ${table} (${toColumnNames(fields).join(', ')}) VALUES (${values.join(', ')})`
}

/** For SQLite, which needs no types of columns. */
export function formatCreateTableStatement({ table, fields }: TableRow): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (${toColumnNames(fields).join(', ')})`
}

function resolvePaths(fields: TableRow['fields']): readonly (readonly string[])[] {
  return fields ?? allColumns.map((column) => [column])
}

function toColumnNames(fields: TableRow['fields']): readonly string[] {
  return [...new Set(resolvePaths(fields).map((path) => path.join('_').replaceAll(/[^A-Za-z0-9_]/g, '_')))]
}
