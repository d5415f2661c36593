// The files of deploy/ for service managers and containers match the program.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { endWith, runGodwit, temporaryFolder, WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const fileIn = (name: string): string => readFileSync(join(checkout, name), 'utf8')

/** Prints each datagram that a service sends to its service manager. */
const manager = `
import socket, sys
received = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
received.bind(sys.argv[1])
print('listening', flush=True)
while True:
    data, descriptors, flags, address = socket.recv_fds(received, 4096, 4)
    for line in data.decode().splitlines():
        print(line, flush=True)
    for descriptor in descriptors:
        import os; os.close(descriptor)
`

test('the broker notifies systemd when it is ready, regularly while it runs, and when it stops', async (t) => {
  const folder = await temporaryFolder(t)
  const socket = join(folder, 'notify')
  const systemd = new WatchedProcess('/usr/bin/python3', ['-c', manager, socket])
  endWith(t, systemd)
  await systemd.until(/listening/)
  const port = await reservePort(t)
  const ports = ['--set', `listeners.tcp.bind="127.0.0.1:${port}"`, '--set', 'http_server.enable=false']
  const environment = { ...process.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' }
  const words = ['start', '--data', join(folder, 'data'), '--set', 'node.shards=1', ...ports]
  const godwit = runGodwit(t, words, environment)
  await systemd.until(/READY=1/)
  // Ready only when clients are served.
  await once(connect(port, '127.0.0.1').unref(), 'connect')
  await systemd.until(/WATCHDOG=1[^]*WATCHDOG=1/)
  assert.doesNotMatch(systemd.soFar, /STOPPING/)
  await godwit.stop('SIGTERM')
  await systemd.until(/STOPPING=1/)
  assert.equal(await godwit.ended, 0)
  assert.equal(godwit.errors.includes('systemd-notify'), false, godwit.errors)
})

test('the systemd unit starts and reloads the broker with commands that the broker supports', () => {
  const unit = fileIn('deploy/systemd/godwit.service')
  for (const line of ['Type=notify', 'NotifyAccess=all', 'WatchdogSec=30', 'Restart=on-failure', 'UMask=0077'])
    assert.ok(unit.split('\n').includes(line), line)
  assert.match(unit, /^ExecStart=.*godwit start --data \/var\/lib\/godwit$/m)
  assert.match(unit, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m)
  assert.doesNotMatch(unit, /MemoryDenyWriteExecute=yes/, 'V8 compiles')
})

test('the Dockerfile copies existing files, runs the broker without root, and starts it without a shell, so that it receives signals', () => {
  const lines = fileIn('deploy/Dockerfile').split('\n')
  const withWord = (word: string): string[] => lines.filter((line) => line.startsWith(`${word} `))
  const copied = withWord('COPY').filter((line) => !line.includes('--from='))
  for (const line of copied)
    for (const file of line.split(' ').slice(1, -1)) assert.ok(existsSync(join(checkout, file)), file)
  assert.deepEqual(withWord('USER'), ['USER 1000:1000'])
  assert.deepEqual(withWord('EXPOSE'), ['EXPOSE 1883 8883 8083 8084 8081'])
  assert.deepEqual(withWord('VOLUME'), [])
  const [entry = ''] = withWord('ENTRYPOINT')
  assert.deepEqual(JSON.parse(entry.slice('ENTRYPOINT '.length)), ['node', '/app/bin/godwit.js'])
})
