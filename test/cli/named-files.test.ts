// Each file that the configuration names, missing, empty, a directory, garbage, and not readable: the start is refused with an error that names the
// setting and the reason, and no state of a file gives more access than the whole file.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { checkConfig } from '../../src/cli/config-commands.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const authority = new Authority('The test authority')
const { certificate, key } = authority.issue('broker', { hostNames: ['broker'] })
const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** What is right. */
const contents: Readonly<Record<string, string>> = {
  'cert.pem': certificate,
  'key.pem': key,
  'ca.pem': authority.certificate,
  'crl.pem': authority.revoke(),
  'psk.txt': 'device:00112233445566778899aabbccddeeff\n',
  'acl.conf': '{deny, all}.\n',
  'public.pem': publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  'jwks.json': JSON.stringify({
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'RS256', use: 'sig' }],
  }),
  'users.conf': 'anna = "a password"\n',
  'rules.conf': 'rules = [{permit = deny, topics = ["#"]}]\n',
}

const pair = 'certfile = "{}/cert.pem", keyfile = "{}/key.pem"'
const withAuthority = `${pair}, cacertfile = "{}/ca.pem"`

/** Configuration, in which `{}` is the folder, and the setting that each of its files has in errors. */
const users: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  'listeners.ssl': [
    `listeners.ssl { bind = 8883, ${withAuthority}, crlfile = "{}/crl.pem", verify_peer = true, psk_file = "{}/psk.txt" }`,
    {
      'cert.pem': 'certfile',
      'key.pem': 'keyfile',
      'ca.pem': 'cacertfile',
      'crl.pem': 'crlfile',
      'psk.txt': 'psk_file',
    },
  ],
  'listeners.wss': [
    `listeners.wss { bind = 8084, ${withAuthority}, verify_peer = true }`,
    { 'cert.pem': 'certfile', 'key.pem': 'keyfile', 'ca.pem': 'cacertfile' },
  ],
  'listeners.quic': [`listeners.quic { bind = 14567, ${pair} }`, { 'cert.pem': 'certfile', 'key.pem': 'keyfile' }],
  'gateway.coap.listeners.dtls.default.dtls_options': [
    `gateway.coap.listeners.dtls.default { bind = 5684, dtls_options { ${withAuthority}, verify = verify_peer, psk_file = "{}/psk.txt" } }`,
    { 'cert.pem': 'certfile', 'key.pem': 'keyfile', 'ca.pem': 'cacertfile', 'psk.txt': 'psk_file' },
  ],
  'gateway.stomp.listeners.ssl.default': [
    `gateway.stomp.listeners.ssl.default { bind = 61614, ${pair} }`,
    { 'cert.pem': 'certfile', 'key.pem': 'keyfile' },
  ],
  'connectors.http.c.ssl': [
    `connectors.http.c { url = "https://broker/", ssl { enable = true, ${withAuthority} } }`,
    { 'cert.pem': 'certfile', 'key.pem': 'keyfile', 'ca.pem': 'cacertfile' },
  ],
  'auth.acl': ['auth.acl.file = "{}/acl.conf"', { 'acl.conf': 'file' }],
  'auth.jwt': ['auth.jwt.public_key_file = "{}/public.pem"', { 'public.pem': 'public_key_file' }],
  'auth.jwt (set)': ['auth.jwt.jwks_file = "{}/jwks.json"', { 'jwks.json': 'jwks_file' }],
  'http_server.jwt': [
    'http_server { auth_type = jwt, jwt.public.keyfile = "{}/public.pem" }',
    { 'public.pem': 'keyfile' },
  ],
  'auth.password': ['auth.password { include "users.conf" }', { 'users.conf': '' }],
  'auth.acl (included)': ['auth.acl { include "rules.conf" }', { 'rules.conf': '' }],
  'auth.acl (required)': ['auth.acl { include required(file("rules.conf")) }', { 'rules.conf': '' }],
}

const states: Readonly<Record<string, (file: string) => Promise<unknown>>> = {
  missing: (file) => rm(file),
  empty: (file) => writeFile(file, ''),
  'blank lines': (file) => writeFile(file, ' \n\n'),
  'a directory': (file) => rm(file).then(() => mkdir(file)),
  garbage: (file) => writeFile(file, Buffer.from([0, 255, 123, 91, 40, 34])),
  // Root reads every file: for root a directory is there in its place.
  unreadable: (file) => (process.getuid?.() === 0 ? rm(file).then(() => mkdir(file)) : chmod(file, 0)),
}

async function check(t: TestContext, text: string, spoil: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = await temporaryFolder(t)
  await Promise.all(Object.entries(contents).map(([name, content]) => writeFile(join(folder, name), content)))
  const file = join(folder, 'godwit.conf')
  await writeFile(file, text.replaceAll('{}', folder))
  await spoil(folder)
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (part: string) => (written.output += part) },
    { write: (part: string) => (written.errors += part) },
  )
  const code = await checkConfig({ file, environment: {}, asJson: false }, terminal)
  assert.equal(code === 0, written.errors === '', written.errors)
  return written.errors
}

for (const [user, [text, files]] of Object.entries(users)) {
  const section = user.replace(/ .*/, '')
  test(`[bad-input 27] ${user}: a file that is ${Object.keys(states).join(', ')} is an error with its setting`, async (t) => {
    assert.equal(await check(t, text, async () => {}), '', 'as it should be')
    for (const [file, setting] of Object.entries(files)) {
      for (const [state, spoil] of Object.entries(states)) {
        const errors = await check(t, text, (folder) => spoil(join(folder, file)))
        const where = `${user}: ${file} is ${state}`
        // Its keys may all be stored over the API. No client has a key from it, and an alarm says so: test/transports/tls-psk.test.ts.
        if (setting === 'psk_file' && /^(empty|blank lines)$/.test(state)) {
          assert.equal(errors, '', where)
          continue
        }
        assert.ok(
          errors.includes(setting === '' ? file : `${section}.${setting}: `) || errors.includes(`.${setting}: `),
          `${where}: ${errors}`,
        )
        assert.match(
          errors,
          /there is no such file|may not read it|permission|is (?:a directory|not a file)|empty|contains no|no identity|neither|not UTF-8|it is not/,
          where,
        )
        assert.equal(errors.trim().split('\n').length, 1, `${where}: one line, and no stack: ${errors}`)
      }
    }
  })
}
