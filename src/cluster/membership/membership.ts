// The membership of one node as a state machine: `handle(input, now)`, then `takeOutputs()`.
//
// The database decides. Each second the node writes its row and reads all rows in one transaction. When the commit is confirmed, the node has a lease
// from the time of sending, and what it read is on the standby as well, so it may act on it. An unknown outcome is followed by a new connection
// with a greater attempt, whose first transaction makes statements of older ones ineffective.

import type { Life } from '../peer-name.ts'
import { HomeTable } from './home-table.ts'
import { grantLease, type Instant, isLeaseHeld } from './lease.ts'
import type { MembershipCommand, MembershipInput, MembershipOptions, MembershipOutput } from './membership-events.ts'
import { findNode, isHomeless, listMembers, type MembershipRows, type NodeRow } from './membership-rows.ts'
import { MembershipState } from './membership-state.ts'
import type { NodeHeartbeat } from './node-heartbeat.ts'
import { resolveCommand } from './resolve-command.ts'
import { chooseShardToMove, planActions } from './plan-transaction.ts'

const maxBeatMs = 1_000
const beatsPerLease = 5
/** A process that was not run for longer has missed heartbeats. */
const maxStepMs = 1_000
/** Between two transactions because of changes that other nodes report. */
const minReadIntervalMs = 50

export class Membership {
  readonly #state: MembershipState
  #outputs: MembershipOutput[] = []
  #members = new Map<Life, NodeRow>()
  readonly #announced = new Map<number, { readonly epoch: number; readonly life: Life | undefined }>()
  #lastStepMs: number | undefined
  #lastSentMs = Number.NEGATIVE_INFINITY
  #lastActions = ''
  /** The greatest version that another node reported, and that this node has not read. */
  #reportedVersion = 0
  #areClientsClosed = false
  #hasEnded = false

  constructor(options: MembershipOptions) {
    this.#state = new MembershipState(options, new HomeTable((output) => this.#outputs.push(output)))
  }

  /** For views only. */
  get state(): MembershipState {
    return this.#state
  }

  get areClientsClosed(): boolean {
    return this.#areClientsClosed
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** `now` was read after the input had arrived. */
  handle(input: MembershipInput, now: Instant): void {
    if (this.#hasEnded) return
    if (now.monotonicMs - (this.#lastStepMs ?? now.monotonicMs) > maxStepMs) this.#state.reach.restart(now.monotonicMs)
    this.#lastStepMs = now.monotonicMs
    this.#apply(input, now)
    if (this.#hasEnded) return
    this.#checkLease(now)
    if (input.kind !== 'heartbeat') this.#advance(now)
  }

  takeOutputs(): readonly MembershipOutput[] {
    const outputs = this.#outputs
    this.#outputs = []
    return outputs
  }

  hasLease(now: Instant): boolean {
    return !this.#hasEnded && isLeaseHeld(this.#state.lease, now)
  }

  /** What this node sends to another life twice per second. */
  createHeartbeat(to: Life, now: Instant): NodeHeartbeat {
    const { options, reach, rows, session } = this.#state
    return {
      life: options.life,
      wallClockMs: now.wallMs,
      hasLease: this.hasLease(now),
      server: session.server,
      version: rows?.version ?? 0,
      silenceMs: reach.measureSilenceMs(to, now.monotonicMs),
    }
  }

  #apply(input: MembershipInput, now: Instant): void {
    const { session, homes, reach } = this.#state
    const nowMs = now.monotonicMs
    switch (input.kind) {
      case 'tick':
        return
      case 'connected':
        if (input.attempt !== session.attempt) return
        if (!session.open(input.server, nowMs)) this.#emit({ kind: 'disconnect' })
        return
      case 'disconnected':
        if (input.attempt === session.attempt) this.#disconnect(input.reason, now)
        return
      case 'confirmed':
        if (input.attempt === session.attempt) this.#confirm(input.rows, now)
        return
      case 'heartbeat':
        return this.#receive(input.heartbeat, now)
      case 'link':
        return reach.setLink(input.life, input.isOpen, nowMs)
      case 'home-restored':
        return homes.report(input, 'restored', nowMs)
      case 'home-failed':
        return homes.report(input, 'failed', nowMs)
      case 'home-stopped':
        return homes.report(input, 'stopped', nowMs)
      case 'command':
        return this.#acceptCommand(input.id, input.command, now)
      case 'stop':
        this.#state.isStopping = true
        homes.stopAll('released', nowMs)
        if (!this.#state.hasJoined) this.#end(undefined, now)
        return
      default:
        input satisfies never
    }
  }

  #receive(heartbeat: NodeHeartbeat, now: Instant): void {
    const { reach, session } = this.#state
    reach.receive(heartbeat, now)
    this.#reportedVersion = Math.max(this.#reportedVersion, heartbeat.version)
    if (heartbeat.server !== undefined && session.compare(heartbeat.server)) {
      this.#emit({ kind: 'disconnect' })
      this.#disconnect('another server was promoted', now)
    }
  }

  #disconnect(reason: string, now: Instant): void {
    const { session, run, observations } = this.#state
    session.close(reason, now.monotonicMs)
    run.reset()
    observations.clear()
    this.#state.forgetClock()
  }

  #confirm(rows: MembershipRows, now: Instant): void {
    const state = this.#state
    const { session, options } = state
    const sent = session.confirm()
    if (sent === undefined) return
    const own = findNode(rows, options.life)
    if (own === undefined) return this.#end('the database does not know this life: it went back', now)
    if (state.rows !== undefined && rows.version > state.rows.version) this.#emit({ kind: 'send-heartbeats' })
    state.rows = rows
    state.receivedMs = now.monotonicMs
    state.hasJoined = true
    if (own.isEnded) return this.#end(explainEnd(own, state.isStopping), now)
    if (own.attempt !== session.attempt) {
      this.#emit({ kind: 'disconnect' })
      return this.#disconnect('another connection of this life is newer', now)
    }
    this.#observe(rows, sent.sentAt, now)
    if (!state.isWaiting && !own.isRefused) this.#grant(grantLease(sent.sentAt, options.leaseMs))
    if (sent.actions.some(({ kind }) => kind === 'clean')) state.lastCleanMs = now.monotonicMs
    this.#completeCommands(sent.actions)
    this.#followMembers(rows, now)
    this.#followHomes(rows, now)
  }

  #observe(rows: MembershipRows, sentAt: Instant, now: Instant): void {
    const { run, observations } = this.#state
    const confirmation = { sentMs: sentAt.monotonicMs, receivedMs: now.monotonicMs, databaseMs: rows.nowMs }
    if (!run.confirm(confirmation)) {
      observations.clear()
      this.#state.forgetClock()
    }
    observations.observe(rows, now.monotonicMs)
    this.#state.recordClock(rows.nowMs, sentAt, now)
  }

  #grant(lease: ReturnType<typeof grantLease>): void {
    this.#state.lease = lease
    this.#emit({ kind: 'lease', lease })
  }

  #followMembers(rows: MembershipRows, now: Instant): void {
    const { options, reach } = this.#state
    const members = new Map(listMembers(rows).map((node) => [node.life, node]))
    for (const life of this.#members.keys()) if (!members.has(life)) this.#emit({ kind: 'life-ended', life })
    for (const node of members.values()) {
      if (!this.#members.has(node.life)) this.#emit({ kind: 'life-joined', node })
    }
    this.#members = members
    reach.expect(
      [...members.keys()].filter((life) => life !== options.life && members.has(options.life)),
      now.monotonicMs,
    )
  }

  #followHomes(rows: MembershipRows, now: Instant): void {
    const state = this.#state
    state.recordHomes(rows, now.monotonicMs)
    if (state.isRefused) state.homes.stopAll('released', now.monotonicMs)
    const mayStart = !state.isStopping && !state.isRefused && isLeaseHeld(state.lease, now)
    for (const row of rows.shards) {
      const isHeld = state.isHeld(row.shard)
      state.homes.follow(row, state.options.life, { mayStart: mayStart && !isHeld, nowMs: now.monotonicMs })
      if (!isHeld) this.#announce(row.shard, row.epoch, isHomeless(rows, row) ? undefined : row.life)
    }
  }

  #announce(shard: number, epoch: number, life: Life | undefined): void {
    const last = this.#announced.get(shard)
    if (last?.epoch === epoch && last.life === life) return
    this.#announced.set(shard, { epoch, life })
    this.#emit({ kind: 'home', shard, epoch, life })
  }

  #acceptCommand(id: number, command: MembershipCommand, now: Instant): void {
    const state = this.#state
    const resolved = resolveCommand(state, command, now)
    if ('problem' in resolved || resolved.actions.length === 0) {
      const problem = 'problem' in resolved ? resolved.problem : undefined
      return this.#emit({ kind: 'command-done', id, problem })
    }
    state.commands = [...state.commands, { id, actions: resolved.actions }]
  }

  #completeCommands(actions: readonly unknown[]): void {
    const state = this.#state
    const done = state.commands.filter((command) => command.actions.every((action) => actions.includes(action)))
    state.commands = state.commands.filter((command) => !done.includes(command))
    for (const { id } of done) this.#emit({ kind: 'command-done', id, problem: undefined })
  }

  #checkLease(now: Instant): void {
    const state = this.#state
    if (this.hasLease(now)) {
      state.leaseLostMs = undefined
      this.#areClientsClosed = false
      return
    }
    if (state.leaseLostMs === undefined) {
      state.leaseLostMs = now.monotonicMs
      state.lease = undefined
      this.#emit({ kind: 'lease', lease: undefined })
    }
    if (this.#areClientsClosed || now.monotonicMs - state.leaseLostMs < state.options.isolationTimeoutMs) return
    if (!state.reach.isLeaseHeldByOther(now.monotonicMs)) return
    this.#areClientsClosed = true
    this.#emit({ kind: 'close-clients' })
  }

  #advance(now: Instant): void {
    const state = this.#state
    const { session, rows } = state
    if (session.isRetryDue(now.monotonicMs)) this.#emit({ kind: 'connect', attempt: session.connect() })
    if (rows !== undefined) {
      const shard = chooseShardToMove(state, rows)
      if (shard !== undefined) state.homes.stop(shard, 'released', now.monotonicMs)
    }
    if (session.canSend) this.#send(now)
  }

  #send(now: Instant): void {
    const { session, options, canTake, rows, receivedMs } = this.#state
    const actions = planActions(this.#state, now)
    const text = JSON.stringify(actions)
    const sinceMs = now.monotonicMs - receivedMs
    const isChanged = actions.length > 0 && text !== this.#lastActions
    const isReported = this.#reportedVersion > (rows?.version ?? 0) && sinceMs >= minReadIntervalMs
    const isDue =
      session.isFresh || now.monotonicMs - this.#lastSentMs >= Math.min(maxBeatMs, options.leaseMs / beatsPerLease)
    if (!isChanged && !isReported && !isDue) return
    // A version that was reported and not found is not read again before the next beat.
    this.#reportedVersion = 0
    this.#lastActions = text
    this.#lastSentMs = now.monotonicMs
    session.send({ sentAt: now, actions })
    this.#emit({
      kind: 'run',
      transaction: { life: options.life, attempt: session.attempt, canTake, actions },
    })
  }

  #end(reason: string | undefined, now: Instant): void {
    const state = this.#state
    this.#hasEnded = true
    state.lease = undefined
    this.#emit({ kind: 'lease', lease: undefined })
    state.homes.stopAll('lost', now.monotonicMs)
    this.#emit({ kind: 'disconnect' })
    this.#emit({ kind: 'own-life-ended', reason })
  }

  #emit(output: MembershipOutput): void {
    this.#outputs.push(output)
  }
}

/** Returns undefined if the node was stopped as requested. */
function explainEnd(own: NodeRow, isStopping: boolean): string | undefined {
  if (own.isRefused) return 'other nodes did not reach this node; check the network between the nodes'
  return isStopping ? undefined : 'another node has ended this life, because its lease was over'
}
