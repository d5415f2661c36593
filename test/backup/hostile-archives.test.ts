import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { InvalidArchive } from '../../src/archives/index.ts'
import { archiveOf, check, type Crafted, folder, tarOf } from './crafted.ts'

const rule = '{"about":"all","who":"","topic":"a/#","action":"pubsub","permit":"deny","createdAtMs":1}\n'
const inFolder = (name: string): string => `${folder}/${name}`
const packed = (...entries: Crafted[]): Buffer => gzipSync(tarOf(entries))

async function refused(archive: Buffer, why: RegExp, name?: string): Promise<void> {
  await assert.rejects(check(archive, name), (error) => {
    assert.ok(error instanceof InvalidArchive, String(error))
    assert.match(error.message, why)
    assert.doesNotMatch(error.message, /[\n\0]/, 'a sentence on one line')
    return true
  })
}

test('a valid archive with folders is accepted', async () => {
  const checked = await check(archiveOf({ 'cluster.hocon': '{}', 'tables/rules.jsonl': rule, 'files/0-a.pem': 'x' }))
  assert.equal(checked.counts.get('rules'), 1)
  assert.equal(checked.configuration, '{}')
  await check(packed({ name: `${folder}/`, kind: '5' }, { name: inFolder('cluster.hocon'), content: '{}' }))
})

test('an archive whose file name was changed is refused', () =>
  refused(archiveOf({}), /give the file its original name/, 'other'))

test('member names with paths outside of the archive are refused', async () => {
  for (const name of ['../evil', `${folder}/../../evil`, '/etc/passwd', `${folder}//x`, `${folder}/./x`]) {
    await refused(packed({ name, content: 'x' }), /not a safe name/)
  }
  for (const name of [`${folder}/a\\b`, `${folder}/a\u0007b`]) {
    await refused(packed({ name, content: 'x' }), /not a safe name/)
  }
  await refused(packed({ name: 'elsewhere/x', content: 'x' }), /not all in the folder/)
  await refused(packed({ name: inFolder('files/deep/er'), content: 'x' }), /is in a subfolder of files\//)
})

test('links, devices, pipes, sparse files, and headers for other members are refused', async () => {
  for (const [kind, why] of [
    ['1', /a hard link/],
    ['2', /a symbolic link/],
    ['3', /a device/],
    ['4', /a device/],
    ['6', /a pipe/],
    ['S', /holes/],
    ['g', /a header for all/],
    ['L', /a long name/],
    ['K', /a long link name/],
    ['Z', /an unknown type/],
  ] as const) {
    await refused(packed({ name: inFolder('cluster.hocon'), kind, link: '/etc/passwd' }), why)
  }
})

/** Each record, preceded by its length. */
function pax(...records: string[]): Crafted {
  const written = records.map((record) => {
    const plain = ` ${record}\n`
    const length = [1, 2, 3, 4]
      .map((digits) => plain.length + digits)
      .find((all) => `${all}`.length + plain.length === all)
    return `${length}${plain}`
  })
  return { name: 'PaxHeaders/x', kind: 'x', content: written.join('') }
}

test('only the name is read from an extended header', async () => {
  const file = { name: inFolder('short'), content: '{}' }
  const checked = await check(packed(pax('mtime=1767000000.5', `path=${folder}/cluster.hocon`, 'SCHILY.dev=1'), file))
  assert.equal(checked.configuration, '{}')
  await refused(packed(pax(`path=${folder}/../../evil`), file), /not a safe name/)
  await refused(packed(pax('path=elsewhere/x'), file), /not all in the folder/)
  for (const record of ['size=5', 'linkpath=/etc/passwd', 'GNU.sparse.map=1', 'hdrcharset=x', ''])
    await refused(packed(pax(record), file), /which is not supported/)
  for (const content of ['99 path=x\n', '9 path=x', 'path=x\n', '0 path=x\n', '-8 path=x\n'])
    await refused(packed({ name: 'x', kind: 'x', content }, file), /extended header is malformed/)
  await refused(packed(pax('mtime=1'), pax('mtime=1'), file), /follows another extended header/)
  await refused(packed(pax('mtime=1')), /truncated after an extended header/)
  await refused(packed(pax(`path=${folder}/a`), file, pax(`path=${folder}/a`), file), /occurs twice in it/)
})

test('an extended header with a length of ten gigabytes is refused before it is read', () =>
  refused(packed({ name: inFolder('x'), kind: 'x', bytes: 10_000_000_000 }), /extended header has 10000000000 bytes/))

test('duplicate members are refused', () =>
  refused(
    packed({ name: inFolder('cluster.hocon'), content: '{}' }, { name: inFolder('cluster.hocon'), content: '{}' }),
    /twice/,
  ))

test('more members than an archive can have are refused', () =>
  refused(
    packed(...Array.from({ length: 2_100 }, (_, number) => ({ name: inFolder(`x${number}`) }))),
    /more than 2000/,
  ))

test('wrong sizes are refused', async () => {
  await refused(packed({ name: inFolder('files/a'), content: 'x', bytes: 5_000 }), /truncated/)
  await refused(packed({ name: inFolder('files/a'), content: 'x'.repeat(2_000), bytes: 100 }), /damaged|truncated/)
  await refused(packed({ name: inFolder('META.hocon'), bytes: 8_000_000 }), /; maximum 1048576/)
  await refused(packed({ name: inFolder('cluster.hocon'), bytes: 8_000_000 }), /; maximum 1048576/)
  await refused(packed({ name: inFolder('files/a'), bytes: 8_000_000 }), /; maximum 1048576/)
})

test('an archive of endless zeros is refused at the first line that is too long, and after the last member', async () => {
  const zeros = Buffer.alloc(20_000_000)
  await refused(packed({ name: inFolder('tables/rules.jsonl'), content: zeros }), /line 1 is longer/)
  await refused(gzipSync(Buffer.concat([tarOf([]), zeros])), /data follows its last member/)
})

test('an archive that is truncated anywhere is refused', async () => {
  const whole = archiveOf({ 'tables/rules.jsonl': rule.repeat(50), 'cluster.hocon': '{}' })
  for (let bytes = 0; bytes < whole.length; bytes += 37) await refused(whole.subarray(0, bytes), /truncated|not a gzip/)
})

test('bytes after the end are refused', async () => {
  const whole = archiveOf({ 'cluster.hocon': '{}' })
  await refused(Buffer.concat([whole, Buffer.from('something else')]), /data follows|not a gzip/)
  await refused(
    Buffer.concat([whole, archiveOf({ 'cluster.hocon': '{}' })]),
    /data follows the end of the archive|data follows its last member/,
  )
})

test('a file that is not an archive is refused', async () => {
  await refused(Buffer.from('PK\u0003\u0004 not gzip'), /not a gzip file/)
  await refused(gzipSync('{"version":"4.4"}'.padEnd(2_000)), /not a tar archive/)
  await refused(Buffer.from('{"version":"4.4"}'), /ctl data convert/)
})

test('a changed, added or removed member is detected', async () => {
  const sum = { name: 'tables/rules.jsonl', bytes: rule.length, sha256: '0'.repeat(64) }
  await refused(archiveOf({ 'tables/rules.jsonl': rule }, { members: [sum] }), /SHA-256/)
  await refused(archiveOf({ 'tables/rules.jsonl': rule }, { members: [] }), /is not listed in META/)
  await refused(archiveOf({}, { members: [sum] }), /is missing/)
  await refused(archiveOf({ 'tables/rules.jsonl': rule }, { counts: { rules: 2 } }), /1 records/)
  await refused(archiveOf({ 'tables/strange.jsonl': rule }), /is not a member of an archive/)
})

test('an invalid META.hocon is refused', async () => {
  await refused(packed({ name: inFolder('META.hocon'), content: '{{{' }), /META.hocon cannot be read/)
  await refused(
    packed({ name: inFolder('META.hocon'), content: 'security_profile = open' }),
    /only hardened and legacy/,
  )
  await refused(packed({ name: inFolder('META.hocon'), content: 'format = [1]' }), /format is not a number/)
})

test('each record is checked, and the error has its line but not its content', async () => {
  for (const [table, line, why] of [
    ['rules', rule.replace('a/#', 'a#'), /rules.jsonl, line 1: topic is not valid in a rule/],
    ['rules', rule.replace('"all"', '"some"'), /about is invalid: it must be one of/],
    ['rules', '{"secret":"hunter2"\n', /is not valid JSON/],
    ['rules', rule.replace('{', '{"extra":1,'), /has the unknown field "extra"/],
    ['retained-messages', '{"topic":"a/+"}\n', /payload is missing/],
    ['bans', '{"as":"peerhost","who":"nowhere","reason":"","by":"","atMs":1}\n', /not an address/],
    ['pre-shared-keys', '{"identity":"a","key":"!!"}\n', /key is not valid base64/],
    ['accounts', accountWith({ memory: 2_000_000 }), /memory is not a whole number/],
    ['accounts', accountWith({ passes: 0 }), /cost parameters that are invalid for argon2id/],
    ['accounts', accountWith({ algorithm: 'sha256' }), /password is not a SHA-256 hash/],
    [
      'scram-users',
      '{"username":"a","algorithm":"SCRAM-SHA-256","salt":"AAAA","iterations":4096,"storedKey":"AAAA","serverKey":"AAAA","isSuperuser":false,"createdAtMs":1}\n',
      /not a SCRAM-SHA-256 key/,
    ],
    ['accounts', accountWith({}).replace('viewer', 'publisher'), /role is invalid: it must be one of/],
    ['accounts', accountWith({}).replace('"a"', JSON.stringify('a'.repeat(1_025))), /name is longer/],
    ['accounts', accountWith({}).replace('{', '{"namespace":"../x",'), /namespace is not a valid namespace name/],
    ['rules', rule.replace('{', '{"namespace":"a b",'), /namespace is not a valid namespace name/],
    ['bans', '{"as":"clientid","who":"plant\\u0000c","reason":"","by":"","atMs":1}\n', /who contains U\+0000/],
    ['pre-shared-keys', '{"identity":"a","key":"AAAA"}\n', /key is shorter/],
    ['namespaces', '{"name":"..","createdAtMs":1}\n', /name is not a valid namespace name/],
    ['namespaces', '{"name":"a","createdAtMs":1,"limits":{"clients":0}}\n', /clients is not a whole number/],
  ] as const) {
    await refused(archiveOf({ [`tables/${table}.jsonl`]: line }), why)
  }
  await assert.rejects(check(archiveOf({ 'tables/rules.jsonl': '{"secret":"hunter2"\n' })), (error) => {
    assert.doesNotMatch(String(error), /hunter2/)
    return true
  })
})

function accountWith(cost: object): string {
  const sure = { algorithm: 'argon2id', memory: 19_456, passes: 2, lanes: 1, salt: 'AAAAAAAAAAAAAAAA', hash: 'AAAA' }
  const account = { name: 'a', description: '', role: 'viewer', password: { ...sure, ...cost }, createdAtMs: 1 }
  return `${JSON.stringify(account)}\n`
}
