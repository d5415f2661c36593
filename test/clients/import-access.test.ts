// A mosquitto in Debian's layout (`include_dir`, several files) is imported. The same logins and actions are tried with both brokers:
// Godwit never allows what mosquitto denied.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import mqtt from 'mqtt'
import { fastStart, runGodwit, runProgram, type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { runHere } from '../cli/run-here.ts'

const run = promisify(execFile)

interface Login {
  readonly username?: string
  readonly password?: string
  readonly clientId: string
}

const logins: readonly Login[] = [
  { clientId: 'dev' },
  { clientId: 'dev', username: 'alice', password: 'secret of alice' },
  { clientId: 'dev', username: 'alice', password: 'wrong' },
  { clientId: 'dev', username: 'alice' },
  { clientId: 'dev', username: 'bob', password: 'secret of bob' },
  { clientId: 'dev', username: 'carl', password: 'x' },
  { clientId: 'other', username: 'bob', password: 'secret of bob' },
]
const topics = [
  'plant/a',
  'plant/secret',
  'dev/dev/x',
  'dev/other/x',
  'home/alice',
  'home/bob',
  'public/x',
  'elsewhere',
]

/** Returns the actions that a broker allows: a topic is allowed if its publication comes back. */
async function allowedActions(port: number): Promise<Set<string>> {
  const allowed = new Set<string>()
  for (const login of logins) {
    const label = `${login.username ?? 'anonymous'}/${login.password ?? 'no password'}/${login.clientId}`
    const options = { ...login, protocolVersion: 5, reconnectPeriod: 0, connectTimeout: 20_000 } as const
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, options).catch(() => undefined)
    if (client === undefined) continue
    allowed.add(`${label} connects`)
    for (const topic of topics) {
      // Of mosquitto, only the reason code tells whether a publication was allowed: 0x87, or 0x10 without subscribers.
      const published = await client.publishAsync(topic, 'x', { qos: 1 }).then(
        () => true,
        () => false,
      )
      if (published) allowed.add(`${label} publishes ${topic}`)
    }
    await client.endAsync()
  }
  return allowed
}

async function importAndCompare(
  t: Scope,
  files: Readonly<Record<string, string>>,
  port: number,
): Promise<{ before: Set<string>; after: Set<string>; report: string; settings: string }> {
  const folder = await temporaryFolder(t)
  await chmod(folder, 0o777)
  await mkdir(join(folder, 'conf.d'))
  await run('mosquitto_passwd', ['-b', '-c', join(folder, 'pw'), 'alice', 'secret of alice'])
  await run('mosquitto_passwd', ['-b', join(folder, 'pw'), 'bob', 'secret of bob'])
  const acl = [
    'topic readwrite public/#',
    'topic deny public/closed',
    'user alice',
    'topic deny plant/secret',
    'topic readwrite plant/#',
    'user bob',
    'topic write plant/a',
    'pattern readwrite dev/%c/#',
    'pattern readwrite home/%u',
  ]
  await writeFile(join(folder, 'acl'), `${acl.join('\n')}\n`)
  const main = ['user root', 'persistence true', `persistence_location ${folder}/`, `include_dir ${folder}/conf.d`]
  await writeFile(join(folder, 'mosquitto.conf'), `${main.join('\n')}\n`)
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, 'conf.d', name), text.replaceAll('FOLDER', folder))
  const mosquitto = runProgram(t, 'mosquitto', ['-v', '-c', join(folder, 'mosquitto.conf')])
  await mosquitto.until(/mosquitto version \S+ running/)
  const before = await allowedActions(port)
  await mosquitto.stop('SIGTERM')

  const output = join(folder, 'converted')
  const imported = await runHere(['import', 'mosquitto', '--conf', join(folder, 'mosquitto.conf'), '--output', output])
  assert.equal(imported.code, 0, imported.errors)
  const config = join(output, 'godwit.conf')
  const data = await temporaryFolder(t)
  const limits = ['--set', 'http_server.port=0', '--set', 'node.shards=1']
  const godwit = runGodwit(t, ['start', '--config', config, '--data', data, ...limits], {
    ...process.env,
    ...fastStart,
  })
  await godwit.until(/listening +mqtt:/)
  const archive = (await readdir(output)).find((name) => name.endsWith('.tar.gz'))
  if (archive !== undefined) {
    const words = ['ctl', 'data', 'import', join(output, archive), '--allow-security-profile-mismatch']
    const done = await runHere([...words, '--data', data])
    assert.equal(done.code, 0, done.errors)
  }
  const after = await allowedActions(port)
  const more = [...after].filter((action) => !before.has(action))
  assert.deepEqual(more, [], 'allowed by Godwit only')
  return { before, after, report: imported.output, settings: await readFile(config, 'utf8') }
}

test('the layout of Debian is imported with its users and rules, and allows the same', async (t) => {
  const port = await reservePort(t)
  const { before, after, report } = await importAndCompare(
    t,
    {
      '20-users.conf': 'password_file FOLDER/pw\nacl_file FOLDER/acl\n',
      '10-listener.conf': `listener ${port} 127.0.0.1\nallow_anonymous false\n`,
      'ignored.conf.dpkg-old': 'allow_anonymous true\n',
    },
    port,
  )
  assert.deepEqual(
    [...before].filter((action) => !after.has(action)),
    [],
    'no longer allowed',
  )
  assert.ok(
    after.has('alice/secret of alice/dev publishes plant/a') && after.has('bob/secret of bob/other publishes home/bob'),
  )
  assert.match(report, /not imported: ACL file, line 1: it applies only to clients without a user name/)
  assert.match(report, /stricter than before: ACL file, line 2: .* all clients are denied/)
})

test('a listener for anonymous clients beside one with passwords stays open, but needs a password', async (t) => {
  const [port, otherPort] = [await reservePort(t), await reservePort(t)]
  const { before, after, report } = await importAndCompare(
    t,
    {
      'a.conf': `per_listener_settings true\nlistener ${port} 127.0.0.1\nallow_anonymous true\n`,
      'b.conf': `listener ${otherPort} 127.0.0.1\nallow_anonymous false\npassword_file FOLDER/pw\nacl_file FOLDER/acl\n`,
    },
    port,
  )
  assert.ok(before.has('anonymous/no password/dev publishes elsewhere'))
  assert.ok(
    !after.has('anonymous/no password/dev connects') && after.has('alice/secret of alice/dev publishes plant/a'),
  )
  assert.match(
    report,
    new RegExp(`stricter than before: a\\.conf, line 2: listener ${port} 127\\.0\\.0\\.1: its clients get the users`),
  )
})

test('anonymous clients cannot take names of users, which mosquitto checked', async (t) => {
  const port = await reservePort(t)
  const { before, after, report } = await importAndCompare(
    t,
    { 'a.conf': `listener ${port} 127.0.0.1\nallow_anonymous true\npassword_file FOLDER/pw\nacl_file FOLDER/acl\n` },
    port,
  )
  assert.ok(before.has('anonymous/no password/dev connects') && !before.has('carl/x/dev connects'))
  assert.ok(!after.has('carl/x/dev connects') && after.has('alice/secret of alice/dev publishes plant/a'))
  assert.match(report, /stricter than before: allow_anonymous: clients without a known user name are refused/)
})
