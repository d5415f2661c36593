// Writes the data directory of `upgrade-actions.test.ts` with an earlier version: its broker is killed while results wait for their actions.
//
//   node test/e2e/upgrade/write-fixture.ts <folder of a built checkout> test/e2e/upgrade/waiting-results.tar.gz

import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import mqtt from 'mqtt'
import { eventually } from '../eventually.ts'
import { type Scope, fastStart, runProgram, temporaryFolder } from '../godwit-process.ts'
import { HttpService } from '../http-service.ts'
import { messages, payloadOf, refusedPath, settings, topics } from './waiting-results.ts'

const [checkout, archive] = process.argv.slice(2)
if (checkout === undefined || archive === undefined) throw new Error('name the folder of a checkout, and the archive')

const ends: (() => unknown)[] = []
const scope: Scope = { after: (end) => void ends.push(end) }
const data = await temporaryFolder(scope)
const service = await HttpService.start(scope)
service.statusFor = ({ path }) => (path === refusedPath ? 400 : 503)
const database = '/proc/no/database'
await writeFile(
  join(data, 'godwit.conf'),
  settings({ port: service.port, database, path: '/wrong/${n}', shards: 2 }).join('\n'),
)
const words = [join(checkout, 'bin/godwit.js'), 'start', '--data', data]
const set = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', 'http_server.password="a-password-for-tests"']
const broker = runProgram(scope, process.execPath, [...words, ...set.flatMap((each) => ['--set', each])], {
  ...process.env,
  ...fastStart,
})
const [, port] = await broker.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/)
for (const clientId of ['first', 'second', 'third']) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId })
  for (const topic of topics)
    for (let n = 0; n < messages / 3; n++)
      await client.publishAsync(`${topic}/a b`, payloadOf(n), { qos: n % 2 === 0 ? 1 : 2 })
  await client.endAsync()
}
const isRefused = ({ path }: { readonly path: string }): boolean => path === refusedPath
await eventually(() => {
  if (service.received.filter(isRefused).length < messages) throw new Error('the service has not refused all requests')
})
// The dead letters are stored.
await new Promise((resolve) => setTimeout(resolve, 1_000))
await broker.stop('SIGKILL')
await writeFile(join(data, 'recorded-before-ms'), String(Date.now()))
execFileSync('tar', [
  '--exclude=LOCK',
  '--exclude=LOG*',
  '--exclude=*.sock',
  '--exclude=node.lock',
  '-czf',
  archive,
  '-C',
  data,
  '.',
])
execFileSync('tar', ['-tvzf', archive], { stdio: 'inherit' })
for (const end of ends.toReversed()) await end()
