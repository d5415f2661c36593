// Debian's nats-server, on loopback, for one test.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { DatabaseServer } from './database-server.ts'

/** A server with JetStream. `lines`: additional lines of its configuration. */
export async function natsServer(t: Scope, lines: readonly string[] = []): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const port = await reservePort(t)
  const file = join(folder, 'nats.conf')
  const own = [
    `listen: "127.0.0.1:${port}"`,
    `jetstream { store_dir: "${folder}/store" }`,
    'max_payload: 8192',
    ...lines,
  ]
  await writeFile(file, own.join('\n'))
  return DatabaseServer.of(port, async () => {
    const started = runProgram(t, 'nats-server', ['-c', file])
    await started.until(/Server is ready/)
    return started
  })
}
