// Debian's mosquitto, on loopback, for one test.

import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Scope, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'

export interface Mosquitto {
  readonly process: WatchedProcess
  readonly port: number
  readonly folder: string
}

/** Starts mosquitto on `port` or a free port, with its data in `dataFolder` or a new folder. */
export async function startMosquitto(
  t: Scope,
  more: readonly string[] = [],
  { dataFolder, port: given }: { readonly dataFolder?: string; readonly port?: number } = {},
): Promise<Mosquitto> {
  const folder = dataFolder ?? (await temporaryFolder(t))
  // mosquitto changes to another system user, which must be able to read its files.
  await chmod(folder, 0o777)
  const port = given ?? (await reservePort(t))
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'persistence true',
    `persistence_location ${folder}/`,
    'max_queued_messages 100000',
    'user root',
    ...more,
  ]
  await writeFile(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`)
  const process = runProgram(t, 'mosquitto', ['-v', '-c', join(folder, 'mosquitto.conf')])
  await process.until(/mosquitto version \S+ running/)
  return { process, port, folder }
}
