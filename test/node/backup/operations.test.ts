import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { writeRow } from '../../../src/backup/index.ts'
import type { ApiKeyRecord } from '../../../src/records/index.ts'
import { archiveOf, folder } from '../../backup/crafted.ts'
import { backupPath, fileOf, fillBook, type NodeInTest, operator, startInTest } from './nodes.ts'

const everything = { tableSets: undefined, rootKeys: undefined }
const key = { ...operator, mayManageAccounts: false }
const crafted = `${folder}.tar.gz`
const options = (filename: string) => ({ filename, isDryRun: false, allowsProfileMismatch: false, parts: undefined })
const dry = (filename: string) => ({ ...options(filename), isDryRun: true })

async function put({ folder: data }: NodeInTest, content: Buffer, name = crafted): Promise<void> {
  await mkdir(join(data, 'backup'), { recursive: true })
  await writeFile(join(data, 'backup', name), content)
}

function refusalIn(outcome: unknown): [symbol: string, message: string] {
  const { symbol, message } = outcome as { symbol: string; message: string }
  assert.equal(typeof symbol, 'string', JSON.stringify(outcome))
  return [symbol, message]
}

test('export, verification, import, comparison and upload of archives on one node', async (t) => {
  const one = await startInTest(t)
  await fillBook(one.node)
  const { backup, accessRecords } = one.node

  await t.test('a dry run changes nothing, and counts records that would be inserted and updated', async () => {
    const made = fileOf(await backup.export(operator, everything))
    const psk = { kind: 'psk', identity: 'gateway', key: Buffer.from('ff', 'hex') } as const
    await accessRecords.change({ put: [psk], delete: [{ kind: 'credential', by: 'username', id: 'alice' }] })
    const outcome = await backup.import(operator, dry(made.filename))
    assert.ok('tables' in outcome, JSON.stringify(outcome))
    const of = (name: string) => outcome.tables.find(({ table }) => table === name)
    assert.deepEqual(of('credentials'), { table: 'credentials', inserts: 1, updates: 0, unchanged: 1, conflicts: [] })
    assert.deepEqual(of('pre-shared-keys')?.conflicts, ['gateway'])
    assert.equal(accessRecords.find({ kind: 'credential', by: 'username', id: 'alice' }), undefined)

    const difference = await backup.diff(operator, made.filename, undefined)
    assert.ok('tables' in difference)
    assert.deepEqual(
      difference.tables.map(({ table, onlyInFirst, onlyInSecond, different }) => [
        table,
        onlyInFirst,
        onlyInSecond,
        different,
      ]),
      [
        ['credentials', 1, 0, 0],
        ['pre-shared-keys', 0, 0, 1],
      ],
    )
    assert.deepEqual(difference.tables[0]?.examples, [{ name: 'username alice', where: 'first' }])
    assert.doesNotMatch(JSON.stringify(difference), /"ff|0123456789/)

    const part = await backup.import(operator, { ...options(made.filename), parts: ['psk'] })
    assert.ok('tables' in part)
    assert.equal(accessRecords.find({ kind: 'credential', by: 'username', id: 'alice' }), undefined)
    assert.ok(accessRecords.find({ kind: 'psk', identity: 'gateway' })?.key.length === 8)
    assert.match(
      refusalIn(await backup.import(operator, { ...options(made.filename), parts: ['x'] }))[1],
      /Invalid parts: "x"/,
    )
    const verified = await backup.verify(operator, made.filename)
    assert.ok('counts' in verified)
    assert.deepEqual([verified.product, verified.format, verified.counts['bans']], ['godwit', 1, 2])
  })

  await t.test(
    'an administrator without permission for accounts cannot export, download, import or compare them',
    async () => {
      const whole = fileOf(await backup.export(operator, everything))
      assert.deepEqual(refusalIn(await backup.read(key, whole.filename))[0], 'FORBIDDEN')
      const [symbol, message] = refusalIn(await backup.import(key, options(whole.filename)))
      assert.equal(symbol, 'FORBIDDEN')
      assert.match(message, /dashboard_users, api_keys/)
      await put(one, archiveOf({ 'cluster.hocon': 'http_server.password = mine' }))
      const own = { ...options(crafted), parts: ['configuration'] }
      assert.match(refusalIn(await backup.import(key, own))[1], /contains http_server/)
      const part = fileOf(await backup.export(key, everything))
      const read = await backup.read(key, part.filename)
      assert.ok('content' in read)
      assert.equal((await buffer(read.content)).length, part.bytes)
      const verified = await backup.verify(operator, part.filename)
      assert.ok('counts' in verified)
      assert.equal(verified.counts['accounts'], undefined)
      assert.equal(verified.counts['rules'], 2)
    },
  )

  await t.test('a hardened broker does not import a well-known password from an archive', async () => {
    for (const [password, isRestored] of [
      ['public', false],
      ['another-password', true],
    ] as const) {
      await put(one, archiveOf({ 'cluster.hocon': `http_server { username = admin, password = "${password}" }` }))
      const outcome = await backup.import(operator, { ...options(crafted), isDryRun: true, parts: ['configuration'] })
      assert.ok('warnings' in outcome, JSON.stringify(outcome))
      const isWarned = outcome.warnings.some((warning) => warning.includes('godwit ctl admins reset admin'))
      assert.equal(isWarned, !isRestored, outcome.warnings.join())
      assert.equal(
        outcome.configuration.some(({ key }) => key === 'http_server.password'),
        isRestored,
      )
    }
  })

  await t.test('the report of an import names API keys with well-known secrets, which cannot log in', async () => {
    const salt = randomBytes(16)
    const key: ApiKeyRecord = {
      kind: 'api-key',
      id: 'reports-of-emqx',
      name: '',
      description: '',
      role: 'administrator',
      namespace: undefined,
      isEnabled: true,
      expiresAtMs: undefined,
      secret: {
        algorithm: 'sha256',
        memory: 0,
        passes: 0,
        lanes: 0,
        salt,
        hash: createHash('sha256').update(salt).update('public').digest(),
      },
      createdAtMs: 0,
    }
    await put(one, archiveOf({ 'tables/api-keys.jsonl': writeRow('api-keys', key) }))
    const sentence = 'the API key "reports-of-emqx" has a well-known secret: with the profile hardened it cannot log in'
    for (const isDryRun of [true, false]) {
      const outcome = await backup.import(operator, { ...options(crafted), isDryRun })
      assert.ok('warnings' in outcome, JSON.stringify(outcome))
      assert.ok(outcome.warnings.includes(sentence), outcome.warnings.join('\n'))
    }
    await accessRecords.change({ put: [], delete: [{ kind: 'api-key', id: key.id }] })
  })

  await t.test('a hardened broker checks the security profile of an archive', async () => {
    for (const profile of ['legacy', undefined] as const) {
      await put(one, archiveOf({}, { profile }))
      assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /profile legacy/)
      assert.ok('tables' in (await backup.import(operator, { ...options(crafted), allowsProfileMismatch: true })))
    }
    await put(one, archiveOf({}, { profile: 'hardened' }))
    assert.ok('tables' in (await backup.import(operator, options(crafted))))
  })

  await t.test(
    'archives of other formats, versions, editions and namespaces are refused, also if a profile mismatch is allowed',
    async () => {
      for (const [meta, why] of [
        [{ format: 2 }, /reads formats up to 1/],
        [{ product: undefined, edition: 'ee' }, /enterprise/],
        [{ product: undefined, edition: 'xx' }, /no valid edition/],
        [{ product: undefined, version: '4.4.0' }, /too old/],
        [{ product: undefined, version: 'new' }, /no valid version/],
        [{ product: undefined, version: '99.0.0' }, /is newer than/],
        [{ namespace: 'plant' }, /of the namespace "plant"/],
      ] as const) {
        await put(one, archiveOf({}, meta))
        assert.match(
          refusalIn(await backup.import(operator, { ...options(crafted), allowsProfileMismatch: true }))[1],
          why,
        )
      }
      const [symbol] = refusalIn(await backup.import({ ...operator, namespace: 'other' }, options(crafted)))
      assert.equal(symbol, 'NOT_FOUND', 'global archives do not exist for a namespace')
    },
  )

  await t.test('an error anywhere in an archive prevents the whole import', async () => {
    const good = '{"identity":"new","key":"AAAAAAAAAAA="}\n'
    await put(one, archiveOf({ 'tables/pre-shared-keys.jsonl': good, 'tables/rules.jsonl': '{}\n' }))
    assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /rules.jsonl, line 1/)
    await put(one, archiveOf({ 'tables/pre-shared-keys.jsonl': good, 'cluster.hocon': 'mqtt { nonsense = 1 }' }))
    assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /mqtt.nonsense/)
    await put(
      one,
      archiveOf({ 'tables/pre-shared-keys.jsonl': good, 'cluster.hocon': 'auth.acl.file = "/etc/passwd"' }),
    )
    assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /cannot be/)
    assert.equal(accessRecords.find({ kind: 'psk', identity: 'new' }), undefined)
  })

  await t.test('certificates that no listener can use prevent the whole import', async () => {
    const name = '0123456789abcdef-tls.pem'
    const members = {
      'tables/pre-shared-keys.jsonl': '{"identity":"new","key":"AAAAAAAAAAA="}\n',
      'cluster.hocon': `listeners.ssl { bind = "127.0.0.1:0", certfile = "archive:${name}", keyfile = "archive:${name}" }`,
      [`files/${name}`]: '-----BEGIN CERTIFICATE-----\nno certificate\n-----END CERTIFICATE-----\n',
    }
    await put(one, archiveOf(members))
    for (const importOptions of [options(crafted), dry(crafted)]) {
      assert.match(
        refusalIn(await backup.import(operator, importOptions))[1],
        /listeners\.ssl\.certfile: .* contains no readable certificate/,
      )
    }
    const bridge = `bridges.mqtt.cloud { enable = true, server = "mqtts://192.0.2.1:8883", tls { certfile = "archive:${name}", keyfile = "archive:${name}" } }`
    await put(one, archiveOf({ ...members, 'cluster.hocon': bridge }))
    assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /bridges\.mqtt\.cloud\.tls\.certfile: /)
    assert.equal(accessRecords.find({ kind: 'psk', identity: 'new' }), undefined)
    assert.ok(!(await readdir(one.folder)).includes('restored'))
  })

  await t.test('accounts and keys that the API would not create prevent the whole import', async () => {
    const hash = Buffer.alloc(32).toString('base64')
    const password = { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt: 'AAAA', hash }
    const account = (name: string, more: object = {}): string =>
      `${JSON.stringify({ name, description: '', role: 'administrator', password, createdAtMs: 1, ...more })}\n`
    const program = (id: string): string => {
      const plain = { id, name: id, description: '', role: 'viewer', isEnabled: true, secret: password, createdAtMs: 1 }
      return `${JSON.stringify(plain)}\n`
    }
    for (const [members, why] of [
      [{ 'tables/api-keys.jsonl': program('bob') }, /"bob" would be both/],
      [{ 'tables/accounts.jsonl': account('reports') }, /"reports" would be both/],
      [{ 'tables/api-keys.jsonl': program('admin') }, /"admin" would be both/],
      [{ 'tables/accounts.jsonl': account('new'), 'tables/api-keys.jsonl': program('new') }, /"new" would be both/],
      [{ 'tables/accounts.jsonl': account('admin', { role: 'viewer' }) }, /must be a global administrator/],
      [{ 'tables/accounts.jsonl': account('admin', { namespace: 'plant' }) }, /must be a global administrator/],
      [{ 'tables/accounts.jsonl': account('ann'), 'cluster.hocon': 'http_server.username = ann' }, undefined],
      [
        { 'tables/accounts.jsonl': account('ann', { role: 'viewer' }), 'cluster.hocon': 'http_server.username = ann' },
        /"ann" is the account of http_server/,
      ],
    ] as const) {
      await put(one, archiveOf(members))
      const outcome = await backup.import(operator, dry(crafted))
      if (why === undefined) assert.ok('tables' in outcome, JSON.stringify(outcome))
      else assert.match(refusalIn(outcome)[1], why)
    }
    const names = Array.from({ length: 10_001 }, (_, number) => account(`a-${number}`)).join('')
    await put(one, archiveOf({ 'tables/accounts.jsonl': names }))
    assert.match(refusalIn(await backup.import(operator, options(crafted)))[1], /more than 10000 accounts/)
    assert.equal([...accessRecords.list('account')].length, 1)
  })

  await t.test('a dry run has the warnings of the configuration in the archive', async () => {
    const configuration =
      'listeners.tcp.other.bind = "0"\nauth { chain = [], salt_position = suffix }\nnode.shards = 7\nnamespaces.enable = true\n' +
      'log { to = [console], dir = "/elsewhere", file = other.log, level = debug }'
    await put(one, archiveOf({ 'cluster.hocon': configuration }, { profile: 'legacy' }))
    const outcome = await backup.import(operator, { ...dry(crafted), allowsProfileMismatch: true })
    assert.ok('warnings' in outcome, JSON.stringify(outcome))
    const warnings = outcome.warnings.join('\n')
    for (const words of [
      /tcp\.other is given as a port only/,
      /every client is denied/,
      /salt as suffix/,
      /not imported: node\.shards, log\.to, log\.dir, log\.file/,
      /namespaces\.enable: namespaces are required/,
    ]) {
      assert.match(warnings, words)
    }
  })

  await t.test('an upload is stored only if it is a valid archive', async () => {
    const backups = join(one.folder, 'backup')
    const before = (await readdir(backups)).length
    const name = crafted.replace('godwit', 'other')
    const [, damaged] = refusalIn(await backup.receive(operator, name, Readable.from([Buffer.from('no archive')])))
    assert.match(damaged, /not a gzip file/)
    const [, renamed] = refusalIn(await backup.receive(operator, name, Readable.from([archiveOf({})])))
    assert.match(renamed, /give the file its original name/)
    const [, again] = refusalIn(await backup.receive(operator, crafted, Readable.from([archiveOf({})])))
    assert.match(again, /exists already/)
    await backup.remove(operator, crafted)
    for (const [configuration, why] of [
      ['mqtt { nonsense = 1 }', /mqtt\.nonsense/],
      ['mqtt {', /cluster\.hocon cannot be read/],
      ['auth.acl.file = "archive:none"', /not in the archive/],
    ] as const) {
      const archive = Readable.from([archiveOf({ 'cluster.hocon': configuration })])
      assert.match(refusalIn(await backup.receive(operator, crafted, archive))[1], why)
    }
    // An archive with files of another machine may be uploaded, because the files may exist before the import.
    const elsewhere = archiveOf({ 'cluster.hocon': 'auth.acl.file = "/etc/not-here.conf"' }, { profile: 'legacy' })
    const uploaded = await backup.receive(operator, crafted, Readable.from([elsewhere]))
    assert.ok('filename' in uploaded, JSON.stringify(uploaded))
    const broken = new Readable({ read: () => {} })
    const ended = backup.receive(operator, name, broken)
    broken.push(archiveOf({}).subarray(0, 10))
    broken.destroy(new Error('gone'))
    assert.match(refusalIn(await ended)[1], /did not come whole/)
    assert.equal((await readdir(backups)).length, before)
  })

  await t.test('invalid file names are refused, and only regular files are found', async () => {
    for (const name of ['../x.tar.gz', '/etc/x.tar.gz', 'a\\b.tar.gz', 'a\0.tar.gz', '%2e%2e%2f.tar.gz', '․․.tar.gz']) {
      assert.equal(refusalIn(await backup.read(operator, name))[0], 'BAD_REQUEST', name)
      assert.equal(refusalIn(await backup.remove(operator, name))[0], 'BAD_REQUEST', name)
    }
    assert.equal(refusalIn(await backup.read(operator, `${'a'.repeat(300)}.tar.gz`))[0], 'BAD_REQUEST')
    assert.equal(refusalIn(await backup.read(operator, 'x.zip'))[0], 'BAD_REQUEST')
    await symlink('/etc/passwd', backupPath(one, 'link.tar.gz'))
    assert.equal(refusalIn(await backup.read(operator, 'link.tar.gz'))[0], 'NOT_FOUND')
    const listed = await backup.list(operator, { page: 1, limit: 100 })
    assert.ok('items' in listed)
    assert.ok(!listed.items.some(({ filename }) => filename === 'link.tar.gz'))
    assert.equal(await backup.remove(operator, crafted), undefined)
    assert.equal(refusalIn(await backup.remove(operator, crafted))[0], 'NOT_FOUND')
  })

  await t.test(
    'only the system user of the broker can read an export, and unknown parts are refused by name',
    async () => {
      const made = fileOf(await backup.export(operator, { tableSets: ['banned'], rootKeys: undefined }))
      const verified = await backup.verify(operator, made.filename)
      assert.ok('members' in verified)
      assert.deepEqual(
        verified.members.map(({ name }) => name),
        ['tables/bans.jsonl'],
      )
      assert.ok(readFileSync(backupPath(one, made.filename)).length > 0)
      assert.match(
        refusalIn(await backup.export(operator, { tableSets: ['x'], rootKeys: undefined }))[1],
        /Invalid table sets: "x"/,
      )
      assert.match(
        refusalIn(await backup.export(operator, { tableSets: undefined, rootKeys: ['y'] }))[1],
        /Invalid root keys: "y"/,
      )
    },
  )
})
