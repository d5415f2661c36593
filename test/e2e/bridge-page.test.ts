import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBrokerWithApi } from '../management/api.ts'
import { client, Listener, oneShard } from './bridge-stage.ts'
import { temporaryFolder } from './godwit-process.ts'

test('the example of docs/BRIDGES.md behaves as described there', async (t) => {
  const page = await readFile(new URL('../../docs/BRIDGES.md', import.meta.url), 'utf8')
  const [, example = ''] = /```hocon\n(.*?)```/s.exec(page) ?? []
  const remote = await startBrokerWithApi(t, { set: oneShard })
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'godwit.conf'), example.replace('127.0.0.1:1884', `127.0.0.1:${remote.port}`))
  const remoteListener = await Listener.at(t, remote.port, 'eu/#')
  const own = await startBrokerWithApi(t, { dataDirectory, set: oneShard })
  const localListener = await Listener.at(t, own.port, 'do/#')
  const publisher = await client(t, own.port)
  await publisher.publishAsync('plant/7/state', 'running', { qos: 1 })
  await remoteListener.until(['running'])
  assert.equal(remoteListener.received[0]?.topic, 'eu/plant/7/state')
  const commander = await client(t, remote.port)
  await commander.publishAsync('commands/plant-7/stop', 'now', { qos: 2 })
  await localListener.until(['now'])
  assert.equal(localListener.received[0]?.topic, 'do/stop')
})
