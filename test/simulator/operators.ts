// Those who look after the broker of a random story: they say who may do what, and send clients away.

import { reasonCodes, type ReasonCode } from '../../src/protocol/index.ts'
import type { Actor } from './cast.ts'
import { StoryRules } from './story-rules.ts'
import type { Twists } from './twists.ts'
import type { World } from './world.ts'

const denied = {
  publish: ['t/a', 't/#', 'work/x', 'work/#', 'state/#', 'wills/#'],
  receive: ['t/a', 't/#', 'work/x', 'work/#', 'work/#', 'state/#'],
  subscribe: ['t/#', 't/a', 'work/#', 'state/#'],
} as const
const actions = ['publish', 'receive', 'receive', 'subscribe'] as const

/** A client that was sent away may get to know of it so long after. */
const noticeMs = 10_000

export class Operators {
  readonly rules: StoryRules
  private readonly world: World
  private readonly actors: readonly Actor[]
  private readonly sentAwayAtMs: Map<string, number>
  private lastCommand: number

  constructor(world: World, actors: readonly Actor[]) {
    this.world = world
    this.actors = actors
    this.rules = new StoryRules(world)
    this.sentAwayAtMs = new Map()
    this.lastCommand = 0
  }

  /** What is so from the beginning, before the broker starts. */
  begin(twists: Twists): void {
    const { host, stage } = this.world
    if (twists.denials === 'none' && !twists.asksPermission && !twists.operators) return
    host.traits.permissions = this.rules
    host.traits.mayDo = (question) => this.rules.learn(question)
    host.watch.mayReceive = (clientId, topic) => !this.rules.isDenied('receive', clientId, topic)
    if (twists.asksPermission) this.rules.answerMs = () => stage.random.between(0, 500)
    const count = twists.denials === 'none' ? 0 : stage.random.between(1, 6)
    for (let at = 0; at < count; at++) this.denySomething()
  }

  denySomething(): undefined {
    const { random } = this.world.stage
    const { id, version } = random.pick(this.actors).client
    const picked = random.pick(actions)
    // MQTT 3.1 has no SUBACK that says no: nobody there knows what it has.
    const action = picked === 'subscribe' && version === 3 ? 'receive' : picked
    this.rules.deny(action, id, random.pick(denied[action]))
  }

  changeRules(): undefined {
    const { random } = this.world.stage
    const { inForce } = this.rules
    if (inForce.length > 0 && random.chance(0.5)) this.rules.grant(random.pick(inForce))
    else this.denySomething()
  }

  kickSomebody(): undefined {
    const { host, stage } = this.world
    const { id } = stage.random.pick(this.actors).client
    if (!host.isOpen || host.isStopping) return
    stage.tell('operator', () => `kicks ${id}`)
    this.sentAwayAtMs.set(id, stage.nowMs)
    host.handle({ kind: 'command', question: ++this.lastCommand, command: { name: 'kick', clientId: id } })
  }

  banSomebody(): undefined {
    const { stage } = this.world
    const { id } = stage.random.pick(this.actors).client
    this.sentAwayAtMs.set(id, stage.nowMs)
    this.rules.deny('stay', id, '')
    stage.after(stage.random.between(100, 10_000), () => this.liftBan(id))
  }

  /** Everybody may come back. */
  liftBans(): void {
    for (const denial of this.rules.inForce) if (denial.action === 'stay') this.rules.grant(denial)
  }

  /** Undefined: it may come. */
  refusalOf(clientId: string): ReasonCode | undefined {
    return this.rules.isDenied('stay', clientId, '') ? reasonCodes.banned : undefined
  }

  /** Lately enough to be why its connection has ended. */
  hasSentAway(clientId: string): boolean {
    return (this.sentAwayAtMs.get(clientId) ?? -Infinity) + noticeMs >= this.world.nowMs
  }

  private liftBan(clientId: string): void {
    const ban = this.rules.inForce.find((denial) => denial.action === 'stay' && denial.clientId === clientId)
    if (ban !== undefined) this.rules.grant(ban)
  }
}
