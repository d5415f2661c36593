// Permissions that a plugin can ask for, beyond reading its own directory.
//
//   net               connections to other machines, and listening
//   fs:read:PATH      reading below an absolute path
//   fs:write:PATH     the same, and writing
//
// Processes, threads, addons, the inspector and signals are never allowed, so they have no names.

import { quoteText } from '../../values/index.ts'
import type { PluginPermission } from './plugin-manifest.ts'

/** A problem is a sentence that names the text. */
export function parsePermission(text: string): PluginPermission | { readonly problem: string } {
  if (text === 'net') return { kind: 'net' }
  const [, kind, path] = /^fs:(read|write):(.*)$/.exec(text) ?? []
  if (path === undefined) {
    return { problem: `${quoteText(text)} is not a permission: permissions are net, fs:read:PATH and fs:write:PATH` }
  }
  const levels = path.split('/').slice(1)
  const isAbsolute = path.startsWith('/') && levels.every((level) => level !== '' && level !== '.' && level !== '..')
  if (!isAbsolute || /[\p{Cc}*\\]/u.test(path)) {
    return { problem: `${quoteText(text)} needs an absolute path without .. and wildcards` }
  }
  return { kind: kind === 'read' ? 'fs-read' : 'fs-write', path }
}

/** Returns the permission as in the manifest. */
export function formatPermission(permission: PluginPermission): string {
  if (permission.kind === 'net') return 'net'
  return `${permission.kind === 'fs-read' ? 'fs:read' : 'fs:write'}:${permission.path}`
}

/** Returns the permissions of `wanted` that `allowed` does not cover. Writing covers reading, and a directory covers what is below it. */
export function findNewPermissions(
  wanted: readonly PluginPermission[],
  allowed: readonly PluginPermission[],
): readonly PluginPermission[] {
  return wanted.filter((permission) => !allowed.some((known) => coversPermission(known, permission)))
}

function coversPermission(allowed: PluginPermission, wanted: PluginPermission): boolean {
  if (allowed.kind === 'net' || wanted.kind === 'net') return allowed.kind === wanted.kind
  if (allowed.kind === 'fs-read' && wanted.kind === 'fs-write') return false
  return wanted.path === allowed.path || wanted.path.startsWith(`${allowed.path}/`)
}
