// Actions that write files and SQLite files, on a disk that is full, read-only or does not respond, and whose files are moved, replaced or deleted:
// the state is true, results stay queued, and each acknowledged message is in a file afterwards.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import { brokerOptions, fastStart, godwitProgram } from '../e2e/godwit-process.ts'
import { type IsolatedMachine, startIsolatedMachine } from '../e2e/isolated-machine.ts'
import { casesOf, longTest, testLength } from '../test-length.ts'

const environment = { ...process.env, ...fastStart }
const disk = '/mnt'
const folder = `${disk}/out`
const actions = ['sqlite:rows', 'disk_log:lines'] as const
const options = 'resource_opts={batch_size=10,retry_interval=100ms,request_timeout=1s,health_check_interval=300ms}'
const settings = [
  'node.shards=1',
  'http_server.password="a-password-for-tests"',
  'auth.allow_anonymous=true',
  `connectors.sqlite.file={path="${folder}/rows.db"}`,
  `actions.sqlite.rows={connector=file,parameters={sql="INSERT INTO r VALUES (\${payload.number}, \${payload.text})",create_table="CREATE TABLE IF NOT EXISTS r (number INTEGER, text TEXT)"},${options}}`,
  `connectors.disk_log.file={filepath="${folder}/lines.jsonl"}`,
  `actions.disk_log.lines={connector=file,parameters.template="\${payload}",${options}}`,
  `rule_engine.rules.all={sql="SELECT * FROM \\"in\\"",actions=["${actions.join('","')}"]}`,
]
const start = `exec "${process.execPath}" ${brokerOptions.join(' ')} "${godwitProgram}" start --data /media/data${settings.map((setting) => ` --set '${setting}'`).join('')}`
const curl = 'curl -s -u admin:a-password-for-tests http://127.0.0.1:8081/api'
/** Longer than a page, so that a full disk has no space for it. */
const padding = '$(head -c 20000 /dev/zero | tr "\\0" x)'
const readRows = `"${process.execPath}" --disable-warning=ExperimentalWarning -e 'for (const name of process.argv.slice(1)) for (const { number } of new (require("node:sqlite").DatabaseSync)(name).prepare("SELECT number FROM r").all()) console.log(number)'`

interface ActionState {
  readonly status: string
  readonly status_reason: string
}

class Writer {
  readonly #machine: IsolatedMachine
  readonly #published = new Set<number>()

  constructor(machine: IsolatedMachine) {
    this.#machine = machine
  }

  run(script: string): Promise<string> {
    return this.#machine.complete(script, environment)
  }

  async publish(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => this.#published.size + index)
    for (const number of numbers) this.#published.add(number)
    const lines = `for number in ${numbers.join(' ')}; do echo "{\\"number\\":$number,\\"text\\":\\"${padding}\\"}"; done`
    await this.run(`${lines} | timeout 20 mosquitto_pub -q 1 -t in -l`)
  }

  async control(operation: 'stop' | 'start'): Promise<void> {
    for (const action of actions) await this.run(`${curl}/v5/actions/${action}/${operation} -f -X POST`)
  }

  async isDown(expected: RegExp): Promise<void> {
    for (const action of actions) {
      await eventually(async () => {
        const { status, status_reason: reason } = await this.#state(action)
        assert.notEqual(status, 'connected', action)
        assert.match(reason, expected, action)
        assert.match(reason, /\/mnt\/out\//, 'the reason names the file')
        assert.match(await this.run(`${curl}/v4/alarms/activated`), new RegExp(`action:${action}`))
        const { metrics } = JSON.parse(await this.run(`${curl}/v5/actions/${action}/metrics`))
        assert.ok(metrics.queuing + metrics.inflight > 0, `${action}: ${JSON.stringify(metrics)}`)
        assert.equal(metrics.dead_letters, 0)
      })
    }
  }

  /** `since`: the first number that must be there; earlier ones were deleted. */
  async hasAll(since = 0): Promise<void> {
    const wanted = [...this.#published].filter((number) => number >= since)
    await eventually(async () => {
      for (const action of actions)
        assert.deepEqual(await this.#state(action), { status: 'connected', status_reason: '' })
      const rows = new Set((await this.run(`${readRows} ${disk}/*/*.db`)).split('\n').map(Number))
      const lines = await this.run(`grep -ho '"number":[0-9]*' ${disk}/*/*.jsonl | cut -d: -f2`)
      const found = [rows, new Set(lines.split('\n').map(Number))]
      const missing = found.map((numbers) => wanted.filter((number) => !numbers.has(number)))
      assert.deepEqual(missing, [[], []], 'missing in SQLite and in lines')
      assert.doesNotMatch(await this.run(`${curl}/v4/alarms/activated`), /action:/)
    })
  }

  get next(): number {
    return this.#published.size
  }

  async #state(action: string): Promise<ActionState> {
    const { status, status_reason } = JSON.parse(await this.run(`${curl}/v5/actions/${action} -f`))
    return { status, status_reason }
  }
}

async function startOn(t: TestContext, mount: string): Promise<Writer | undefined> {
  const machine = await startIsolatedMachine(t)
  if (machine === undefined) return undefined
  await machine.complete(`mount -t tmpfs none /media; ${mount}`, environment)
  const broker = machine.run(start, environment)
  await broker.until(/listening +mqtt:/)
  const writer = new Writer(machine)
  await writer.publish(5)
  await writer.hasAll()
  return writer
}

const fill = `dd if=/dev/zero of=${disk}/filling bs=64k status=none; dd if=/dev/zero of=${disk}/rest bs=1k status=none; true`

test('a full disk: results stay queued, and are written when there is space', async (t) => {
  const writer = await startOn(t, `mount -t tmpfs -o size=16m none ${disk}`)
  if (writer === undefined) return
  for (let round = 0; round < testLength({ daily: 1, long: 3 }); round++) {
    await writer.run(fill)
    await writer.publish(20)
    await writer.isDown(/full|ENOSPC|no space/i)
    await writer.run(`rm -f ${disk}/filling ${disk}/rest`)
    await writer.hasAll()
  }
})

/** What other programs do to files that are in use. Later results are written to the files that have the names. */
const changes: Readonly<Record<string, { readonly script: string; readonly isDeleted?: true }>> = {
  'a renamed folder': { script: `mv ${folder} ${disk}/renamed` },
  'renamed files': { script: `mkdir ${disk}/files; mv ${folder}/rows.db ${folder}/lines.jsonl ${disk}/files` },
  'replaced files': {
    script: `mkdir ${disk}/aside; mv ${folder}/rows.db ${folder}/lines.jsonl ${disk}/aside; touch ${folder}/rows.db ${folder}/lines.jsonl`,
  },
  'a deleted folder': { script: `rm -rf ${disk}/*`, isDeleted: true },
}

test('files that are renamed, replaced or deleted while they are in use: later results are in files with the names', async (t) => {
  const writer = await startOn(t, `mount -t tmpfs -o size=64m none ${disk}`)
  if (writer === undefined) return
  let since = 0
  for (const [name, { script, isDeleted }] of casesOf(Object.entries(changes), 'replaced files')) {
    await writer.publish(5)
    await writer.hasAll(since)
    if (isDeleted) since = writer.next
    await writer.run(script)
    await writer.publish(5)
    await writer.hasAll(since)
    t.diagnostic(name)
  }
  await writer.control('stop')
  await writer.run(`mount -o remount,ro ${disk}`)
  await writer.control('start')
  await writer.publish(5)
  await writer.isDown(/read-?only|EROFS/i)
  await writer.run(`mount -o remount,rw ${disk}`)
  await writer.hasAll(since)
})

// Daily: the first test, and the time limits of `test/sinks/sqlite-thread.test.ts`.
longTest(
  'a disk that does not respond: the state says so in time, also after a restart of the action, and results are written later',
  async (t) => {
    const image = '/media/image'
    const mount = `truncate -s 64M ${image} && mkfs.ext4 -q ${image} && mount -o loop ${image} ${disk}`
    const writer = await startOn(t, mount)
    if (writer === undefined) return
    try {
      await writer.run(`fsfreeze -f ${disk}`)
      await writer.publish(20)
      await writer.isDown(/disk (?:has not responded|did not complete)/)
      await writer.control('stop')
      await writer.control('start')
      await writer.publish(5)
      await writer.isDown(/disk (?:has not responded|did not complete)/)
    } finally {
      // A process that waits for a frozen file system cannot be ended.
      await writer.run(`fsfreeze -u ${disk}`)
    }
    await writer.hasAll()
  },
)
