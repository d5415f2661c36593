// The package as users get it: packed, installed into an empty project, started with each supported Node.

import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { versionsOf } from '../test-length.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

/** Frames of MQTT 3.1.1: a clean session `package-test`, a subscription to `news`, and a QoS 1 publication of `hello`. */
const frames = {
  connect: Buffer.from('\x10\x18\x00\x04MQTT\x04\x02\x00\x00\x00\x0cpackage-test', 'latin1'),
  connack: Buffer.from([0x20, 2, 0, 0]),
  subscribe: Buffer.from('\x82\x09\x00\x01\x00\x04news\x01', 'latin1'),
  suback: Buffer.from([0x90, 3, 0, 1, 1]),
  publish: Buffer.from('\x32\x0d\x00\x04news\x00\x02hello', 'latin1'),
  puback: Buffer.from([0x40, 2, 0, 2]),
  publication: Buffer.from('\x32\x0d\x00\x04news\x00\x01hello', 'latin1'),
}

const wrongPlugin = `/** @type {import('godwit/plugin').Plugin} */
export default () => ({ 'message.publish': () => ({ drop: true, reasonCode: 'high' }) })
`

/** A folder for temporary files on the file system of the checkout, if there is one: 600 MB of packages are linked there, and copied elsewhere. */
const places = [tmpdir(), '/tmp'].filter((place) => existsSync(place))
const linkable = places.find((place) => statSync(place).dev === statSync(checkout).dev) ?? tmpdir()
const packed = mkdtempSync(join(linkable, 'godwit-packed-'))
const copy = join(packed, 'copy')
let tarball = ''

before(async () => {
  await copyCheckout()
  await run('npm', ['pack', '--pack-destination', packed], { cwd: copy })
  tarball = join(packed, await tarballIn(packed))
})
after(() => rmSync(packed, { recursive: true, force: true }))

describe('the package', () => {
  const project = mkdtempSync(join(tmpdir(), 'godwit-package-'))
  const bin = join(project, 'node_modules', '.bin', 'godwit')

  before(async () => {
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'a-project', private: true, version: '1.0.0' }))
    await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', tarball], { cwd: project })
  })
  after(() => rmSync(project, { recursive: true, force: true }))

  for (const major of versionsOf(24, 26)) {
    test(`installs, starts, carries a message and stops on Node ${major}`, async () => {
      const node = await nodeOfMajor(major, project)
      const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
      assert.match((await run(node, [bin, '--version'])).stdout, new RegExp(version.replaceAll('.', '\\.')))

      const data = mkdtempSync(join(project, 'data-'))
      // Another process of the machine may use the default port of the API.
      const ports = ['--set', 'listeners.tcp.bind=127.0.0.1:0', '--set', 'http_server.port=0']
      const broker = spawn(node, [bin, 'start', '--data', data, ...ports], { cwd: project })
      try {
        const socket = connect({ host: '127.0.0.1', port: await reportedPort(broker) })
        await exchange(socket, frames.connect, [frames.connack])
        await exchange(socket, frames.subscribe, [frames.suback])
        await exchange(socket, frames.publish, [frames.puback, frames.publication])
        socket.destroy()
        broker.kill('SIGTERM')
        assert.deepEqual(await ended(broker), { code: 0, signal: null })
      } finally {
        broker.kill('SIGKILL')
      }
    })
  }

  test('has the file name that README.md installs', () => {
    const readme = readFileSync(join(checkout, 'README.md'), 'utf8')
    assert.ok(readme.includes(`npm install --global ./${basename(tarball)} `), tarball)
  })

  test('contains built sources, documents, deployment files and examples, and no tests', async () => {
    const { stdout } = await run(
      'find',
      ['node_modules/godwit', '-type', 'f', '-not', '-path', '*/node_modules/godwit/node_modules/*'],
      { cwd: project },
    )
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace('node_modules/godwit/', ''))
    const places = new Set(files.map((path) => path.split('/')[0]))
    assert.deepEqual([...places].toSorted(), [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'THIRD-PARTY-LICENSES',
      'bin',
      'deploy',
      'dist',
      'docs',
      'etc',
      'examples',
      'man',
      'package.json',
      'sbom.cdx.json',
    ])
    assert.deepEqual(
      files.filter((path) => path.endsWith('.ts')),
      ['dist/plugin.d.ts'],
    )
  })

  test('has the types of plugins as `godwit/plugin`, and the example plugins have these types', async () => {
    writeFileSync(join(project, 'wrong.js'), wrongPlugin)
    const compiler = join(checkout, 'node_modules', '.bin', 'tsc')
    const checked = ['--noEmit', '--allowJs', '--checkJs', '--strict', '--noImplicitAny', 'false']
    const platform = ['--module', 'nodenext', '--types', 'node', '--typeRoots', join(checkout, 'node_modules/@types')]
    const check = (path: string): Promise<unknown> => run(compiler, [...checked, ...platform, path], { cwd: project })
    for (const name of ['company-login', 'geoip', 'payload-check'])
      await check(`node_modules/godwit/examples/plugins/${name}/index.js`)
    await assert.rejects(check('wrong.js'), { stdout: /reasonCode.* are incompatible/ })
  })
})

describe('the SBOM and the license texts of the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-release-'))
  const inTarball = (name: string): string => readFileSync(join(folder, 'package', name), 'utf8')

  before(async () => {
    await run('tar', ['-xzf', tarball, '-C', folder])
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('the SBOM has every runtime dependency of package-lock.json and nothing else, each with a licence that is allowed', () => {
    const sbom = JSON.parse(inTarball('sbom.cdx.json')) as {
      bomFormat: string
      components: { name: string; version: string; licenses: { license: { id: string } }[]; hashes: unknown[] }[]
    }
    assert.equal(sbom.bomFormat, 'CycloneDX')
    const allowed = new Set(['Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'])
    for (const { name, licenses, hashes } of sbom.components) {
      assert.deepEqual(
        licenses.map(({ license }) => allowed.has(license.id)),
        [true],
        `the licence of ${name}`,
      )
      assert.ok(hashes.length > 0, `the hash of ${name}`)
    }
    assert.deepEqual(sbom.components.map(({ name, version }) => `${name}@${version}`).toSorted(), runtimePackages())
  })

  test('the licence texts are those of the same packages, each once', () => {
    const text = inTarball('THIRD-PARTY-LICENSES')
    const titles = [...text.matchAll(/^(\S+@\d\S*) \(([\w.-]+)\)\n=+\n\n([^\n]+)/gm)]
    assert.deepEqual(titles.map(([, name]) => name).toSorted(), runtimePackages())
    for (const source of ['leveldb-1.20/LICENSE', 'snappy/COPYING']) assert.ok(text.includes(source), source)
    const sections = text.split(/^\S+@\d\S* \([\w.-]+\)\n=+$/m).slice(1)
    for (const [index, section] of sections.entries()) {
      assert.match(section, /permission|redistribut|Apache License/i, `the text of ${titles[index]?.[1]}`)
    }
  })

  test('are the same bytes when they are created again', async () => {
    await run('npm', ['run', 'release:sbom'], { cwd: copy })
    for (const name of ['sbom.cdx.json', 'THIRD-PARTY-LICENSES']) {
      assert.equal(readFileSync(join(copy, name), 'utf8'), inTarball(name))
      for (const place of [checkout, packed])
        assert.ok(!inTarball(name).includes(place), 'the file contains a path of this machine')
    }
    assert.doesNotMatch(inTarball('sbom.cdx.json'), /timestamp/)
  })
})

/**
 * `npm pack` builds `dist/` again, from which the brokers of other tests run at the same time: so it packs a copy. Packages are linked:
 * a symbolic link to their folder would put the path of the checkout into the build.
 */
async function copyCheckout(): Promise<void> {
  const left = new Set(['.git', 'dist', 'node_modules'])
  const copied = readdirSync(checkout).filter((name) => !left.has(name))
  await mkdir(join(copy, 'node_modules'), { recursive: true })
  await run('cp', ['-a', ...copied.map((name) => join(checkout, name)), copy])
  const packages = readdirSync(join(checkout, 'node_modules')).filter((name) => name !== '.cache')
  const places = packages.map((name) => join(checkout, 'node_modules', name))
  // There are no links from one file system to another.
  const isLinkable = statSync(checkout).dev === statSync(copy).dev
  await run('cp', [isLinkable ? '-al' : '-a', ...places, join(copy, 'node_modules')])
}

/** Packages of package-lock.json that are neither development nor peer dependencies. */
function runtimePackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean; peer?: boolean }>
  }
  const bundled = new Set(['@preact/signals', '@preact/signals-core', 'preact', 'uplot'])
  const names = Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, peer }]) =>
        bundled.has(path.replace('node_modules/', '')) ||
        (path !== '' && dev !== true && devOptional !== true && peer !== true),
    )
    .map(
      ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
    )
  return [...new Set(names)].toSorted()
}

async function tarballIn(folder: string): Promise<string> {
  const { stdout } = await run('ls', [folder])
  const tarball = stdout.split('\n').find((name) => name.endsWith('.tgz'))
  assert.ok(tarball !== undefined, 'npm pack left a tarball')
  return tarball
}

/** The Node that runs this test, or the one that npm has for this platform. */
async function nodeOfMajor(major: number, project: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const folder = mkdtempSync(join(project, `node-${major}-`))
  const platform = `node-${process.platform}-${process.arch}`
  // Takes two thirds of the time of an installation.
  await run('npm', ['pack', `${platform}@${major}`], { cwd: folder })
  await run('tar', ['-xzf', await tarballIn(folder), 'package/bin/node'], { cwd: folder })
  return join(folder, 'package', 'bin', 'node')
}

/** Returns the MQTT port that the broker prints when it starts. */
function reportedPort(broker: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const listen = (chunk: Buffer): void => {
      output += chunk.toString()
      const port = /mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]
      if (port !== undefined && port !== '0') resolve(Number(port))
    }
    broker.stdout?.on('data', listen)
    broker.stderr?.on('data', listen)
    broker.on('exit', (code) => reject(new Error(`godwit ended with ${code} before it listened: ${output}`)))
  })
}

/** Sends a packet and waits for the bytes of all responses, in any order. */
function exchange(socket: Socket, request: Buffer, responses: readonly Buffer[]): Promise<void> {
  const expected = responses.reduce((sum, response) => sum + response.length, 0)
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const take = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk])
      if (received.length < expected) return
      socket.off('data', take)
      const missing = responses.find((response) => !received.includes(response))
      if (received.length === expected && missing === undefined) resolve()
      else
        reject(
          new Error(
            `got ${received.toString('hex')}, not ${responses.map((response) => response.toString('hex')).join(' and ')}`,
          ),
        )
    }
    socket.on('data', take).on('error', reject)
    socket.write(request)
  })
}

function ended(broker: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    if (broker.exitCode !== null) resolve({ code: broker.exitCode, signal: broker.signalCode })
    else broker.on('exit', (code, signal) => resolve({ code, signal }))
  })
}
