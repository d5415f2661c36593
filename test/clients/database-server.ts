// Debian's database servers on loopback, each with a new folder, for one test. They can be killed and restarted.

import { execFile } from 'node:child_process'
import { chownSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runProgram, type Scope, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'

const run = promisify(execFile)

/** These servers refuse to run as root. */
export function asUser(user: string, command: readonly string[]): readonly [string, readonly string[]] {
  const words =
    process.getuid?.() === 0 ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...command] : command
  const [program = '', ...rest] = words
  return [program, rest]
}

export async function createServerFolder(t: Scope, user: string): Promise<string> {
  const folder = await temporaryFolder(t)
  if (process.getuid?.() === 0) {
    const { stdout } = await run('id', ['-u', user])
    const { stdout: group } = await run('id', ['-g', user])
    chownSync(folder, Number(stdout), Number(group))
  }
  return folder
}

export class DatabaseServer {
  readonly port: number
  readonly #start: () => Promise<WatchedProcess>
  #process: WatchedProcess | undefined

  private constructor(port: number, start: () => Promise<WatchedProcess>) {
    this.port = port
    this.#start = start
  }

  async start(): Promise<void> {
    this.#process = await this.#start()
  }

  /** Kills the server, as in a crash. */
  async kill(): Promise<void> {
    await this.#process?.stop('SIGKILL')
    this.#process = undefined
  }

  /** `start` resolves when the server accepts connections. The server is stopped at the end of the test. */
  static of(port: number, start: () => Promise<WatchedProcess>): DatabaseServer {
    return new DatabaseServer(port, start)
  }

  static async postgresql(t: Scope): Promise<DatabaseServer> {
    const [version = ''] = readdirSync('/usr/lib/postgresql').toSorted().toReversed()
    const program = (name: string): string => join('/usr/lib/postgresql', version, 'bin', name)
    const folder = join(await createServerFolder(t, 'postgres'), 'data')
    const [initdb, words] = asUser('postgres', [program('initdb'), '-D', folder, '-U', 'godwit', '-A', 'trust', '-N'])
    await run(initdb, [...words], { cwd: '/' })
    const port = await reservePort(t)
    return new DatabaseServer(port, async () => {
      const options = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
      const [command, rest] = asUser('postgres', [program('postgres'), '-D', folder, '-p', String(port), ...options])
      const started = runProgram(t, command, rest)
      await started.until(/database system is ready to accept connections/)
      return started
    })
  }

  static async mariadb(t: Scope): Promise<DatabaseServer> {
    const folder = await createServerFolder(t, 'mysql')
    const [install, words] = asUser('mysql', [
      'mariadb-install-db',
      '--no-defaults',
      `--datadir=${folder}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ])
    await run(install, [...words], { cwd: '/' })
    const init = join(folder, 'init.sql')
    await writeFile(
      init,
      [
        'CREATE DATABASE IF NOT EXISTS plant;',
        ...['%', 'localhost'].flatMap((host) => [
          `CREATE USER IF NOT EXISTS godwit@'${host}' IDENTIFIED BY 'secret';`,
          `GRANT ALL ON plant.* TO godwit@'${host}';`,
        ]),
      ].join('\n'),
    )
    const port = await reservePort(t)
    return new DatabaseServer(port, async () => {
      const [command, rest] = asUser('mysql', [
        'mariadbd',
        '--no-defaults',
        `--datadir=${folder}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--socket=${join(folder, 'mariadb.sock')}`,
        `--pid-file=${join(folder, 'mariadb.pid')}`,
        `--init-file=${init}`,
      ])
      const started = runProgram(t, command, rest)
      await started.until(/ready for connections/)
      return started
    })
  }

  static async redis(t: Scope): Promise<DatabaseServer> {
    const folder = await temporaryFolder(t)
    const port = await reservePort(t)
    return new DatabaseServer(port, async () => {
      const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes']
      const started = runProgram(t, 'redis-server', [...words, '--appendfsync', 'always', '--requirepass', 'secret'])
      await started.until(/Ready to accept connections/)
      return started
    })
  }
}
