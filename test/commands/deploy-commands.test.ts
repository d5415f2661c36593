// `godwit deploy`: output, errors and exit codes.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { parseManifests } from '../../src/manifests/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'godwit-deploy-'))
after(() => rmSync(folder, { recursive: true }))

async function runDeploy(args: readonly string[], input = ''): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = new Terminal(
    { write: (text: string) => out.push(text) },
    { write: (text: string) => err.push(text) },
    Readable.from([Buffer.from(input)]),
  )
  const program = { version: '1', installation: { root: '/', isCheckout: true } }
  const code = await runProgram(['deploy', ...args], program, terminal)
  return { code, out: out.join(''), err: err.join('') }
}

const good =
  'apiVersion: apps.godwit.io/v1beta2\nkind: GodwitCluster\nmetadata: {name: plant}\nspec:\n  image: godwit:1\n  replicas: 1\n'
const bad = good.replace('replicas: 1', 'replicas: one')

function writeResourceFile(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

test('render prints YAML that can be read, and warnings on stderr', async () => {
  const { code, out, err } = await runDeploy(['render', '-', '--namespace', 'factory'], good)
  assert.equal(code, 0)
  const parsed = parseManifests(out)
  assert.equal('documents' in parsed ? parsed.documents.length : 0, 6)
  assert.match(out, /namespace: factory/)
  assert.match(err, /^warning: -:4: spec: there is no storage/)
})

test('render prints one list as JSON, with Secrets on request', async () => {
  const { out } = await runDeploy(['render', writeResourceFile('a.yaml', good), '-o', 'json', '--with-secrets'])
  const list = JSON.parse(out) as {
    kind: string
    items: { kind: string; metadata: { name: string }; data?: Record<string, string> }[]
  }
  assert.equal(list.kind, 'List')
  const admin = list.items.find(({ metadata }) => metadata.name === 'plant-admin')
  assert.equal(Buffer.from(admin?.data?.['username'] ?? '', 'base64').toString(), 'admin')
  assert.ok((admin?.data?.['password'] ?? '').length > 30)
  const operator = list.items.find(({ metadata }) => metadata.name === 'plant-operator')
  assert.deepEqual(Object.keys(operator?.data ?? {}), ['private-key.pem', 'public-key.pem'])
})

test('render prints nothing on stdout if one resource of several is invalid', async () => {
  const text = `${good}---\n${bad.replace('name: plant', 'name: other')}`
  const file = writeResourceFile('b.yaml', text)
  const { code, out, err } = await runDeploy(['render', file])
  assert.equal(code, 1)
  assert.equal(out, '')
  assert.ok(err.includes(`${file}:13: spec.replicas: "one" is not a whole number; write a whole number\n`))
})

test('validate prints one document for programs', async () => {
  const { code, out, err } = await runDeploy(['validate', '-', '--json'], bad)
  assert.equal(code, 1)
  assert.equal(err, '')
  const { file, isGood, faults, warnings } = JSON.parse(out) as {
    file: string
    isGood: boolean
    faults: unknown[]
    warnings: unknown[]
  }
  assert.deepEqual([file, isGood, warnings.length], ['-', false, 2])
  assert.deepEqual(faults, [
    { path: 'spec.replicas', line: 6, message: '"one" is not a whole number', hint: 'write a whole number' },
  ])
})

test('validate compares with the previous resource', async () => {
  const previous = writeResourceFile('c.yaml', `${good}  imagePullPolicy: Always\n`)
  const { code, err } = await runDeploy(['validate', '-', '--previous', previous], good)
  assert.equal(code, 1)
  assert.match(
    err,
    /^-:4: spec\.imagePullPolicy: imagePullPolicy does not change once it is set; restore the old value$/m,
  )
  assert.deepEqual((await runDeploy(['validate', previous, '--previous', '-'], good)).code, 0)
})

test('files that cannot be read, are too long or no UTF-8', async () => {
  const missing = await runDeploy(['validate', join(folder, 'missing.yaml')])
  assert.deepEqual([missing.code, missing.err.includes('missing.yaml')], [1, true])
  const long = await runDeploy(['validate', '-'], 'x'.repeat(7_000_000))
  assert.deepEqual([long.code, /the text is longer than 1572864 characters/.test(long.err)], [1, true])
  writeFileSync(join(folder, 'bytes.yaml'), Buffer.from([0xff, 0xfe, 0x41]))
  const bytes = await runDeploy(['validate', join(folder, 'bytes.yaml')])
  assert.deepEqual([bytes.code, /is not UTF-8/.test(bytes.err)], [1, true])
})

test('wrong usage', async () => {
  for (const args of [
    ['render'],
    ['render', '-', '-o', 'xml'],
    ['render', '-', '--namespace', 'A'],
    ['validate'],
    ['crd', '--all'],
    ['rendr', '-'],
  ])
    assert.equal((await runDeploy(args, good)).code, 2, args.join(' '))
})

test('crd prints the definitions', async () => {
  const own = await runDeploy(['crd'])
  assert.deepEqual(
    [...own.out.matchAll(/^ {2}name: (.*)$/gm)].map(([, name]) => name),
    ['godwitclusters.apps.godwit.io', 'godwitbackups.apps.godwit.io', 'godwitrestores.apps.godwit.io'],
  )
  const emqx = JSON.parse((await runDeploy(['crd', '--emqx', '-o', 'json'])).out) as {
    items: { metadata: { name: string } }[]
  }
  assert.deepEqual(
    emqx.items.map(({ metadata }) => metadata.name),
    ['emqxenterprises.apps.emqx.io'],
  )
})
