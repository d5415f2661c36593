// Effects of an import that might be unexpected, reported before it.

import type { Profile } from '../../backup/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import { isWellKnownPassword } from '../admins/well-known-passwords.ts'

export interface ConfigurationChange {
  readonly key: string
  /** undefined: the default. Secrets are masked. */
  readonly old: string | undefined
  readonly new: string | undefined
  readonly needsRestart: boolean
}

export interface ConfigurationPreview {
  /** The current one. */
  readonly before: GodwitConfig
  /** The one after the import. */
  readonly after: GodwitConfig
  readonly archiveProfile: Profile
  readonly credentials: number
}

/** A sentence each. */
export function previewChanges(preview: ConfigurationPreview): readonly string[] {
  return [
    ...describeUnopenedListeners(preview),
    ...describeAuthentication(preview),
    ...describeOwnAccount(preview),
    ...describeNamespaces(preview),
  ]
}

function* describeUnopenedListeners({ after, archiveProfile }: ConfigurationPreview): Generator<string> {
  const { securityProfile, defaultListenerAddress } = after.node
  if (archiveProfile === securityProfile || defaultListenerAddress !== undefined) return
  const who = securityProfile === 'hardened' ? 'from this machine only' : 'from everywhere'
  for (const { kind, name, host } of after.listeners) {
    if (host === undefined) {
      yield `listeners.${kind}.${name} is given as a port only: with the profile ${securityProfile} it can be reached ${who}; name an address, or set node.default_listener_address`
    }
  }
}

function* describeAuthentication({
  before,
  after,
  archiveProfile,
  credentials,
}: ConfigurationPreview): Generator<string> {
  const isHardened = after.node.securityProfile === 'hardened'
  if (
    isHardened &&
    after.auth.chain !== undefined &&
    after.auth.chain.filter((name) => isOn(after, name)).length === 0
  ) {
    yield 'auth.chain is empty, or all of it is switched off: with the profile hardened every client is denied'
  }
  if (isHardened && archiveProfile === 'legacy' && after.auth.http !== undefined) {
    yield 'auth.http_auth: while the service fails clients are denied; the profile legacy of the archive passes over a service that fails'
  }
  if (isHardened && archiveProfile === 'legacy' && after.auth.allowAnonymous === undefined) {
    yield 'auth.allow_anonymous is not set: clients without a known name are accepted on loopback only'
  }
  const [old, now] = [describeHashing(before), describeHashing(after)]
  if (old !== now) {
    const stored =
      credentials > 0 ? 'those in the archive and those that are stored keep' : 'those that are stored keep'
    yield `auth.password_hash and auth.salt_position change from ${old} to ${now}: ${stored} the manner in which they were made, new ones get the new one; credentials that other programs make with the old manner do not work`
  }
}

/** Returns whether an authenticator of this name in a chain can accept clients. */
function isOn({ auth }: GodwitConfig, name: string): boolean {
  if (name === 'jwt') return auth.jwt !== undefined
  if (name === 'http') return auth.http !== undefined
  if (name === 'scram') return auth.scram !== undefined
  if (name === 'certificate') return auth.certificate !== undefined
  return true
}

function describeHashing({ auth }: GodwitConfig): string {
  return `${auth.passwordHash} with the salt as ${auth.saltPosition}`
}

function* describeOwnAccount({ before, after }: ConfigurationPreview): Generator<string> {
  const { username, password } = after.http
  if (after.node.securityProfile !== 'hardened' || password === undefined) return
  if (password === before.http.password && username === before.http.username) return
  if (isWellKnownPassword(username, password)) {
    yield `http_server.password: ${username} has a well-known password; with the profile hardened it opens the API on this machine only`
  }
}

function* describeNamespaces({ before, after }: ConfigurationPreview): Generator<string> {
  if (before.namespaces === undefined && after.namespaces !== undefined) {
    yield 'namespaces.enable: namespaces are required only after the next start; until then clients connect without one'
  }
}
