// Archives that EMQX 5 wrote, and edited archives of Godwit: the answer is true and names what was left out, and nothing is opened.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { archiveOf, folder as ownFolder, tarOf } from '../../backup/crafted.ts'
import { type NodeInTest, operator, startInTest } from './nodes.ts'

const foreignFolder = 'emqx-export-2025-03-04-05-06-07.089'
/** The external term format of Erlang: version 131, a small tuple. */
const erlangTerms = Buffer.from([131, 104, 2, 100, 0, 4, 98, 97, 99, 107, 97, 0])
const openConfiguration = 'auth.allow_anonymous = true\nauth.no_match = allow\nlisteners.tcp.open.bind = "0.0.0.0:0"\n'
const authorization = 'authorization { no_match = deny, sources = [{ type = built_in_database, enable = true }] }\n'
const tables = ['emqx_acl', 'emqx_authn_mnesia', 'emqx_banned', 'emqx_app', 'emqx_psk']

/** The layout of `emqx ctl data export`: https://github.com/emqx/emqx, apps/emqx_management/src/emqx_mgmt_data_backup.erl. */
function foreignArchive(members: Readonly<Record<string, string | Buffer>>): Buffer {
  return gzipSync(
    tarOf(Object.entries(members).map(([name, content]) => ({ name: `${foreignFolder}/${name}`, content }))),
  )
}

const metaOf = (version: string, edition: string): string => `version = "${version}"\nedition = ${edition}\n`
const ofVersion = (version: string): Record<string, string> => ({ 'META.hocon': metaOf(version, 'ce') })
const mnesia = (names: readonly string[]): Record<string, Buffer> =>
  Object.fromEntries(names.map((name) => [`mnesia/${name}`, erlangTerms]))

async function put({ folder }: NodeInTest, name: string, content: Buffer): Promise<void> {
  await mkdir(join(folder, 'backup'), { recursive: true })
  await writeFile(join(folder, 'backup', name), content)
}

/** The refusal of an import, with each option that allows more. Nothing may have changed. */
async function refusalOf(one: NodeInTest, content: Buffer, folder = foreignFolder): Promise<string> {
  const filename = `${folder}.tar.gz`
  await put(one, filename, content)
  const before = JSON.stringify(await everythingOf(one))
  const verified = await one.node.backup.verify(operator, filename)
  assert.ok('symbol' in verified, 'a verification says the same')
  const messages: string[] = []
  for (const isDryRun of [true, false]) {
    const request = { filename, isDryRun, allowsProfileMismatch: true, parts: undefined }
    const outcome = await one.node.backup.import(operator, request)
    assert.ok('symbol' in outcome, JSON.stringify(outcome))
    messages.push(outcome.message)
  }
  assert.equal(JSON.stringify(await everythingOf(one)), before, 'nothing has changed')
  const [message = ''] = messages
  assert.deepEqual([...messages, verified.message], [message, message, message])
  return message
}

/** What an archive would contain now. */
async function everythingOf({ node }: NodeInTest): Promise<unknown> {
  const made = await node.backup.export(operator, { tableSets: undefined, rootKeys: undefined })
  assert.ok('filename' in made, JSON.stringify(made))
  const verified = await node.backup.verify(operator, made.filename)
  assert.ok('members' in verified, JSON.stringify(verified))
  return verified.members
}

test('archives of EMQX 5 and edited archives', async (t) => {
  const one = await startInTest(t)

  await t.test('an archive of EMQX 5 is refused, and each part that was left out is named', async () => {
    for (const [version, edition] of [
      ['5.0.26', 'ce'],
      ['5.8.6', 'ce'],
      ['5.8.6', 'ee'],
      ['5.10.0', 'ee'],
      ['6.0.1', 'ee'],
    ] as const) {
      const members = { 'META.hocon': metaOf(version, edition), 'cluster.hocon': authorization, ...mnesia(tables) }
      const message = await refusalOf(one, foreignArchive(members))
      assert.match(message, new RegExp(`written by EMQX, version "${version}".*Nothing was imported`))
      for (const part of [...tables, 'access rules', 'passwords of clients', 'bans', 'API keys', 'cluster.hocon'])
        assert.ok(message.includes(part), `${part}: ${message}`)
    }
  })

  await t.test(
    'its configuration is not imported without its tables, not even where Godwit knows each setting',
    async () => {
      for (const meta of [{}, ofVersion('0.1.0'), ofVersion('5.8.6')] satisfies Record<string, string>[]) {
        const members = { ...meta, 'cluster.hocon': openConfiguration, ...mnesia(['emqx_banned', 'emqx_acl']) }
        assert.match(await refusalOf(one, foreignArchive(members)), /bans \(emqx_banned\), access rules \(emqx_acl\)/)
      }
    },
  )

  await t.test('an archive with only a configuration is refused by its version, with what to do', async () => {
    const ofOpenSource = { 'META.hocon': metaOf('5.8.6', 'ce'), 'cluster.hocon': openConfiguration }
    assert.match(await refusalOf(one, foreignArchive(ofOpenSource)), /nothing was imported: check its cluster\.hocon/)
    const ofEnterprise = { 'META.hocon': metaOf('5.10.0', 'ee'), 'cluster.hocon': openConfiguration }
    assert.match(await refusalOf(one, foreignArchive(ofEnterprise)), /enterprise edition/)
  })

  await t.test('an archive of a namespace of EMQX 6 is refused', async () => {
    const members = { 'META.hocon': metaOf('6.1.0', 'ee'), 'ns/plant/cluster.hocon': 'rule_engine.rules {}\n' }
    assert.match(await refusalOf(one, foreignArchive(members)), /enterprise edition/)
    const withTables = { ...members, ...mnesia(['emqx_acl_ns', 'emqx_authn_mnesia_ns']) }
    assert.match(await refusalOf(one, foreignArchive(withTables)), /access rules \(emqx_acl_ns\), passwords of clients/)
  })

  await t.test('a name with control characters is refused, and of many names only the first are shown', async () => {
    const strange = await refusalOf(one, foreignArchive(mnesia(['emqx\u001b[31m'])))
    assert.ok(!strange.includes('\u001b'), 'no control characters')
    const names = Array.from({ length: 60 }, (_, number) => `t${number}`)
    const message = await refusalOf(one, foreignArchive({ 'META.hocon': metaOf('5.8.6', 'ce'), ...mnesia(names) }))
    assert.match(message, /, 40 more\. /)
  })

  await t.test('an archive of Godwit that was edited is refused: changed, added and removed members', async () => {
    const made = archiveOf({ 'cluster.hocon': 'mqtt.max_packet_size = 2MB\n' })
    const edited = gunzipSync(made)
    const from = Buffer.from('max_packet_size = 2MB')
    edited.set(Buffer.from('max_packet_size = 9MB'), edited.indexOf(from))
    assert.match(await refusalOf(one, gzipSync(edited), ownFolder), /"cluster\.hocon" was changed after the export/)

    const withoutEnd = gunzipSync(made).subarray(0, -1_024)
    const added = tarOf([{ name: `${ownFolder}/mnesia/emqx_acl`, content: erlangTerms }])
    const longer = gzipSync(Buffer.concat([withoutEnd, added]))
    assert.match(await refusalOf(one, longer, ownFolder), /"mnesia\/emqx_acl" is not listed in META\.hocon/)

    const removed = archiveOf({}, { members: [{ name: 'tables/bans.jsonl', bytes: 1, sha256: '0'.repeat(64) }] })
    assert.match(await refusalOf(one, removed, ownFolder), /"tables\/bans\.jsonl" is missing/)
  })

  await t.test('an archive of Godwit whose META.hocon calls it another product is not imported', async () => {
    const members = { 'cluster.hocon': openConfiguration }
    assert.match(await refusalOf(one, archiveOf(members, { product: 'other' }), ownFolder), /too old/)
  })
})
