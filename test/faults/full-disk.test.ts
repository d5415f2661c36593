// Starts on a disk that is full, read-only, or belongs to another account, and a data directory that vanishes while the broker runs. The disk is a
// small one of its own.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { longTest } from '../test-length.ts'
import { eventually } from '../e2e/eventually.ts'
import { brokerOptions, fastStart, godwitProgram } from '../e2e/godwit-process.ts'
import { type IsolatedMachine, type IsolatedProcess, startIsolatedMachine } from '../e2e/isolated-machine.ts'

const environment = { ...process.env, ...fastStart }
const disk = '/mnt'
const data = `${disk}/data`
const settings = ['node.shards=2', 'http_server.password="a-password-for-tests"', 'auth.allow_anonymous=true']
const options = settings.map((setting) => ` --set '${setting}'`).join('')
const start = `exec "${process.execPath}" ${brokerOptions.join(' ')} "${godwitProgram}" start --data ${data}${options}`
const fill = `dd if=/dev/zero of=${disk}/filling bs=64k status=none; dd if=/dev/zero of=${disk}/rest bs=1 status=none; true`
const free = `rm -f ${disk}/filling ${disk}/rest`
const curl = 'curl -sf -u admin:a-password-for-tests http://127.0.0.1:8081/api/v4'
const publish = 'timeout 20 mosquitto_pub -q 1 -t kept -m'
const subscribe = `mosquitto_sub -i keeper -c -q 1 -t kept`

class Broker {
  readonly machine: IsolatedMachine
  process: IsolatedProcess

  constructor(machine: IsolatedMachine) {
    this.machine = machine
    this.process = machine.run(start, environment)
  }

  async serves(): Promise<void> {
    await this.process.until(/listening +mqtt:/)
  }

  restart(): void {
    this.process = this.machine.run(start, environment)
  }

  run(script: string): Promise<string> {
    return this.machine.complete(script, environment)
  }

  async alarms(): Promise<string> {
    return this.run(`${curl}/alarms/activated`)
  }
}

async function startOnDisk(t: TestContext, megabytes: number): Promise<Broker | undefined> {
  const machine = await startIsolatedMachine(t)
  if (machine === undefined) return undefined
  await machine.complete(`mount -t tmpfs -o size=${megabytes}m none ${disk}`, environment)
  const broker = new Broker(machine)
  await broker.serves()
  // A persistent session that is away: its messages are acknowledged when they are on disk.
  await broker.run(`${subscribe} -E`)
  await broker.run(`${publish} first`)
  return broker
}

test('a broker starts on a full disk, with an alarm, serves what is stored, and takes messages when there is space', async (t) => {
  const broker = await startOnDisk(t, 40)
  if (broker === undefined) return
  await broker.process.stop('SIGKILL')
  await broker.run(fill)
  broker.restart()
  await broker.serves()
  await eventually(async () => assert.match(await broker.alarms(), /disk-full/))
  await broker.run(fill)
  await assert.rejects(broker.run('timeout 5 mosquitto_pub -q 1 -t kept -m refused'), /ended with/)
  await broker.run(free)
  await broker.run(`${publish} second`)
  assert.equal(await broker.run(`${subscribe} -C 3 | tr '\\n' ' '`), 'first refused second ')
  await broker.process.stop('SIGTERM')
})

// Daily: the test before.
longTest('a broker waits for space if a start could free none, says so, and starts when there is space', async (t) => {
  const broker = await startOnDisk(t, 40)
  if (broker === undefined) return
  await broker.process.stop('SIGKILL')
  await broker.run(`rm -f ${data}/disk-reserve; ${fill}`)
  broker.restart()
  await broker.process.until(/godwit: .*(full|space).*; the broker starts when there is space/)
  assert.equal(await broker.process.stop('SIGTERM'), 0)
  assert.doesNotMatch(broker.process.errors, / at .*\(/, 'no stack')
  broker.restart()
  await broker.process.until(/the broker starts when there is space/)
  await broker.run(free)
  await broker.serves()
  assert.equal(await broker.run(`${subscribe} -C 1`), 'first\n')
})

// Daily: the first test, whose second fill comes while the broker runs.
longTest('a broker that was killed while the disk was full has lost nothing that it acknowledged', async (t) => {
  const broker = await startOnDisk(t, 40)
  if (broker === undefined) return
  await broker.run(fill)
  await broker.run('timeout 5 mosquitto_pub -q 1 -t kept -m unacknowledged || true')
  await broker.process.stop('SIGKILL')
  broker.restart()
  await broker.serves()
  await broker.run(free)
  await broker.run(`${publish} last`)
  const found = await broker.run(`${subscribe} -C 2 -W 20 | tr '\\n' ' '`)
  assert.match(found, /^first (unacknowledged|last) /)
})

const refusals = {
  'read-only file system': {
    prepare: `mount -o remount,ro ${disk}`,
    expected: /the file system is read-only; choose another with --data/,
  },
  'directory that cannot be created': {
    prepare: `rm -rf ${data}; touch ${data}`,
    expected: /it is not a directory; choose another with --data|not a directory/,
  },
}

for (const [name, { prepare, expected }] of Object.entries(refusals)) {
  // Daily: test/cli/godwit.test.ts.
  longTest(`a start on a ${name} ends with one line that says what to do`, async (t) => {
    const broker = await startOnDisk(t, 40)
    if (broker === undefined) return
    await broker.process.stop('SIGTERM')
    await broker.run(prepare)
    broker.restart()
    assert.equal(await broker.process.ended, 1)
    assert.match(broker.process.errors, expected)
    assert.equal(broker.process.errors.trim().split('\n').length, 1, broker.process.errors)
  })
}

longTest('log files on a full disk do not prevent a start: lines go to the console', async (t) => {
  const machine = await startIsolatedMachine(t)
  if (machine === undefined) return
  await machine.complete(`mount -t tmpfs -o size=1m none ${disk}; mount -t tmpfs none /media; ${fill}`, environment)
  const log = `--set 'log.to=[file]' --set log.dir=${disk}/log --set log.level=info`
  const broker = machine.run(`${start.replace(data, '/media/data')} ${log}`, environment)
  await broker.until(/listening +mqtt:/)
  await broker.until(/cannot write the log .*lines go to the console until it works again/)
})

longTest(
  'log files on a disk that fills up do not stop a broker: lines go to the console, and to the files when there is space',
  async (t) => {
    const machine = await startIsolatedMachine(t)
    if (machine === undefined) return
    await machine.complete(`mount -t tmpfs -o size=1m none ${disk}; mount -t tmpfs none /media`, environment)
    const log = `--set 'log.to=[file]' --set log.dir=${disk}/log --set log.level=debug`
    const broker = machine.run(`${start.replace(data, '/media/data')} ${log}`, environment)
    const run = (script: string): Promise<string> => machine.complete(script, environment)
    await broker.until(/listening +mqtt:/)
    await run(`${subscribe} -E`)
    await run(fill)
    await run(`${publish} while-full`)
    // The first lines may still fit into the last page of the file.
    await run('for i in $(seq 60); do mosquitto_pub -i without-space -t other -m x; done')
    await broker.until(/cannot write the log .*lines go to the console until it works again/)
    await run(free)
    // The file is opened again after half a minute. Each connection is a line.
    await eventually(async () => {
      await run('mosquitto_pub -i after-space -t other -m x')
      assert.match(await run(`cat ${disk}/log/* || true`), /after-space/)
    })
    assert.equal(await run(`${subscribe} -C 1`), 'while-full\n')
    assert.equal(await broker.stop('SIGTERM'), 0)
  },
)

const vanishing = {
  renamed: { make: `mv ${data} ${disk}/elsewhere`, undo: `mv ${disk}/elsewhere ${data}` },
  'unmounted while files are open': {
    make: `mount --bind ${disk} /media; umount -l ${disk}`,
    undo: `mount --move /media ${disk}`,
  },
  'covered by another mount': { make: `mount -t tmpfs none ${data}`, undo: `umount ${data}` },
  deleted: { make: `rm -rf ${data}`, undo: undefined },
}

for (const [name, { make, undo }] of Object.entries(vanishing)) {
  // Daily: one of them, and test/storage/moved-directory.test.ts.
  const testOrLong = name === 'renamed' ? test : longTest
  testOrLong(`nothing is acknowledged for a persistent session while the data directory is ${name}`, async (t) => {
    const broker = await startOnDisk(t, 40)
    if (broker === undefined) return
    await broker.run(make)
    await assert.rejects(broker.run('timeout 4 mosquitto_pub -q 1 -t kept -m second'), /ended with/)
    await eventually(async () => assert.match(await broker.alarms(), /was deleted, renamed, unmounted or replaced/))
    if (undo !== undefined) {
      await broker.run(undo)
      await broker.run(`${publish} third`)
      await eventually(async () => assert.doesNotMatch(await broker.alarms(), /unmounted or replaced/))
      assert.equal(await broker.run(`${subscribe} -C 3 | tr '\\n' ' '`), 'first second third ')
    }
    assert.equal(await broker.process.stop('SIGTERM'), 0)
  })
}
