// The actions of `upgrade-actions.test.ts`, and the messages whose results an earlier version has stored for them.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

/** Number of messages for each action. */
export const messages = 12

const options = { max_retries: 0, retry_interval: '20ms', health_check_interval: '200ms' }

/** The service refused this path, so its results are dead letters in the data directory. */
export const refusedPath = '/refused'

export interface Services {
  /** Of the HTTP service. */
  readonly port: number
  /** Path of the SQLite file. */
  readonly database: string
  /** Of the action `corrected`. */
  readonly path: string
  readonly shards: number
}

/** Returns the configuration, which is the same for both versions except for `path`. */
export function settings({ port, database, path, shards }: Services): readonly string[] {
  const http = (parameters: object, more: object = {}) => ({
    connector: 'local',
    parameters,
    resource_opts: options,
    ...more,
  })
  const fallback = { fallback_actions: [{ kind: 'reference', type: 'http', name: 'spare' }] }
  const actions = {
    'http.plain': http({ path: '/plain/${topic}?n=${n}', body: '{"n":${n},"text":"${text}"}' }),
    'http.corrected': http({ path, body: '{"n":${n},"text":"${text}"}' }, fallback),
    'http.refused': http({ path: refusedPath, body: '${n}' }),
    'http.spare': http({ path: '/spare', body: '${n}' }),
    'sqlite.rows': {
      connector: 'file',
      parameters: {
        sql: "INSERT INTO readings (n, text, payload) VALUES (${n}, '${text}', ${payload})",
        create_table: 'CREATE TABLE IF NOT EXISTS readings (n INTEGER, text TEXT, payload BLOB)',
      },
      resource_opts: options,
    },
    'influxdb.points': {
      connector: 'plant',
      parameters: { write_syntax: 'm,text=x n=${n}', precision: 'ms' },
      resource_opts: options,
      ...fallback,
    },
  }
  return [
    `node.shards=${shards}`,
    `connectors.http.local.url="http://127.0.0.1:${port}"`,
    `connectors.sqlite.file.path=${JSON.stringify(database)}`,
    `connectors.influxdb.plant={server="127.0.0.1:${port}",parameters={influxdb_type=influxdb_api_v1,database=plant}}`,
    ...Object.entries(actions).map(([name, action]) => `actions.${name}=${JSON.stringify(action)}`),
    ...Object.keys(actions)
      .filter((name) => name !== 'http.spare')
      .map((name) => {
        const sql = `SELECT payload.n AS n, payload.text AS text, payload, topic FROM "${name}/#"`
        return `rule_engine.rules.${name.replace('.', '_')}=${JSON.stringify({ sql, actions: [name.replace('.', ':')] })}`
      }),
  ]
}

export const topics = ['http.plain', 'http.corrected', 'http.refused', 'sqlite.rows', 'influxdb.points']

export function payloadOf(n: number): string {
  return JSON.stringify({ n, text: `it's "${n}"; --` })
}
