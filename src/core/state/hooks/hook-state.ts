// Hooks of plugins, as far as the core knows them.

import type { HookQueue } from './hook-queue.ts'
import type { Session } from '../sessions/session.ts'
import { noPublishHook, type PublishHook } from '../../model/publish-hook.ts'

export class HookState {
  readonly publish: PublishHook
  /** Number of publications of plugins, one after the other, that have led to the message that is being routed. */
  depth = 0
  /** Queues of connections that have closed, until they are empty or their session has another connection. */
  readonly detached = new Map<Session, HookQueue>()

  constructor(publish: PublishHook = noPublishHook) {
    this.publish = publish
  }
}
