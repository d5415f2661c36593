// Debian's rabbitmq-server on loopback, for one test, with a separate port mapper (epmd).

import { writeFile } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram, type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { DatabaseServer } from './database-server.ts'

const library = '/usr/lib/rabbitmq/lib'

/** `lines`: additional lines of its configuration. */
export async function rabbitmqServer(t: Scope, lines: readonly string[] = []): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const [port, mapperPort, nodePort] = [await reservePort(t), await reservePort(t), await reservePort(t)]
  runProgram(t, 'epmd', ['-port', String(mapperPort), '-address', '127.0.0.1'])
  const file = join(folder, 'rabbitmq.conf')
  await writeFile(file, [`listeners.tcp.1 = 127.0.0.1:${port}`, 'log.console = true', ...lines, ''].join('\n'))
  const [version = ''] = readdirSync(library)
  const environment = {
    ...process.env,
    HOME: folder,
    ERL_EPMD_PORT: String(mapperPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `godwit${port}@localhost`,
    RABBITMQ_DIST_PORT: String(nodePort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_CONFIG_FILE: file,
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    // The script is replaced by the server, so that the server gets signals.
    RUNNING_UNDER_SYSTEMD: 'true',
  }
  return DatabaseServer.of(port, async () => {
    const program = join(library, version, 'sbin/rabbitmq-server')
    const started = runProgram(t, program, [], environment)
    await started.until(/Server startup complete/)
    return started
  })
}
