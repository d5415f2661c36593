// Whether a message may reach a session: asked when a delivery plan is made, so that most messages ask nothing, and again
// for what waited, since who may have what may have changed meanwhile.

import type { Permissions } from '../../model/identity.ts'
import { topicBelow } from '../../namespaces/mountpoint.ts'
import type { Topic, TopicTable } from '../../../protocol/index.ts'
import type { Session } from './session.ts'

export function canReceive(
  broker: { readonly permissions: Permissions; readonly topics: TopicTable },
  session: Session,
  topic: Topic,
): boolean {
  const { permissions } = broker
  if (permissions.allowsEverything || session.identity.isSuperuser) return true
  // Half of what decides is not known before its client comes; what waits is looked at again then, and not lost now.
  if (session.identityIsFromDisk) return true
  return permissions.canReceive(session.identity, topicBelow(broker.topics, session.mountpoint, topic))
}
