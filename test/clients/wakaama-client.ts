// Wakaama's LwM2M client (`examples/client` of Eclipse Wakaama, over UDP and over DTLS with tinydtls), built from the C sources in
// the npm package node-red-contrib-lwm2m. Debian has no package of it. The package is not a dependency of the project, because its
// installation compiles code and installs old libraries: its archive is fetched once, checked and stored in node_modules/.cache.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runProgram, type Scope, type WatchedProcess } from '../e2e/godwit-process.ts'

const run = promisify(execFile)
const source = {
  name: 'node-red-contrib-lwm2m-2.12.3',
  specifier: 'node-red-contrib-lwm2m@2.12.3',
  sha512: '3B8sePuwPJbGJ2+P5JHLRyuW2n8wAyLI/5NG9j+b+kT21MPNtIk0ExzY8hK4+QPtz+G62bpWhgxGFWvVQ0/n8A==',
}
const cache = fileURLToPath(new URL('../../node_modules/.cache/wakaama', import.meta.url))
const definitions = ['CLIENT_MODE', 'BOOTSTRAP', 'SUPPORT_JSON', 'LITTLE_ENDIAN'].map((one) => `-DLWM2M_${one}`)
const tinydtlsSources =
  'dtls crypto ccm hmac dtls_debug netq peer dtls_time session sha2/sha2 aes/rijndael ecc/ecc'.split(' ')
const objects = 'access_control connectivity_moni connectivity_stat device firmware location security server'.split(' ')
const core =
  'liblwm2m uri utils objects tlv data list packet transaction registration bootstrap management observe json discover block1'
const sources = [
  ...core.split(' ').map((name) => `core/${name}.c`),
  'core/er-coap-13/er-coap-13.c',
  ...['lwm2mclient', 'system_api', 'test_object', ...objects.map((name) => `object_${name}`)].map(
    (name) => `examples/client/${name}.c`,
  ),
  'examples/shared/commandline.c',
  'examples/shared/platform.c',
]

export type WakaamaTransport = 'udp' | 'dtls'

async function build(transport: WakaamaTransport, program: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'build-'))
  try {
    await run('npm', ['pack', '--silent', '--pack-destination', folder, source.specifier])
    const archive = join(folder, `${source.name}.tgz`)
    const hash = createHash('sha512')
      .update(await readFile(archive))
      .digest('base64')
    assert.equal(hash, source.sha512, `${source.specifier} is not the archive that was reviewed`)
    await run('tar', ['-xzf', archive, '-C', folder])
    const wakaama = join(folder, 'package/deps/wakatiwai/deps/wakaama')
    const tinydtls = 'examples/shared/tinydtls'
    const secure = [
      '-DWITH_TINYDTLS',
      '-DWITH_SHA256',
      `-I${tinydtls}`,
      '-I../tinydtls',
      'examples/shared/dtlsconnection.c',
      ...tinydtlsSources.map((name) => `${tinydtls}/${name}.c`),
    ]
    const includes = ['-Icore', '-Icore/er-coap-13', '-Iexamples/shared']
    const own = transport === 'dtls' ? secure : ['examples/shared/connection.c']
    const words = ['-w', '-O0', ...definitions, ...includes, ...sources, ...own, '-o', join(folder, 'client')]
    await run('gcc', words, { cwd: wakaama })
    await rename(join(folder, 'client'), program)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the path of the program. Builds it unless it is in the cache. */
async function programOf(transport: WakaamaTransport): Promise<string> {
  const program = join(cache, `lwm2mclient-${transport}-${source.sha512.slice(0, 8).replaceAll('/', '_')}`)
  const isBuilt = await access(program).then(
    () => true,
    () => false,
  )
  if (!isBuilt) await build(transport, program)
  return program
}

/** A device that registers. Its standard input takes commands, such as `change /3/0/9 77`. */
export async function startWakaama(
  t: Scope,
  transport: WakaamaTransport,
  ports: { readonly own: number; readonly server: number },
  words: readonly string[],
): Promise<WatchedProcess> {
  const program = await programOf(transport)
  return runProgram(t, program, [
    '-4',
    '-h',
    '127.0.0.1',
    '-l',
    String(ports.own),
    '-p',
    String(ports.server),
    ...words,
  ])
}
