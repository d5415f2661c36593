// A token for tests, signed with the private key that belongs to the public key of `http_server.jwt.public.keyfile`.

import { readFile } from 'node:fs/promises'
import { signToken } from '../../../access/index.ts'
import type { CtlCall, CtlCommand, Outcome } from '../ctl-command.ts'
import { describeFileError } from '../../../telemetry/index.ts'

const defaultSeconds = 3_600
const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

export const tokenCommands: readonly CtlCommand[] = [
  {
    name: 'token',
    description: 'create a JSON Web Token for the management API, for tests',
    isLocal: true,
    options: [
      { flags: '--key <file>', description: 'private key in PEM: RSA, P-256 or Ed25519' },
      { flags: '--subject <name>', description: 'subject of the token (default: ctl)' },
      { flags: '--issuer <name>', description: 'issuer of the token, if the broker checks the issuer' },
      {
        flags: '--role <role>',
        description: 'role in the token: administrator, viewer or publisher; limited to a namespace: ns:<name>::viewer',
      },
      {
        flags: '--valid-for <span>',
        description: 'time until the token expires, such as 90s, 10m, 12h or 7d (default: 1h)',
      },
    ],
    run: mintToken,
  },
]

async function mintToken({ options }: CtlCall): Promise<Outcome> {
  const { key, subject = 'ctl', issuer, role, validFor } = options
  if (typeof key !== 'string') return { usage: '--key FILE is needed: the private key to sign with' }
  const [, digits, unit = ''] = /^(\d{1,9})([smhd])$/.exec(String(validFor ?? `${defaultSeconds}s`)) ?? []
  if (digits === undefined) return { usage: `--valid-for ${validFor}: give a span such as 90s, 10m, 12h or 7d` }
  let pem: string
  try {
    pem = await readFile(key, 'utf8')
  } catch (error) {
    return { problem: `${key}: ${describeFileError(error)}` }
  }
  const issuedAt = Math.floor(Date.now() / 1_000)
  const claims = { sub: String(subject), iat: issuedAt, exp: issuedAt + Number(digits) * (secondsPer[unit] ?? 1) }
  const named = {
    ...(issuer === undefined ? {} : { iss: String(issuer) }),
    ...(role === undefined ? {} : { role: String(role) }),
  }
  const signed = await signToken({ ...claims, ...named }, pem)
  return 'problem' in signed ? { problem: `${key}: ${signed.problem}` } : { text: signed.token }
}
