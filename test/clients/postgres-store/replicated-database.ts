// A PostgreSQL with a synchronous standby on loopback, for one test. Servers can be killed, stopped, promoted and restarted.

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { runProgram, type Scope, type WatchedProcess } from '../../e2e/godwit-process.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import { asUser, createServerFolder } from '../database-server.ts'

const run = promisify(execFile)
const [version = ''] = readdirSync('/usr/lib/postgresql').toSorted().toReversed()

function toProgram(name: string): string {
  return join('/usr/lib/postgresql', version, 'bin', name)
}

async function runAsServer(name: string, ...args: readonly string[]): Promise<void> {
  const [command, words] = asUser('postgres', [toProgram(name), ...args])
  await run(command, [...words], { cwd: '/' })
}

/** One server of the database. */
export class DatabaseMember {
  readonly port: number
  readonly folder: string
  readonly #scope: Scope
  #process: WatchedProcess | undefined

  constructor(scope: Scope, port: number, folder: string) {
    this.#scope = scope
    this.port = port
    this.folder = folder
  }

  /** Resolves when the server accepts connections. `settings`: `-c` options. */
  async start(...settings: readonly string[]): Promise<void> {
    const all = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
    const options = all.flatMap((setting) => ['-c', setting])
    const [command, words] = asUser('postgres', [
      toProgram('postgres'),
      '-D',
      this.folder,
      '-p',
      `${this.port}`,
      ...options,
    ])
    this.#process = runProgram(this.#scope, command, words)
    await this.#process.until(/database system is ready to accept (read-only )?connections/)
  }

  async kill(): Promise<void> {
    await this.#process?.stop('SIGKILL')
    this.#process = undefined
  }

  /** Runs statements as administrator, each in a transaction of its own. Returns the rows of the last one. */
  async query(...texts: readonly string[]): Promise<unknown[][]> {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: 'godwit', database: 'postgres' })
    await client.connect()
    try {
      let rows: unknown[][] = []
      for (const text of texts) ({ rows } = await client.query<unknown[]>({ text, rowMode: 'array' }))
      return rows
    } finally {
      await client.end()
    }
  }

  async promote(): Promise<void> {
    await runAsServer('pg_ctl', 'promote', '--wait', '--pgdata', this.folder)
  }
}

export interface ReplicatedDatabase {
  readonly primary: DatabaseMember
  readonly standby: DatabaseMember
  /** Names both servers. */
  readonly url: string
}

const synchronous = 'synchronous_standby_names=*'

export interface ReplicationOptions {
  readonly settings?: readonly string[]
  /** `synchronous_standby_names` is in a file, so that ALTER SYSTEM changes it. */
  readonly setsByFile?: boolean
}

/** One server without a standby. */
export async function startSingleDatabase(t: Scope, ...settings: readonly string[]): Promise<DatabaseMember> {
  const member = new DatabaseMember(t, await reservePort(t), join(await createServerFolder(t, 'postgres'), 'data'))
  await runAsServer('initdb', '-D', member.folder, '-U', 'godwit', '-A', 'trust', '-N')
  await member.start('wal_level=replica', ...settings)
  return member
}

export async function startReplicatedDatabase(
  t: Scope,
  { settings = [], setsByFile = false }: ReplicationOptions = {},
): Promise<ReplicatedDatabase> {
  const all = [...settings, ...(setsByFile ? [] : [synchronous])]
  const primary = await startSingleDatabase(t, ...all)
  const standby = new DatabaseMember(t, await reservePort(t), join(await createServerFolder(t, 'postgres'), 'data'))
  await runAsServer(
    'pg_basebackup',
    '--dbname',
    `host=127.0.0.1 port=${primary.port} user=godwit`,
    '--pgdata',
    standby.folder,
    '--write-recovery-conf',
    '--checkpoint=fast',
  )
  await standby.start(...all)
  if (setsByFile) {
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()')
  }
  return { primary, standby, url: toUrl(primary.port, standby.port) }
}

/** Returns the URL of servers on loopback. */
export function toUrl(...ports: readonly number[]): string {
  return `postgres://godwit@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres`
}
