// Authorizes a client to publish to a topic. The caller skips this if all actions are allowed. The connection caches
// decisions.

import type { Topic } from '../../protocol/index.ts'
import type { Identity, Permission } from '../messages/identity.ts'
import type { AuthorizationTrigger } from '../model/rule-trigger.ts'
import type { Session } from '../state/sessions/session.ts'
import type { Parts } from '../state/parts.ts'
import type { AccessState } from '../state/access-state.ts'
import type { Connection } from '../model/connection.ts'
import { AuthorizationCache, type PublishOptions } from '../model/authorization-cache.ts'

/** `topic` is the client's topic, without its mount point. */
export function authorizePublish(
  access: AccessState,
  connection: Connection,
  identity: Identity,
  topic: Topic,
  options: PublishOptions,
): Permission {
  const { permissions } = access
  if (permissions.allowsEverything || identity.isSuperuser) return 'allow'
  if (permissions.isUncacheable) return permissions.canPublish(identity, topic, options)
  connection.authorizationCache ??= new AuthorizationCache()
  const known = connection.authorizationCache.get(topic, options, permissions.epoch)
  if (known !== undefined) return known
  const permission = permissions.canPublish(identity, topic, options)
  if (permission !== 'unknown') connection.authorizationCache.set(options, permission)
  return permission
}

/** Records the decision for rules. */
export function recordAuthorization(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  { clientId, identity }: Pick<Session, 'clientId' | 'identity'>,
  decision: Pick<AuthorizationTrigger, 'action' | 'topic' | 'isAllowed'>,
): void {
  if (connection.listener.isInternal === true) return
  const who = { connection, clientId, identity, username: identity.username }
  state.rules.triggers.add({ kind: 'authorization', ...who, ...decision, atMs: state.nowMs })
}
