// Debian's databases with HTTP interfaces on loopback, each with a new folder, for one test.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { DatabaseServer } from './database-server.ts'

export async function influxdbServer(t: Scope): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const [port, backup] = [await reservePort(t), await reservePort(t)]
  const file = join(folder, 'influxdb.conf')
  await writeFile(
    file,
    `reporting-disabled = true
bind-address = "127.0.0.1:${backup}"
[meta]
  dir = "${folder}/meta"
[data]
  dir = "${folder}/data"
  wal-dir = "${folder}/wal"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:${port}"
  auth-enabled = true
`,
  )
  return DatabaseServer.of(port, async () => {
    const started = runProgram(t, 'influxd', ['-config', file])
    await started.until(/Listening on HTTP/)
    return started
  })
}

export async function prometheusServer(t: Scope): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const port = await reservePort(t)
  const file = join(folder, 'prometheus.yml')
  await writeFile(file, 'global: { scrape_interval: 1h }\n')
  return DatabaseServer.of(port, async () => {
    const started = runProgram(t, 'prometheus', [
      `--config.file=${file}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-remote-write-receiver',
    ])
    await started.until(/Server is ready to receive web requests/)
    return started
  })
}

export async function clickhouseServer(t: Scope): Promise<DatabaseServer> {
  const folder = await temporaryFolder(t)
  const [port, tcpPort] = [await reservePort(t), await reservePort(t)]
  const file = join(folder, 'config.xml')
  await writeFile(join(folder, 'users.xml'), clickhouseUsers)
  await writeFile(
    file,
    `<yandex>
  <logger><level>information</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>${port}</http_port>
  <tcp_port>${tcpPort}</tcp_port>
  <path>${folder}/data/</path>
  <tmp_path>${folder}/tmp/</tmp_path>
  <users_config>${folder}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>5368709120</mark_cache_size>
</yandex>
`,
  )
  return DatabaseServer.of(port, async () => {
    const started = runProgram(t, 'clickhouse-server', [`--config-file=${file}`])
    await started.until(/Ready for connections/)
    return started
  })
}

const clickhouseUsers = `<yandex>
  <profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
  <users>
    <godwit>
      <password>secret</password>
      <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota>
    </godwit>
  </users>
  <quotas><default><interval><duration>3600</duration></interval></default></quotas>
</yandex>
`
