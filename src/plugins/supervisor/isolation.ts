// What the system offers to isolate the process of a plugin, beyond Node's permission model. Programs of util-linux do it, between `fork`
// and the start of Node:
//
//   unshare --user --net      a network namespace without interfaces
//   setpriv --pdeathsig KILL  the process ends with the broker, also in an endless loop

import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Arguments that come before those of Node. Undefined: the system does not offer it. */
export interface Isolation {
  readonly withoutNetwork: readonly string[] | undefined
  readonly endsWithBroker: readonly string[] | undefined
}

const folders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
const probeTimeoutMs = 5_000
const run = promisify(execFile)

export async function detectIsolation(): Promise<Isolation> {
  const [withoutNetwork, endsWithBroker] = await Promise.all([
    probe('unshare', ['--user', '--net', '--']),
    probe('setpriv', ['--pdeathsig', 'KILL', '--']),
  ])
  return { withoutNetwork, endsWithBroker }
}

async function probe(name: string, options: readonly string[]): Promise<readonly string[] | undefined> {
  const program = findProgram(name)
  const harmless = findProgram('true')
  if (program === undefined || harmless === undefined) return undefined
  const command = [program, ...options]
  try {
    await run(command[0], [...command.slice(1), harmless], { timeout: probeTimeoutMs })
    return command
  } catch {
    return undefined // Not allowed, or not known in this version: the system does not offer it.
  }
}

function findProgram(name: string): string | undefined {
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
