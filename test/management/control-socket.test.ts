// `ctl.sock` in the data directory serves the same API to processes that can read the directory.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from './api.ts'
import { requestOverSocket } from './http.ts'

test('the control socket', async (t) => {
  const folder = await temporaryFolder(t)
  const target = join(folder, 'precious')
  writeFileSync(target, 'text')
  const dataDirectory = join(folder, 'data')
  mkdirSync(dataDirectory, { mode: 0o700 })
  const socket = join(dataDirectory, 'ctl.sock')
  symlinkSync(target, socket)
  const broker = await startBrokerWithApi(t, { dataDirectory })

  await t.test(
    'a symbolic link at the path of the control socket is replaced, and its target is not changed',
    async () => {
      const brokers = await requestOverSocket(socket, '/api/v4/brokers')
      assert.equal(brokers.status, 200)
      assert.equal(readFileSync(target, 'utf8'), 'text')
    },
  )

  await t.test('a process that can read the data directory needs no password, also for changes', async () => {
    assert.equal(lstatSync(socket).mode & 0o777, 0o600)
    const brokers = await requestOverSocket(socket, '/api/v4/brokers')
    assert.deepEqual([brokers.status, brokers.json.code], [200, 0])
    const made = await requestOverSocket(socket, '/api/v4/apps', { method: 'POST', body: { app_id: 'reports' } })
    assert.equal(made.status, 200, made.text)
    const unknown = await requestOverSocket(socket, '/api/v4/nowhere')
    assert.deepEqual([unknown.status, unknown.json.code], [404, 102])
  })

  await t.test('a node replaces the control socket that a killed node left', async (inner) => {
    await broker.process.stop('SIGKILL')
    assert.ok(existsSync(socket), 'a killed node does not remove its socket')
    const again = await startBrokerWithApi(inner, { dataDirectory })
    const brokers = await requestOverSocket(socket, '/api/v4/brokers')
    assert.equal(brokers.status, 200)
    assert.equal(await again.process.stop(), 0)
    assert.ok(!existsSync(socket), 'the node removes its socket when it stops')
  })
})

test('a data directory whose path is too long for a socket gets a link at a short path', async (t) => {
  const folder = await temporaryFolder(t)
  const dataDirectory = join(folder, 'a-long-name'.repeat(12))
  const broker = await startBrokerWithApi(t, { dataDirectory })
  const socket = join(dataDirectory, 'ctl.sock')
  const target = readlinkSync(socket)
  assert.equal(lstatSync(dirname(target)).mode & 0o777, 0o700)
  const brokers = await requestOverSocket(socket, '/api/v4/brokers')
  assert.equal(brokers.status, 200)
  assert.equal(await broker.process.stop(), 0)
  assert.ok(!existsSync(dirname(target)), 'the node removes the folder when it stops')
})

test('the control socket serves only programs that can read the secret of the data directory', async (t) => {
  const { dataDirectory } = await startBrokerWithApi(t)
  const socket = join(dataDirectory, 'ctl.sock')
  const secret = join(dataDirectory, 'ctl.secret')
  assert.equal(lstatSync(secret).mode & 0o777, 0o600)
  for (const authorization of ['', 'Bearer', `Bearer ${'0'.repeat(64)}`, 'Basic YWRtaW46cHVibGlj']) {
    const refused = await requestOverSocket(socket, '/api/v4/brokers', { authorization })
    assert.deepEqual([refused.status, refused.json.code], [401, 103], authorization)
  }
  // A process of the same user under Node's permission model can connect, but cannot read the file.
  const program = `
    const { request } = require('node:http')
    const { readFileSync } = require('node:fs')
    let secret = ''
    try { secret = readFileSync(${JSON.stringify(secret)}, 'utf8') } catch (error) { console.log(error.code) }
    const headers = { authorization: 'Bearer ' + secret }
    request({ socketPath: ${JSON.stringify(socket)}, path: '/api/v4/brokers', headers }, (response) => {
      console.log(response.statusCode)
      process.exit()
    }).end()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--permission', '--eval', program])
  assert.deepEqual(stdout.trim().split('\n'), ['ERR_ACCESS_DENIED', '401'])
})
