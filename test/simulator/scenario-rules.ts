// The permissions of clients in a random scenario. Everything is allowed unless it is denied. Each denial is stored with the steps
// between which it applied, so that the oracles know which client certainly had permission, and which certainly had not.
//
//   denied   ......[=========].....[====......
//   request    |--|  never
//                    |--|  always
//            |---------|  perhaps

import type { Identity, Permission, Permissions } from '../../src/core/index.ts'
import { matchesFilter, type Topic } from '../../src/protocol/index.ts'
import type { World } from './world.ts'

export type DeniedAction = 'publish' | 'subscribe' | 'receive' | 'stay'

export interface Denial {
  readonly action: DeniedAction
  readonly clientId: string
  /** A filter that matches the topic, or the exact filter of a subscription; '' for a client that may not stay connected. */
  readonly what: string
  readonly fromStep: number
  /** Infinity: it applies now. */
  untilStep: number
}

/** The subject of a permission check, between two steps. */
export interface ActionCheck {
  readonly action: DeniedAction
  readonly clientId: string
  readonly what: string
  readonly fromStep: number
  readonly untilStep: number
}

export class ScenarioRules implements Permissions {
  epoch: number
  readonly allowsEverything: boolean
  readonly isUncacheable: boolean
  /** Duration of an authorization request; undefined: each decision is known at once. */
  authorizationMs: (() => number) | undefined
  /** Called with the client whose denied action ends its connection; undefined: actions are denied only. */
  whenDisconnected: ((clientId: string) => void) | undefined
  /** Connections that an administrator ended, or that ended for an action of their client, as "client number". */
  readonly ended: Set<string>
  private readonly world: World
  private readonly denials: Denial[]
  private readonly known: Set<string>

  constructor(world: World) {
    this.world = world
    this.epoch = 1
    this.allowsEverything = false
    this.isUncacheable = false
    this.authorizationMs = undefined
    this.whenDisconnected = undefined
    this.ended = new Set()
    this.denials = []
    this.known = new Set()
  }

  /** Denials that apply now. */
  get inForce(): readonly Denial[] {
    return this.denials.filter((denial) => denial.untilStep === Infinity)
  }

  deny(action: DeniedAction, clientId: string, what: string): void {
    this.world.stage.record('rules', () => `${clientId} may not ${action} ${what}`)
    this.denials.push({ action, clientId, what, fromStep: this.world.stage.step, untilStep: Infinity })
    this.changed()
  }

  grant(denial: Denial): void {
    this.world.stage.record('rules', () => `${denial.clientId} may ${denial.action} ${denial.what} again`)
    denial.untilStep = this.world.stage.step
    this.changed()
  }

  /** Returns whether the action was denied between the two steps. */
  wasDenied(check: ActionCheck): 'never' | 'perhaps' | 'always' {
    let isSometimes = false
    for (const denial of this.denials) {
      if (!isOf(denial, check)) continue
      if (denial.fromStep < check.fromStep && denial.untilStep > check.untilStep) return 'always'
      if (denial.fromStep <= check.untilStep && denial.untilStep >= check.fromStep) isSometimes = true
    }
    return isSometimes ? 'perhaps' : 'never'
  }

  canPublish(who: Identity, topic: Topic): Permission {
    if (this.isUnknown('publish', who.clientId, topic.name)) return 'unknown'
    return this.isDenied('publish', who.clientId, topic.name) ? this.refuse(who) : 'allow'
  }

  canSubscribe(who: Identity, filter: string): Permission {
    if (this.isUnknown('subscribe', who.clientId, filter)) return 'unknown'
    return this.isDenied('subscribe', who.clientId, filter) ? this.refuse(who) : 'allow'
  }

  canReceive(who: { readonly clientId: string }, topic: Topic): boolean {
    return !this.isDenied('receive', who.clientId, topic.name)
  }

  canRetain(publisher: { readonly clientId: string }, topic: Topic): boolean {
    return !this.isDenied('publish', publisher.clientId, topic.name)
  }

  canStay(who: { readonly clientId: string }): boolean {
    return !this.isDenied('stay', who.clientId, '')
  }

  /** An authorization request is pending. Returns the milliseconds until its result. */
  learn(check: { action: string; identity: Identity; topic: string }): number {
    this.known.add(`${check.action} ${check.identity.clientId} ${check.topic}`)
    return this.authorizationMs?.() ?? 0
  }

  isDenied(action: DeniedAction, clientId: string, what: string): boolean {
    return this.denials.some((denial) => denial.untilStep === Infinity && isOf(denial, { action, clientId, what }))
  }

  private refuse({ clientId }: Identity): Permission {
    this.whenDisconnected?.(clientId)
    return this.whenDisconnected === undefined ? 'deny' : 'disconnect'
  }

  private isUnknown(action: DeniedAction, clientId: string, what: string): boolean {
    return this.authorizationMs !== undefined && !this.known.has(`${action} ${clientId} ${what}`)
  }

  private changed(): void {
    this.epoch++
    if (this.world.host.isRunning) this.world.host.handle({ kind: 'permissions-changed' })
  }
}

function isOf(denial: Denial, check: { action: DeniedAction; clientId: string; what: string }): boolean {
  if (denial.action !== check.action || denial.clientId !== check.clientId) return false
  if (denial.what === check.what) return true
  return denial.action !== 'subscribe' && denial.what !== '' && matchesFilter(denial.what, check.what)
}
