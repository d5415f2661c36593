// Determines the namespace of a client from its listener, its user name or its certificate: the first configured source
// that has one. This happens at CONNECT, before authentication, because the name of the session, and with several
// shards its owner shard, depend on it.

import type { NamespacesConfig } from '../../config/index.ts'
import type { ConnectionOrigin, ListenerTraits } from './connection.ts'
import { isNamespaceName } from '../namespaces/namespaced-names.ts'

/** How the namespace of a client is determined. */
export type NamespaceSettings = Pick<
  NamespacesConfig,
  'sources' | 'usernamePattern' | 'certificateField' | 'isRequired'
>

type NamespaceSource = NamespaceSettings['sources'][number]
type NamespacePattern = NonNullable<NamespaceSettings['usernamePattern']>

/** Facts about a connecting client that may determine its namespace. */
export interface NamespaceEvidence {
  readonly listener: Pick<ListenerTraits, 'namespace' | 'isInternal'>
  readonly arrival: ConnectionOrigin | undefined
  readonly username: string | undefined
}

/** Returns undefined if the client has no namespace. Internal clients have none: their topics are those of their configuration. */
export function resolveNamespace(settings: NamespaceSettings, evidence: NamespaceEvidence): string | undefined {
  if (evidence.listener.isInternal === true) return undefined
  for (const source of settings.sources) {
    const found = readNamespace(source, settings, evidence)
    if (found !== undefined && isNamespaceName(found)) return found
  }
  return undefined
}

/**
 * Returns the first namespace other than `namespace` that the names of the client belong to: its user name, the identity of its pre-shared key or its
 * certificate. Undefined: none. A listener selects a namespace, but does not make a client of another one its own.
 */
export function findForeignNamespace(
  { sources, usernamePattern, certificateField }: NamespaceSettings,
  { listener, arrival, username }: NamespaceEvidence,
  namespace: string | undefined,
): string | undefined {
  if (listener.isInternal === true) return undefined
  const names: (string | undefined)[] = []
  if (sources.includes('username') && usernamePattern !== undefined)
    names.push(extractFromName(username, usernamePattern), extractFromName(arrival?.pskIdentity, usernamePattern))
  if (sources.includes('certificate') && certificateField !== undefined && arrival?.certificate !== undefined)
    names.push(findAttribute(arrival.certificate.subject, certificateField))
  return names.find((name) => name !== undefined && name !== namespace && isNamespaceName(name))
}

function readNamespace(
  source: NamespaceSource,
  { usernamePattern, certificateField }: NamespaceSettings,
  { listener, arrival, username }: NamespaceEvidence,
): string | undefined {
  switch (source) {
    case 'listener':
      return listener.namespace
    case 'username':
      return usernamePattern === undefined
        ? undefined
        : (extractFromName(username, usernamePattern) ?? extractFromName(arrival?.pskIdentity, usernamePattern))
    case 'certificate':
      return certificateField === undefined || arrival?.certificate === undefined
        ? undefined
        : findAttribute(arrival.certificate.subject, certificateField)
    default:
      return source satisfies never
  }
}

/** `name`: a user name, or the identity of a pre-shared key, which is used like one. */
function extractFromName(name: string | undefined, pattern: NamespacePattern): string | undefined {
  return name === undefined ? undefined : extractFromUsername(name, pattern)
}

function extractFromUsername(username: string, pattern: NamespacePattern): string | undefined {
  const { before, after, isOpenBefore, isOpenAfter } = pattern
  if (isOpenAfter) {
    const end = username.indexOf(after, before.length)
    return username.startsWith(before) && end !== -1 ? username.slice(before.length, end) : undefined
  }
  if (!username.endsWith(after)) return undefined
  const front = username.slice(0, username.length - after.length)
  if (!isOpenBefore) return front.startsWith(before) ? front.slice(before.length) : undefined
  const start = front.lastIndexOf(before)
  return start === -1 ? undefined : front.slice(start + before.length)
}

/**
 * Returns the first attribute of that name in an RFC 4514 subject such as `CN=device-7,OU=Plant`. Escaped values are
 * never namespaces. A backslash escapes the next character, also another backslash, so a value that ends in one hides
 * nothing.
 */
function findAttribute(subject: string, field: 'cn' | 'o' | 'ou'): string | undefined {
  for (const part of subject.match(/(?:\\.|[^\\,+])+/gs) ?? []) {
    const [name = '', ...rest] = part.split('=')
    if (name.trim().toLowerCase() === field) return rest.join('=')
  }
  return undefined
}
