// Permissions for tests: everything is allowed unless it is denied by name, and changes are reported as a shard does.

import type { Identity, Permission, Permissions } from '../../src/core/index.ts'
import { matchesFilter, type Topic } from '../../src/protocol/index.ts'
import { World, type WorldOptions } from '../simulator/world.ts'

type Action = 'publish' | 'subscribe' | 'receive' | 'remain' | 'stay'

export interface Rule {
  action: Action
  /** Undefined: all clients. */
  clientId?: string
  username?: string
  /** A filter that matches the topic, or the exact filter of a subscription. */
  topic?: string
  is?: Permission
}

export class Rulebook implements Permissions {
  epoch = 1
  allowsEverything = false
  isUncacheable = false
  rules: Rule[]
  /** Number of requests for each action. */
  readonly requests: Record<Action, number> = { publish: 0, subscribe: 0, receive: 0, remain: 0, stay: 0 }

  constructor(...rules: Rule[]) {
    this.rules = rules
  }

  /** Applies the denial and reports the change. */
  change(world: World, ...rules: Rule[]): void {
    this.rules = rules
    this.epoch++
    world.host.handle({ kind: 'permissions-changed' })
    world.settle()
  }

  canPublish(who: Identity, topic: Topic): Permission {
    return this.look('publish', who, topic.name)
  }

  canSubscribe(who: Identity, filter: string): Permission {
    return this.look('subscribe', who, filter)
  }

  canReceive(who: Identity, topic: Topic): boolean {
    return this.look('receive', who, topic.name) === 'allow'
  }

  canRetain(publisher: { clientId: string; username: string | undefined }, topic: Topic): boolean {
    return this.look('remain', publisher, topic.name) === 'allow'
  }

  canStay(who: Identity): boolean {
    return this.look('stay', who, '') === 'allow'
  }

  private look(action: Action, who: { clientId: string; username: string | undefined }, topic: string): Permission {
    this.requests[action]++
    const found = this.rules.find(
      (rule) =>
        rule.action === action &&
        (rule.clientId === undefined || rule.clientId === who.clientId) &&
        (rule.username === undefined || rule.username === who.username) &&
        (rule.topic === undefined || rule.topic === topic || matchesFilter(rule.topic, topic)),
    )
    return found === undefined ? 'allow' : (found.is ?? 'deny')
  }
}

export function worldWith(rules: Rule[], options: WorldOptions = {}): { world: World; rulebook: Rulebook } {
  const rulebook = new Rulebook(...rules)
  const world = new World({ ...options, host: { ...options.host, permissions: rulebook } })
  return { world, rulebook }
}

/** Accepts each client as the user with the name of its client ID. */
export function identities(changes: Partial<Identity> = {}): NonNullable<WorldOptions['host']> {
  return {
    decision: ({ clientId }) => ({
      decision: {
        allowed: true,
        identity: {
          clientId,
          username: `user-${clientId}`,
          peerAddress: '127.0.0.1',
          isSuperuser: false,
          expiresAtMs: undefined,
          grants: undefined,
          ...changes,
        },
      },
      afterMs: 0,
    }),
  }
}
