// `godwit init`: creates a configuration file that an upgrade does not change.

import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { writeExampleFile } from '../config/index.ts'
import { resolveDefaultDataDirectory, type Installation } from '../node/index.ts'
import { makeDirectory } from '../telemetry/index.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface InitOptions {
  readonly config: string | undefined
  readonly data: string | undefined
}

/** Never overwrites a file. Gives the exit code. */
export async function runInitCommand(
  options: InitOptions,
  installation: Installation,
  terminal: Terminal,
): Promise<number> {
  const file = selectConfigFile(options, installation)
  try {
    await makeDirectory(dirname(file))
    await writeFile(file, writeExampleFile(true), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return terminal.fail(`${file} exists already and was not changed`)
    return terminal.fail(`${file}: ${message}; select another place with --config FILE or --data DIR`)
  }
  const isFound = options.config === undefined
  const start = isFound
    ? `godwit start${options.data === undefined ? '' : ` --data ${options.data}`}`
    : `godwit start --config ${file}`
  terminal.print(
    `${file}: every setting with its default, as comments\nEdit it, check it with "godwit config check ${file}", then: ${start}\n`,
  )
  return exitCodes.done
}

/** Root of an installed package uses the file of the machine; other accounts use one in the data directory. */
function selectConfigFile({ config, data }: InitOptions, installation: Installation): string {
  if (config !== undefined) return resolve(config)
  if (data !== undefined) return join(resolve(data), 'godwit.conf')
  const userId = process.getuid?.()
  if (userId === 0 && installation.systemConfig !== undefined) return installation.systemConfig
  return join(resolveDefaultDataDirectory(installation, { userId, homeDirectory: homedir() }), 'godwit.conf')
}
